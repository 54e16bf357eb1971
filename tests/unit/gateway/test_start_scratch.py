"""Scratch volumes live and die with their container; everything else mounted stays."""

from openshell_bootstrap.models import Mount
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import scratch_of


def test_scratch_volumes_live_and_die_with_their_container(world):
    world.start()
    first = scratch_of(world)
    assert len(first) == 3
    for name in first:
        labels = world.engine.state.disks[name].volume.labels
        assert (labels[LABEL_GATEWAY], labels[LABEL_ROLE]) == ("t1", "scratch")
    world.start(recreate=True)
    assert len(scratch_of(world)) == 3
    assert not scratch_of(world) & first


def test_only_leftover_scratch_of_this_very_gateway_is_removed(world):
    world.start("t1-x")
    other = scratch_of(world)
    world.engine.prune("openshell-cluster-t1-x")
    world.engine.volumes.create("openshell-scratch-t1-0-log", {LABEL_GATEWAY: "t1"})
    world.engine.volumes.create("openshell-scratch-t1-1-log", {})
    world.start()
    world.engine.prune(NAME)
    world.start()
    left = scratch_of(world) - {mount.source for mount in world.engine.seen(NAME).mounts}
    assert left == other | {"openshell-scratch-t1-0-log", "openshell-scratch-t1-1-log"}


def test_scratch_that_another_container_uses_is_left_to_it(world):
    world.start()
    name = min(scratch_of(world))
    world.engine.prune(NAME)
    world.run_foreign("reader", volume=name)
    world.start()
    assert name in world.engine.state.disks


def test_a_mount_of_the_users_stays_with_the_gateway(world):
    world.start(volumes=("mine:/data",))
    world.engine.state.disks["mine"].tree.write("/file", b"x")
    world.start(recreate=True)
    assert Mount(kind="volume", source="mine", target="/data") in world.engine.seen(NAME).mounts
    assert world.engine.state.disks["mine"].tree.read("/file") == b"x"
