"""``destroy``: removes all of a gateway and nothing else; a failure ends it right there."""

from itertools import product

import pytest

from openshell_bootstrap.errors import (
    ConfigError,
    EngineError,
    EngineUnavailableError,
    GatewayExistsError,
    GatewayStateError,
    LockedError,
)
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.unit.gateway.conftest import World
from tests.unit.gateway.scenes import NAME, scratch_of


def names(world):
    """Everything that is on the engine, by name."""
    state = world.engine.state
    return (
        {box.name for box in state.boxes.values()},
        set(state.disks),
        {network.name for network in state.networks.values()},
    )


NOTHING = (set(), set(), set())


@pytest.mark.parametrize("status", ["running", "exited", "paused", "restarting", "created"])
def test_a_gateway_goes_with_all_that_is_its_own(world, status):
    """R68."""
    world.start()
    world.engine.box(NAME).status = status
    world.changes()
    done = world.destroy()
    assert ("containers.unpause" in world.changes()) is (status == "paused")
    assert done.removed == (f"container {NAME}", f"volume {NAME}", f"network {NAME}")
    assert done.kept == ()
    assert names(world) == NOTHING
    assert world.store.records.find("t1") is None
    assert world.store.kubeconfigs.find("t1") is None
    assert world.store.active.find() is None


def test_the_order_is_container_scratch_volume_network(world):
    """R48."""
    world.start()
    world.engine.calls.clear()
    world.destroy()
    order = [call[:2] for call in world.engine.calls if call[0].endswith(".remove")]
    assert order[0] == ("containers.remove", NAME)
    assert all("scratch" in name for _, name in order[1:4])
    assert order[4] == ("volumes.remove", NAME)
    assert order[5][0] == "networks.remove"
    assert ("containers.stop", NAME, 0) in world.engine.calls


@pytest.mark.parametrize("parts", list(product([True, False], repeat=3)))
def test_whatever_is_missing_the_rest_goes_and_a_second_run_finds_nothing(world, parts):
    """R65, R67."""
    container, volume, network = parts
    world.start()
    if not container:
        world.engine.prune(NAME)
    if not volume:
        world.engine.state.disks.pop(NAME)
    if not network:
        world.engine.state.networks.clear()
    done = world.destroy()
    assert names(world) == NOTHING
    assert [part.split(" ")[0] for part in done.removed] == [
        word for word, there in zip(["container", "volume", "network"], parts, strict=True) if there
    ]
    again = world.destroy()
    assert (again.removed, again.kept) == ((), ())


LOOK_ALIKES = [
    "openshell-cluster-t1-old",
    "openshell-cluster-old-t1",
    "openshell-cluster-t1x",
    "xopenshell-cluster-t1",
    "openshell-helper-t1",
    "openshell-cluster-t1-aside-000000000000",
    "openshell-cluster-T1",
]


def test_look_alikes_are_left_alone(world):
    for name in LOOK_ALIKES:
        world.run_foreign(name, volume=name)
        world.engine.add_network(name)
    world.engine.volumes.create("openshell-scratch-t1-0a1b2c3d-log", {})
    world.engine.volumes.create("openshell-scratch-t1-x", {LABEL_GATEWAY: "t1", LABEL_ROLE: "data"})
    before = names(world)
    world.start()
    world.start("t1-old2")
    world.start("t1x2")
    others = {f"openshell-cluster-{name}" for name in ("t1-old2", "t1x2")}
    world.engine.prune("openshell-cluster-t1x2")
    world.destroy()
    boxes, disks, networks = names(world)
    assert boxes == before[0] | {"openshell-cluster-t1-old2"}
    assert networks == before[2] | others
    scratch = {
        disk
        for disk in disks
        if disk.startswith(("openshell-scratch-t1-old2", "openshell-scratch-t1x2"))
    }
    assert disks == before[1] | others | scratch
    assert len(scratch) == 6
    assert world.store.records.find("t1-old2") is not None


def test_only_scratch_of_this_very_gateway_goes(world):
    """By the exact value of its label, also where its container was pruned."""
    world.start()
    world.start("t1-x")
    other = {name for name in scratch_of(world) if "t1-x" in name}
    world.engine.prune(NAME)
    world.engine.prune("openshell-cluster-t1-x")
    world.destroy()
    assert scratch_of(world) == other


