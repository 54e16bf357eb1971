"""A long life: what may happen to a gateway, in an order that a seed chooses.

`make soak` runs it for ten minutes and shows every turn, the whole suite for two minutes.
"""

import logging
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

log = logging.getLogger(__name__)
Turn = tuple[str, str, str]


def turns(chance: random.Random) -> Iterator[Turn]:
    """What happens, without end: every end of a life once before any comes again."""
    while True:
        for end in chance.sample(list(ENDS), len(ENDS)):
            yield end, chance.choice(list(MEANWHILE)), chance.choice(list(RETURNS))


@pytest.fixture
def scene(
    private_engine: PrivateEngine,
    command: Command,
    run_id: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> Scene:
    """A gateway with three writers, whose fate hangs on the seed alone."""
    gateway = Gateway(command, f"t{run_id}-soak")
    ledger = Ledger(gateway, tmp_path / "acknowledged")
    gateway.start(*ledger.mount)
    ledger.begin()
    chance = random.Random(pytestconfig.getoption("--seed"))
    return Scene(gateway, private_engine, ledger, chance)


@pytest.mark.timeout(0)
def test_nothing_acknowledged_is_lost_over_a_long_life(
    scene: Scene, tiny_image: str, pytestconfig: pytest.Config, request: pytest.FixtureRequest
):
    seed, seconds = pytestconfig.getoption("--seed"), pytestconfig.getoption("--soak")
    strangers = Strangers(scene.gateway, tiny_image)
    begun = time.monotonic()
    for number, (end, meanwhile, back) in enumerate(turns(scene.chance), 1):
        elapsed_s = time.monotonic() - begun
        if elapsed_s >= seconds:
            break
        told = f"{elapsed_s:4.0f} s, seed {seed}, turn {number}: {end}; {meanwhile}; {back}"
        log.info("%s", told)
        request.node.add_report_section("call", "turns", told)
        ENDS[end](scene)
        MEANWHILE[meanwhile](scene)
        RETURNS[back](scene)
        scene.ledger.go_on()
        scene.ledger.check()
        strangers.check()
    log.info("%d lines were acknowledged, none is missing", scene.ledger.lines())
