"""Looking: what is there, whose it is, and what nobody could say."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.checks.host import HostFacts
from openshell_bootstrap.gateway.node_container import object_labels
from openshell_bootstrap.gateway.observe import OnVolume, observe, read_retired_identity
from openshell_bootstrap.gateway.record import DamagedRecord, GatewayRecord
from openshell_bootstrap.models import ContainerSpec, FileEntry, Unknown
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.unit.gateway.specs import NAMES

NAME = NAMES.container


def look(world, name="t1", images=(DEFAULT_NODE_IMAGE,)):
    return observe(
        name, engine=world.engine, host=world.host, helper_images=images, with_token=True
    )


def boxes(world):
    return {box.name for box in world.engine.state.boxes.values()}


def test_nothing_is_there(world):
    seen = look(world)
    assert not seen.exists
    assert (seen.container, seen.aside, seen.volume, seen.networks) == (None, None, None, ())
    assert seen.on_volume is seen.record is None
    assert seen.node_container_id == ""
    assert not seen.is_retired
    assert isinstance(seen.host, HostFacts)
    assert world.changes() == []


def test_a_gateway_is_seen_with_what_its_volume_says(world):
    world.start(registries=b"mirrors: {}")
    world.changes()
    seen = look(world)
    assert seen.exists
    assert seen.container is not None
    assert seen.node_container_id == seen.container.id
    assert [network.name for network in seen.networks] == [NAME]
    assert isinstance(seen.record, GatewayRecord)
    assert isinstance(seen.on_volume, OnVolume)
    assert seen.on_volume.has_password
    assert seen.on_volume.registries == b"mirrors: {}"
    assert seen.on_volume.token is not None
    assert seen.on_volume.token.startswith(b"K10")
    assert world.changes() == []


def test_secrets_are_not_shown_with_what_is_seen(world):
    world.start(registries=b"password: hunter2")
    seen = look(world)
    assert isinstance(seen.on_volume, OnVolume)
    assert seen.on_volume.token is not None
    assert "hunter2" not in repr(seen)
    assert seen.on_volume.token.decode().strip() not in repr(seen)


@pytest.mark.parametrize("name", ["openshell-cluster-t1x", "xopenshell-cluster-t1", f"{NAME}-old"])
def test_a_look_alike_is_only_another_container(world, name):
    world.run_foreign(name)
    world.engine.volumes.create(name, {})
    world.engine.add_network(name)
    seen = look(world)
    assert not seen.exists
    assert seen.networks == ()
    assert [one.name for one in seen.others] == [name]


@pytest.mark.parametrize("prune", [False, True])
def test_a_volume_without_a_container_is_opened_by_one_that_never_starts(world, prune):
    world.start()
    record = look(world).record
    world.engine.prune(NAME)
    world.changes()
    seen = look(world)
    assert seen.record == record
    assert world.changes() == ["containers.create", "containers.remove"]
    assert boxes(world) == set()
    assert all(not name.startswith("fake") for name in world.engine.state.disks)


def test_a_helper_leaves_nothing_behind_when_reading_fails(world):
    world.start()
    world.engine.prune(NAME)
    disks = set(world.engine.state.disks)
    world.engine.fail("containers.get_files", EngineUnavailableError("away"))
    with pytest.raises(EngineUnavailableError):
        look(world)
    assert boxes(world) == set()
    assert set(world.engine.state.disks) == disks


def test_a_helper_that_a_killed_command_left_is_taken_away(world):
    world.start()
    world.engine.prune(NAME)
    world.engine.fail("containers.remove", KeyboardInterrupt())
    disks = set(world.engine.state.disks)
    with pytest.raises(KeyboardInterrupt):
        look(world)
    assert boxes(world) == {NAMES.helper}
    assert isinstance(look(world).record, GatewayRecord)
    assert boxes(world) == set()
    assert set(world.engine.state.disks) == disks


def test_a_strangers_container_of_the_helpers_name_is_not_taken_away(world):
    world.start()
    world.engine.prune(NAME)
    world.run_foreign(NAMES.helper)
    with pytest.raises(EngineError):
        look(world)
    assert boxes(world) == {NAMES.helper}


def test_without_an_image_the_volumes_content_is_unknown_and_not_absent(world):
    world.start()
    world.engine.prune(NAME)
    world.engine.state.images.clear()
    world.changes()
    seen = look(world, images=(DEFAULT_NODE_IMAGE, "other:v1"))
    assert isinstance(seen.on_volume, Unknown)
    assert seen.record is seen.on_volume
    assert seen.exists
    assert world.changes() == []


def test_the_first_image_that_is_present_opens_the_volume(world):
    world.start()
    world.engine.prune(NAME)
    world.engine.add_image("second:v1")
    world.engine.calls.clear()
    look(world, images=("absent:v1", "second:v1", DEFAULT_NODE_IMAGE))
    asked = [call[1] for call in world.engine.calls if call[0] == "images.find"]
    assert asked == ["absent:v1", "second:v1"]


@pytest.mark.parametrize("status", ["dead", "removing"])
def test_a_container_that_is_half_removed_opens_nothing(world, status):
    world.start()
    world.engine.box(NAME).status = status
    world.changes()
    assert isinstance(look(world).record, GatewayRecord)
    assert world.changes() == ["containers.create", "containers.remove"]


def test_a_damaged_record_is_told_from_none(world):
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write("/openshell/gateway.json", b'{"schema": 1, "sp')
    assert isinstance(look(world).record, DamagedRecord)
    tree.remove("/openshell/gateway.json")
    assert look(world).record is None


@pytest.mark.parametrize(
    ("path", "addon"),
    [
        ("/server/manifests/traefik.yaml", "traefik"),
        ("/server/manifests/metrics-server/metrics-server-deployment.yaml", "metrics-server"),
    ],
)
def test_addons_that_are_on_are_seen_where_no_record_says_so(world, path, addon):
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write(path, b"x")
    assert look(world).on_volume.live_addons == frozenset()
    tree.remove("/openshell/gateway.json")
    assert look(world).on_volume.live_addons == {addon}


@pytest.mark.parametrize(
    "method", ["info", "containers.list", "volumes.find", "networks.list_named"]
)
def test_what_the_engine_could_not_say_is_an_error(world, method):
    world.start()
    world.engine.fail(method, EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError):
        look(world)


def test_who_else_is_on_the_volume(world):
    world.start()
    world.run_foreign("thief", volume=NAME)
    world.run_foreign("other", volume="openshell-cluster-t1x")
    assert [user.name for user in look(world).volume_users] == ["thief"]


def test_node_names_of_other_gateways_are_taken(world):
    world.start("t2")
    world.run_foreign("openshell-t3")
    assert look(world).taken_node_names == {"openshell-t2"}


def test_a_retired_gateway_has_no_label_of_ours(world):
    world.run_retired()
    assert look(world).is_retired
    world.start("t2")
    assert not look(world, "t2").is_retired


def test_a_container_that_was_set_aside_is_known_by_its_whole_name(world):
    container = world.run_retired()
    world.engine.containers.rename(container.id, NAMES.aside(container.id))
    seen = look(world)
    assert seen.container is None
    assert seen.aside is not None
    assert seen.aside.id == container.id
    world.engine.containers.rename(container.id, NAMES.aside("f" * 12))
    assert look(world).aside is None


def test_a_retired_containers_identity_is_read_for_its_successor(world):
    container = world.run_retired()
    files = world.engine.files(container.id)
    password = files.file("/etc/rancher/node/password").content
    files.put(FileEntry("/etc/rancher/node/id", b"1234", 0o600))
    assert read_retired_identity(world.engine, container) == (
        FileEntry("/var/lib/rancher/k3s/openshell/node/password", password, 0o600),
        FileEntry("/var/lib/rancher/k3s/openshell/node/id", b"1234", 0o600),
    )


def test_a_retired_container_without_an_identity_has_none(world):
    spec = ContainerSpec(
        name=NAME,
        image=DEFAULT_NODE_IMAGE,
        hostname="x",
        entrypoint=(),
        command=(),
        environment={},
        labels=object_labels("t1", "node"),
    )
    made = world.engine.containers.create(spec)
    assert read_retired_identity(world.engine, world.engine.seen(made)) == ()


def test_what_is_seen_of_a_remote_engine_says_nothing_of_this_host(world):
    world.engine.state.info = replace(world.engine.state.info, is_local=False)
    assert not look(world).engine.is_local


def test_our_folder_that_cannot_be_read_is_unknown_and_not_absent(world):
    world.start()
    world.engine.fail("containers.get_files", EngineError("the folder is too large"))
    assert look(world).record == Unknown("the folder is too large")
    world.engine.fail("containers.get_files", EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError):
        look(world)
