"""A long life: what may happen to a gateway, in an order that a seed chooses.

`make soak` runs it for ten minutes, the whole suite for two.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.soak.acts import ENDS, MEANWHILE, RETURNS, Scene
from tests.faults.soak.ledger import Ledger
from tests.faults.soak.private_engine import PrivateEngine
from tests.faults.soak.strangers import Strangers
from tests.integration.gateway.driver import Command, Gateway

Turn = tuple[str, str, str]


def turns(chance: random.Random) -> Iterator[Turn]:
    """What happens, without end: every end of a life once before any comes again."""
    while True:
        for end in chance.sample(list(ENDS), len(ENDS)):
            yield end, chance.choice(list(MEANWHILE)), chance.choice(list(RETURNS))


@pytest.mark.timeout(0)
def test_nothing_acknowledged_is_lost_over_a_long_life(
    private_engine: PrivateEngine,
    command: Command,
    run_id: str,
    tiny_image: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    request: pytest.FixtureRequest,
):
    seed, seconds = pytestconfig.getoption("--seed"), pytestconfig.getoption("--soak")
    begun = time.monotonic()
    gateway = Gateway(command, f"t{run_id}-soak")
    ledger = Ledger(gateway, tmp_path / "acknowledged")
    gateway.start(*ledger.mount)
    ledger.begin()
    strangers = Strangers(gateway, tiny_image)
    chance = random.Random(seed)
    scene = Scene(gateway, private_engine, ledger, chance)
    for number, turn in enumerate(turns(chance), 1):
        if time.monotonic() - begun >= seconds:
            break
        end, meanwhile, back = turn
        told = f"{time.monotonic() - begun:4.0f} s  seed {seed}, turn {number}: "
        told += f"{end}; {meanwhile}; {back}"
        print(told)
        request.node.user_properties.append(("turn", told))
        ENDS[end](scene)
        MEANWHILE[meanwhile](scene)
        RETURNS[back](scene)
        ledger.go_on()
        ledger.check()
        strangers.check()
    print(f"{ledger.lines()} lines were acknowledged, none is missing.")
