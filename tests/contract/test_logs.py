import time

from openshell_bootstrap.models import Patience
from openshell_bootstrap.waits import wait_until
from tests.contract.conftest import World

LINES = [b"line 1", b"line 2", b"line 3"]


def test_logs_are_lines_without_their_ends(world: World) -> None:
    container_id = world.started(environment={"SAY": "3"})

    told = wait_until(
        lambda: list(world.engine.containers.logs(container_id)),
        lambda lines: len(lines) == 3,
        patience=Patience(5, 0.05),
        what="three lines",
    )

    assert told == LINES


def test_logs_are_followed_to_the_containers_end(world: World) -> None:
    container_id = world.started(environment={"SAY": "3", "EXIT": "0"})

    assert list(world.engine.containers.logs(container_id, follow=True)) == LINES


def test_logs_can_be_cut_by_number_and_by_time(world: World) -> None:
    container_id = world.started(environment={"SAY": "3", "EXIT": "0"})
    list(world.engine.containers.logs(container_id, follow=True))
    logs = world.engine.containers.logs

    assert list(logs(container_id, tail=2)) == LINES[1:]
    assert list(logs(container_id, tail=0)) == []
    assert list(logs(container_id, tail=9)) == LINES
    assert list(logs(container_id, since=time.time() + 5)) == []
    assert list(logs(container_id, since=time.time() - 3600)) == LINES


def test_a_container_that_never_started_has_said_nothing(world: World) -> None:
    assert list(world.engine.containers.logs(world.made())) == []
