"""A node that refuses, ends or never gets ready is explained, and stopped where it would loop."""

import pytest

from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    GatewayStateError,
    GatewayUnhealthyError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import NodeLog
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import check_tidy


@pytest.mark.parametrize(
    ("slug", "status"), [("volume-locked", 75), ("token-differs", 78), ("token-files-lost", 78)]
)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_node_that_refuses_is_stopped_so_that_it_does_not_loop(world, slug, status, fresh):
    if not fresh:
        world.start()
        world.engine.containers.stop(NAME, 1)
    line = f"openshell: refused: {slug}: because".encode()
    world.nodes.ends = (line, status)
    with pytest.raises(GatewayStateError) as refused:
        world.start()
    assert refused.value.exit_code == 4
    assert refused.value.details == line.decode()
    assert NodeLog(line.decode()) in world.events
    assert "containers.stop" in world.changes()
    if not fresh:
        assert world.engine.seen(NAME).status == "exited"


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
    world.nodes.ends = (b"kine: database disk image is malformed", 1)
    with pytest.raises(GatewayUnhealthyError, match="datastore on the volume is damaged") as ended:
        world.start()
    assert ended.value.exit_code == 8
    assert "malformed" in ended.value.details
    assert "from a copy" in ended.value.remedies[0]
    assert ended.value.remedies[-1].startswith("`openshell gateway logs`")
    logs = [event.line for event in world.events if isinstance(event, NodeLog)]
    assert logs == ["kine: database disk image is malformed"]
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
