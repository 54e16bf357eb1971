"""A long life: what may happen to a gateway, in an order that a seed chooses.

`make soak` runs it for ten minutes, the whole suite for a short while.
"""

import random
import time
from collections.abc import Callable, Iterator

import pytest

from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.test_keeps_data import kill_pid_1
from tests.integration.gateway.witness import Witness, WriteLoad

Act = Callable[[Gateway, str], object]

ENDS: dict[str, Act] = {
    "stop": lambda gateway, _image: gateway.run("stop"),
    "plain docker stop": lambda gateway, _image: docker("stop", gateway.container),
    "docker kill": lambda gateway, _image: docker("kill", gateway.container),
    "docker rm -f": lambda gateway, _image: docker("rm", "--force", gateway.container),
    "kill -9 of PID 1": kill_pid_1,
    "restart": lambda gateway, _image: gateway.run("restart"),
    "recreate": lambda gateway, _image: gateway.run("start", "--recreate"),
}
"""What ends the life of a node, and of the writers in it."""


def lose_network(gateway: Gateway) -> None:
    """Remove the network, which a container that still runs would keep."""
    gateway.run("stop")
    docker("network", "rm", gateway.container)


def prune(gateway: Gateway) -> None:
    """What a tidy user does between two days."""
    gateway.run("stop")
    mine = ["--force", "--filter", f"label=openshell.ai/gateway={gateway.name}"]
    docker("container", "prune", *mine)
    docker("network", "prune", *mine)


MEANWHILE: dict[str, Callable[[Gateway], object]] = {
    "nothing": lambda _gateway: None,
    "network lost": lose_network,
    "pruned": prune,
}
"""What may happen before the next start."""


def turns(seed: int, seconds: float) -> Iterator[tuple[int, str, str]]:
    """What happens in each turn, until the time is over."""
    chance = random.Random(seed)
    until, turn = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        turn += 1
        yield turn, chance.choice(list(ENDS)), chance.choice(list(MEANWHILE))


@pytest.mark.timeout(0)
def test_nothing_acknowledged_is_lost_over_a_long_life(
    make_gateway: Callable[[], Gateway], tiny_image, tmp_path, pytestconfig, request
):
    seed, seconds = pytestconfig.getoption("--seed"), pytestconfig.getoption("--soak")
    gateway = make_gateway()
    gateway.start()
    witness = Witness(gateway)
    for turn, end, meanwhile in turns(seed, seconds):
        request.node.add_report_section("call", "turns", f"{seed}.{turn}: {end}, then {meanwhile}")
        with WriteLoad(witness, tmp_path) as load:
            ENDS[end](gateway, tiny_image)
        MEANWHILE[meanwhile](gateway)
        gateway.start()
        witness.check()
        load.check()