def test_a_container_set_aside_and_helpers_go_too(world):
    old = world.run_retired()
    world.engine.fail("containers.create", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.start()
    assert "aside" in world.engine.seen(old.id).name
    world.engine.fail("containers.remove", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        from_helper(world)
    assert len(names(world)[0]) == 2
    world.destroy()
    assert names(world) == NOTHING


def from_helper(world):
    """A command is killed while a helper container opens the volume."""
    from openshell_bootstrap.gateway.observe import helper
    from openshell_bootstrap.names import GatewayNames

    with helper(world.engine, GatewayNames("t1"), DEFAULT_NODE_IMAGE):
        pass


def test_a_retired_gateway_can_be_destroyed(world):
    world.run_retired()
    world.destroy()
    assert names(world) == NOTHING


@pytest.mark.parametrize("status", ["running", "exited"])
def test_a_stranger_on_the_volume_is_refused_before_anything_is_removed(world, status):
    """R48."""
    world.start()
    world.run_foreign("thief", volume=NAME)
    world.engine.box("thief").status = status
    before = names(world)
    world.changes()
    with pytest.raises(GatewayStateError, match="thief") as refused:
        world.destroy()
    assert refused.value.exit_code == 4
    assert "docker rm thief" in refused.value.remedies[0]
    assert names(world) == before
    assert world.changes() == []
    assert world.store.records.find("t1") is not None


@pytest.mark.parametrize(
    ("noun", "what"), [("volumes", f"volume {NAME}"), ("containers", f"container {NAME}")]
)
def test_a_removal_that_did_nothing_is_no_success(world, monkeypatch, noun, what):
    """R49: the engine said yes, and it is still there."""
    world.start()
    part = getattr(world.engine, noun)
    with monkeypatch.context() as patched:
        patched.setattr(type(part), "remove", lambda _self, _name, **_how: None)
        with pytest.raises(EngineError, match=f"{what} is still present") as failed:
            world.destroy()
    assert failed.value.exit_code == 5
    assert NAME in world.engine.state.disks
    assert world.store.records.find("t1") is not None
    world.destroy()
    assert names(world) == NOTHING


def test_a_stranger_on_the_network_keeps_it_and_is_named(world):
    """R47: a later run removes the network."""
    world.start()
    stranger = world.run_foreign("stranger", network=NAME)
    world.engine.box(stranger).status = "created"
    world.engine.containers.start(stranger)
    done = world.destroy()
    assert done.removed == (f"container {NAME}", f"volume {NAME}")
    assert done.kept == (f"network {NAME}: still used by stranger",)
    world.engine.containers.stop(stranger, 1)
    world.engine.containers.remove(stranger)
    assert world.destroy().removed == (f"network {NAME}",)


def test_a_network_that_the_engine_will_not_remove_is_kept_and_named(world):
    """R47: endpoints that nobody sees."""
    world.start()
    world.engine.fail("networks.remove", EngineError("no", details="has active endpoints"))
    assert world.destroy().kept == (f"network {NAME}: has active endpoints",)
    assert world.destroy().removed == (f"network {NAME}",)


def test_an_engine_that_does_not_answer_is_no_reason_to_keep_a_network(world):
    world.start()
    world.engine.fail("networks.remove", EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError):
        world.destroy()
    assert world.store.records.find("t1") is not None
    assert world.destroy().removed == (f"network {NAME}",)


def test_twin_networks_go_both(world):
    world.start()
    world.engine.add_network(NAME)
    assert world.destroy().removed.count(f"network {NAME}") == 2
    assert names(world) == NOTHING


@pytest.mark.parametrize("method", ["containers.stop", "containers.remove"])
def test_a_container_that_cannot_be_removed_keeps_the_volume(world, method):
    """R63."""
    world.start()
    world.engine.fail(method, EngineError("device busy"))
    with pytest.raises(EngineError, match="device busy"):
        world.destroy()
    assert NAME in world.engine.state.disks
    assert not [call for call in world.engine.calls if call[:2] == ("volumes.remove", NAME)]
    assert world.store.records.find("t1") is not None
    assert world.destroy().removed[-2:] == (f"volume {NAME}", f"network {NAME}")


def test_a_volume_that_is_still_there_is_an_error_and_stays_known(world):
    """R49: the engine said yes and did nothing."""
    world.start()
    world.engine.fail("volumes.remove", EngineError("it is still there"), after=3)
    with pytest.raises(EngineError, match="still there"):
        world.destroy()
    assert NAME in world.engine.state.disks
    assert world.store.records.find("t1") is not None
    world.destroy()
    assert names(world) == NOTHING


def test_only_the_selection_of_the_destroyed_gateway_is_cleared(world):
    """R70."""
    world.start("t2")
    world.start()
    path = world.store.config / "gateways" / "t2" / "metadata.json"
    before = path.read_bytes()
    world.destroy()
    assert world.store.active.find() == "t2"
    assert path.read_bytes() == before
    world.destroy("t2")
    assert world.store.active.find() is None


@pytest.mark.parametrize("call", range(0, 24, 3))
def test_a_destroy_that_is_interrupted_anywhere_is_finished_by_the_next(world, call):
    for place in range(call, call + 3):
        world.start()
        world.start("bystander")
        world.engine.fail("*", KeyboardInterrupt(), after=place)
        try:
            world.destroy()
        except KeyboardInterrupt:
            world.engine.heal()
            world.destroy()
        world.engine.heal()
        assert names(world)[0] == {"openshell-cluster-bystander"}
        assert NAME not in world.engine.state.disks
        assert world.store.records.find("t1") is None


def test_no_destroy_has_more_calls_than_are_broken_one_by_one(world):
    world.start()
    world.engine.calls.clear()
    world.destroy()
    assert 10 < len(world.engine.calls) < 24


@pytest.mark.parametrize("act", [World.destroy, World.losses])
def test_a_container_that_only_bears_the_name_is_left_alone(world, act):
    world.run_foreign(NAME)
    with pytest.raises(GatewayExistsError):
        act(world)
    assert names(world)[0] == {NAME}


@pytest.mark.parametrize("act", [World.destroy, World.losses])
def test_a_name_that_cannot_be_reaches_nothing(world, act):
    with pytest.raises(ConfigError):
        act(world, "../x")
    assert world.engine.calls == []


def test_a_lock_that_another_command_holds_keeps_everything(world):
    world.start()
    before = names(world)
    with world.store.lock(world.engine.info().id, "t1"), pytest.raises(LockedError):
        world.destroy()
    assert names(world) == before
