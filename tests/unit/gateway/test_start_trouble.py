"""``start`` meets trouble: what it says, its exit code, and what it leaves alone."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    EngineError,
    EngineUnavailableError,
    GatewayExistsError,
    GatewayStateError,
    LockedError,
    PortConflictError,
    PullError,
)
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.conftest import DECLARED, NAME
from tests.unit.gateway.scenes import FRESH, check_tidy, record_of


def test_a_volume_in_use_by_a_stranger_is_refused(world):
    """R87."""
    world.start()
    world.engine.prune(NAME)
    world.run_foreign("thief", volume=NAME)
    world.changes()
    with pytest.raises(GatewayStateError, match="thief"):
        world.start()
    assert [name for name in world.changes() if "helper" not in name] == [
        "containers.create",
        "containers.remove",
    ]


def test_a_damaged_record_stops_nobody(world):
    world.start(k3s_args=("--v=4",), volumes=("/:/host:ro",))
    before = record_of(world)
    world.engine.volume_files(NAME).write("/openshell/gateway.json", b'{"sch')
    world.changes()
    world.start()
    assert world.changes() == []
    assert record_of(world).spec == before.spec
    world.engine.volume_files(NAME).write("/openshell/gateway.json", b"")
    world.engine.prune(NAME)
    done = world.start()
    assert "no record that can be used" in done.notices[0]
    assert record_of(world).cluster_id == before.cluster_id


def test_a_newer_releases_gateway_is_not_touched(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.volume_files(NAME).write("/openshell/gateway.json", b'{"schema": 2}')
    world.changes()
    with pytest.raises(GatewayStateError, match="newer release"):
        world.start()
    assert world.changes() == []


def test_an_older_k3s_is_refused_before_anything_is_stopped(world):
    """R77."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.add_image("old:v1", declared_volumes=DECLARED)
    world.nodes.version["old:v1"] = "k3s version v1.35.9+k3s1"
    before = world.engine.seen(NAME)
    with pytest.raises(GatewayStateError, match="older k3s"):
        world.start(image="old:v1", image_is_explicit=True)
    assert world.engine.seen(NAME) == before
    check_tidy(world)


