"""A node that refuses, ends or never gets ready is explained, and stopped where it would loop."""

import pytest

from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    EngineError,
    GatewayStateError,
    GatewayUnhealthyError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import NodeLog
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import check_tidy

SLUGS = ["volume-locked", "token-differs", "token-files-lost", "store-damaged", "store-lost"]


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_node_that_refuses_is_told_at_once_and_stopped(world, slug, fresh):
    if not fresh:
        world.start()
        world.engine.containers.stop(NAME, 1)
    world.nodes.refuses = f"{slug}: because"
    before = world.clock.now
    with pytest.raises(GatewayStateError) as refused:
        world.start()
    assert world.clock.now == before
    assert refused.value.exit_code == 4
    line = f"openshell: refused: {slug}: because"
    assert refused.value.details == line
    assert NodeLog(line) in world.events
    assert "containers.stop" in world.changes()
    if not fresh:
        assert world.engine.seen(NAME).status == "exited"
        world.nodes.refuses = ""
        world.clock.advance(1)
        world.start()


@pytest.mark.parametrize(
    "line",
    [
        b"kine: database disk image is malformed",
        b"bootstrap data already found and encrypted with different token",
        b"/x newer than datastore and could cause a cluster outage",
    ],
)
def test_a_node_whose_log_says_that_it_cannot_start_is_not_waited_for(world, line):
    """R14, R15, R82: k3s itself finds it, and would be started again and again."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(10)
    world.engine.state.start_hooks[:] = [lambda _c: world.engine.write_log(NAME, line)]
    before = world.clock.now
    with pytest.raises(GatewayStateError) as refused:
        world.start()
    assert world.clock.now == before
    assert refused.value.details == line.decode()
    assert refused.value.remedies
    assert world.engine.seen(NAME).status == "exited"
    assert NAME in world.engine.state.disks


def test_such_a_line_of_an_earlier_life_is_none_of_this_ones(world):
    world.start()
    world.engine.write_log(NAME, b"kine: database disk image is malformed")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(10)
    world.start()


def test_a_refusal_is_known_without_its_log(world):
    """Docker dates a container's start after lines that its first process wrote by then."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.nodes.refuses = "store-damaged: no database"
    world.engine.fail("containers.logs", EngineError("the driver cannot be read"), times=None)
    with pytest.raises(GatewayStateError, match="is damaged") as refused:
        world.start()
    assert "openshell: refused: store-damaged: no database" in refused.value.details
    assert world.engine.seen(NAME).status == "exited"


