import time

import pytest

from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import ContainerNotRunningError, EngineUnavailableError
from tests.contract.conftest import World


def test_exit_status_output_and_errors_are_told_apart(world: World) -> None:
    argv = ["sh", "-c", "echo out; echo err >&2; exit 3"]

    done = world.engine.containers.exec(world.started(), argv)

    assert done.argv == tuple(argv)
    assert (done.exit_status, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_input_reaches_the_command_and_ends(world: World) -> None:
    node = ContainerNode(world.engine, world.started())
    data = bytes(range(256)) * 4096

    assert node.run(["cat"], stdin=data).stdout == data
    assert node.run(["cat"]).stdout == b""


def test_a_command_that_is_not_there_has_an_exit_status(world: World) -> None:
    done = world.engine.containers.exec(world.started(), ["no-such-command"])

    assert done.exit_status in {126, 127}
    assert b"executable file not found" in done.stdout + done.stderr


@pytest.mark.parametrize("state", ["created", "exited"])
def test_nothing_can_be_run_in_what_does_not_run(world: World, state: str) -> None:
    container_id = world.made()
    if state == "exited":
        world.engine.containers.start(container_id)
        world.engine.containers.stop(container_id, 1)

    with pytest.raises(ContainerNotRunningError) as caught:
        world.engine.containers.exec(container_id, ["cat"])

    assert caught.value.transient


def test_a_command_without_an_end_is_given_up(world: World) -> None:
    container_id = world.started()
    begun = time.monotonic()

    with pytest.raises(EngineUnavailableError) as caught:
        world.engine.containers.exec(container_id, ["sleep", "30"], timeout_s=0.5)

    assert caught.value.transient
    assert time.monotonic() - begun < 5