def test_an_older_k3s_is_refused_also_where_it_had_to_be_pulled(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.add_image("old:v1", declared_volumes=DECLARED, in_registry=True)
    world.nodes.version["old:v1"] = "k3s version v1.35.9+k3s1"
    before = world.engine.seen(NAME)
    with pytest.raises(GatewayStateError, match="older k3s"):
        world.start(image="old:v1", image_is_explicit=True)
    assert world.engine.seen(NAME) == before


@pytest.mark.parametrize("pull", ["missing", "never"])
def test_an_image_that_cannot_be_had_names_the_ways_to_one_and_nothing_is_made(world, pull):
    world.engine.state.images.clear()
    with pytest.raises(PullError) as refused:
        world.start(pull=pull)
    assert refused.value.exit_code == 5
    text = " ".join(refused.value.remedies)
    for way in ("make node-image", "--image", "docker load"):
        assert way in text
    assert not {"networks.create", "volumes.create", "containers.create"} & set(world.changes())
    assert world.engine.state.boxes == world.engine.state.disks == world.engine.state.networks == {}


def test_an_absent_image_is_pulled_and_its_progress_told(world):
    world.engine.state.images.clear()
    world.engine.add_image(DEFAULT_NODE_IMAGE, declared_volumes=DECLARED, in_registry=True)
    done = world.start()
    assert world.changes() == ["images.pull", *FRESH]
    assert done.actions[0].what == f"pull the image {DEFAULT_NODE_IMAGE}"
    assert "Transfer(item='layer', done=1000, total=1000)" in repr(world.events)


def test_offline_with_its_image_present_a_gateway_needs_no_registry(world):
    """R80."""
    world.engine.fail("images.pull", PullError("no network"), times=None)
    world.start()
    world.engine.prune(NAME)
    world.start()


def test_a_pruned_gateway_whose_image_is_gone_too_is_opened_after_a_pull(world):
    world.start()
    before = record_of(world)
    world.engine.prune(NAME)
    world.engine.state.registry.update(world.engine.state.images)
    world.engine.state.images.clear()
    with pytest.raises(GatewayStateError, match="cannot be read"):
        world.start(pull="never")
    assert world.engine.state.boxes == {}
    world.start()
    assert record_of(world) == before


@pytest.mark.parametrize(
    ("free_bytes", "brief"), [(0, "Not enough disk space"), (10 << 30, "cannot be read")]
)
def test_a_volume_that_an_engine_without_room_cannot_read_is_told_by_its_cause(
    world, free_bytes, brief
):
    """R102."""
    world.start()
    world.engine.end(NAME)
    world.changes()
    world.host.known = replace(world.host.known, free_bytes=free_bytes)
    said = EngineError("no answer", details="no space left on device")
    world.engine.fail("containers.get_files", said)
    with pytest.raises(EngineError, match=brief) as refused:
        world.start()
    assert free_bytes == 0 or refused.value.details == "no answer: no space left on device"
    assert world.changes() == []


def test_a_port_that_is_taken_at_the_start_of_a_fresh_gateway_leaves_nothing(world):
    """R55: a second run with a free port passes."""
    world.engine.state.busy_ports.add(("127.0.0.1", 16443))
    asked = {"api_port": PublishedPort("127.0.0.1", 16443, 6443)}
    with pytest.raises(PortConflictError) as refused:
        world.start(**asked)
    assert refused.value.exit_code == 5
    assert world.engine.state.boxes == world.engine.state.disks == world.engine.state.networks == {}
    assert "Taken away again: container openshell-cluster-t1, volume" in world.notices
    assert world.store.records.find("t1") is None
    world.engine.state.busy_ports.clear()
    world.start(**asked)
    check_tidy(world)


def test_a_port_that_is_taken_at_the_start_of_a_gateway_keeps_the_gateway(world):
    """R56."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    container = world.engine.seen(NAME)
    world.engine.state.busy_ports.add(("127.0.0.1", container.ports[0].host_port))
    with pytest.raises(PortConflictError):
        world.start()
    assert world.engine.seen(NAME).id == container.id
    assert NAME in world.engine.state.disks
    world.engine.state.busy_ports.clear()
    world.start()


def test_a_held_port_is_refused_before_anything_is_made(world):
    """R54."""
    world.host.held[16443] = "process 7 (nginx) has it"
    with pytest.raises(PortConflictError, match="nginx"):
        world.start(api_port=PublishedPort("127.0.0.1", 16443, 6443))
    assert world.changes() == []


def test_the_port_is_chosen_around_other_containers_and_processes(world):
    world.start()
    port = world.engine.seen(NAME).ports[0].host_port
    world.engine.containers.stop(NAME, 1)
    assert port in world.host.asked
    world.host.held[port] = "process 7 has it"
    with pytest.raises(PortConflictError):
        world.start()


def test_another_operation_on_the_gateway_is_locked_out(world):
    with world.store.lock(world.engine.info().id, "t1"):
        world.changes()
        with pytest.raises(LockedError) as locked:
            world.start()
        assert locked.value.exit_code == 10
        world.start("t2")
    assert "openshell-cluster-t1" not in str(world.engine.state.boxes)


@pytest.mark.parametrize("method", ["info", "containers.list", "volumes.find", "images.find"])
def test_an_engine_that_fails_plans_nothing(world, method):
    world.engine.fail(method, EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError) as failed:
        world.start()
    assert failed.value.exit_code == 5
    assert world.changes() == []


def test_a_record_that_nobody_could_read_is_not_rebuilt(world):
    """Nothing follows from a time-out: no container is made with other settings."""
    world.start(k3s_args=("--v=4",))
    world.engine.containers.stop(NAME, 1)
    world.changes()
    world.engine.fail("containers.get_files", EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError):
        world.start()
    assert world.changes() == []


def test_nothing_is_pulled_for_what_only_looks_like_the_gateway(world):
    world.run_foreign(NAME)
    world.engine.volumes.create(NAME, {})
    world.engine.state.images.clear()
    world.changes()
    with pytest.raises(GatewayExistsError):
        world.start()
    assert world.changes() == []


@pytest.mark.parametrize(("schema", "is_kept"), [(1, True), (None, False)])
def test_only_a_copy_of_ours_stands_in_for_a_lost_record(world, schema, is_kept):
    """A retired release's endpoint is not the Kubernetes API's."""
    world.start(api_port=PublishedPort("127.0.0.1", 16443, 6443))
    world.engine.prune(NAME)
    world.engine.volume_files(NAME).remove("/openshell/gateway.json")
    if schema is None:
        world.store.records.remove("t1")
        world.store.records.write(
            HostRecord(name="t1", gateway_endpoint="x", is_remote=False, gateway_port=16443)
        )
    world.start()
    assert (world.engine.seen(NAME).ports[0].host_port == 16443) is is_kept


def test_what_a_later_start_made_is_left_for_the_next_one(world):
    """Only a first start takes away what it made."""
    world.start()
    world.engine.prune(NAME)
    world.engine.state.networks.clear()
    world.engine.fail("containers.start", PortConflictError("no"))
    with pytest.raises(PortConflictError):
        world.start()
    assert world.engine.seen(NAME).status == "created"
    assert len(world.engine.state.networks) == 1
    assert "Taken away" not in world.notices
    world.start()
    check_tidy(world)