def test_a_log_that_cannot_be_read_holds_nothing_up(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.fail("containers.logs", EngineError("the driver cannot be read"), times=None)
    world.start()


def test_a_refusal_is_found_though_the_engine_started_the_node_again_since(world):
    """The look at the log comes later than the look at the state."""

    def loop(container, _argv, _stdin):
        world.engine.crash_loop(NAME, 75, 1, b"openshell: refused: volume-locked: x")
        world.clock.advance(1)
        world.engine.box(NAME).started_at = world.engine.state.stamp()
        raise ContainerNotRunningError("it is restarting")

    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.on_exec(loop)
    with pytest.raises(GatewayStateError, match="Another node runs"):
        world.start()
    assert world.engine.seen(NAME).status == "exited"


def test_a_node_that_ends_is_explained_by_its_own_last_lines(world):
    """R91, R95: lines of an earlier life prove nothing."""
    world.start()
    world.engine.write_log(NAME, b"no space left on device")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(10)
    world.nodes.ends = (b"unable to select an IP from default routes", 1)
    with pytest.raises(GatewayUnhealthyError, match="no default route") as ended:
        world.start()
    assert ended.value.exit_code == 8
    assert "unable to select an IP" in ended.value.details
    assert "openshell-cluster-t1" in ended.value.remedies[0]
    assert ended.value.remedies[-1].startswith("`openshell gateway logs --name t1`")
    logs = [event.line for event in world.events if isinstance(event, NodeLog)]
    assert logs == ["unable to select an IP from default routes"]
    assert NAME in world.engine.state.disks


def test_a_node_that_ends_for_no_known_cause_says_how(world):
    world.nodes.ends = (b"panic: \xff", 2)
    with pytest.raises(GatewayUnhealthyError, match="exit code 2") as ended:
        world.start()
    assert "panic" in ended.value.details


def test_a_node_that_never_gets_ready_is_a_timeout_with_its_log(world):
    """R95, R10."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.state.start_hooks.clear()
    world.engine.on_start(lambda _c: world.engine.write_log(NAME, b"waiting for something"))
    world.clock.advance(100)
    world.kube.started_s = int(world.clock.now)
    with pytest.raises(WaitTimeoutError) as over:
        world.start(timeout_s=5)
    assert over.value.exit_code == 7
    assert "waiting for something" in over.value.details
    assert world.engine.seen(NAME).status == "running"
    assert NAME in world.engine.state.disks


def test_a_fresh_gateway_that_never_gets_ready_keeps_its_volume_since_k3s_ran(world):
    """R61."""
    world.engine.state.start_hooks[:] = [lambda container: world.engine.end(container.id, 1)]
    with pytest.raises(GatewayUnhealthyError):
        world.start()
    assert world.engine.state.boxes == world.engine.state.networks == {}
    assert list(world.engine.state.disks) == [NAME]
    world.engine.state.start_hooks[:] = [world.nodes.start]
    world.start()
    check_tidy(world)


def test_workloads_that_do_not_come_are_a_timeout_and_the_gateway_runs_on(world):
    world.start()
    for key in [key for key in world.kube.objects if key[2].startswith("coredns")]:
        del world.kube.objects[key]
    with pytest.raises(WaitTimeoutError, match="workloads"):
        world.start()
    assert world.engine.seen(NAME).status == "running"


def test_a_workload_whose_addon_is_off_is_not_waited_for(world):
    world.start(k3s_args=("--disable=coredns",))
    for key in [key for key in world.kube.objects if key[2].startswith("coredns")]:
        del world.kube.objects[key]
    world.start()
    assert world.clock.slept == []


def end_in_the_wait(world, end):
    """The node is not ready yet, and at the second look of the wait it ends."""
    world.start()
    world.changes()
    world.kube.get("Node", "openshell-t1")["status"]["conditions"] = []
    inner, looks = world.nodes.run, []

    def run(container, argv, stdin):
        looks.append(argv)
        if len(looks) == 3:
            end()
            world.engine.on_exec(inner)
            raise ContainerNotRunningError("it ended")
        return inner(container, argv, stdin)

    world.engine.on_exec(run)


def test_a_stop_whose_command_was_killed_and_that_ends_now_is_not_in_the_way_of_a_start(world):
    """The engine goes on stopping a container for whom nobody waits any more."""
    end_in_the_wait(world, lambda: world.engine.end(NAME, 0))
    done = world.start()
    assert [one.what for one in done.actions] == [f"start the container {NAME}"]
    assert "it was stopped meanwhile" in world.notices
    assert world.engine.seen(NAME).status == "running"
    assert not list(world.store.diagnostics.root.glob("**/*.tar.gz"))


def test_a_container_that_is_removed_in_the_wait_is_made_again(world):
    end_in_the_wait(world, lambda: world.engine.prune(NAME))
    tree = world.engine.volume_files(NAME)
    world.start()
    assert world.engine.seen(NAME).status == "running"
    assert world.engine.volume_files(NAME) is tree
    check_tidy(world)


def test_a_node_that_fails_in_the_wait_is_told_and_not_started_again(world):
    end_in_the_wait(world, lambda: world.engine.end(NAME, 1))
    with pytest.raises(GatewayUnhealthyError, match="exit code 1") as ended:
        world.start()
    assert ended.value.diagnostics
    assert world.changes() == []
