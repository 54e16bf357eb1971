"""Steps of a plan, one by one: each safe to repeat, each bound to what was looked at."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineError, NameConflictError, PullError
from openshell_bootstrap.events import Transfer
from openshell_bootstrap.gateway.observe import KEPT_REGISTRIES, NODE_FOLDER, OnVolume
from openshell_bootstrap.gateway.record import RECORD_PATH, GatewayRecord, decode_record
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.carry_out import (
    Acting,
    pull_image,
    remove_container,
    remove_leftover_scratch,
    stop_container,
)
from openshell_bootstrap.gateway.starting.plan import (
    CreateNode,
    MakeNetwork,
    MakeVolume,
    Pull,
    RemoveTwinNetwork,
    SetAside,
    StartNode,
    StopNode,
    Unpause,
)
from openshell_bootstrap.models import Mount
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.fakes.engine import FakeNetworks
from tests.unit.gateway.scenes import NAME, scratch_of
from tests.unit.gateway.specs import RECORD, SPEC, seen_of, standing

HERE = replace(SPEC, image=DEFAULT_NODE_IMAGE)


def acting(world, seen=None, **asked):
    return Acting(
        engine=world.engine,
        request=StartRequest(name="t1", **asked),
        spec=HERE,
        seen=seen or seen_of(),
        report=world.events.append,
    )


def labels_of(world, kind, name):
    if kind == "network":
        (network,) = world.engine.networks.list_named(name)
        return network.labels
    return world.engine.state.disks[name].volume.labels


def test_what_is_made_bears_the_gateways_labels(world):
    act = acting(world)
    for action in (MakeNetwork(), MakeVolume(), CreateNode()):
        act.do(action)
    labels = [labels_of(world, "network", NAME), labels_of(world, "volume", NAME)]
    labels += [labels_of(world, "volume", name) for name in scratch_of(world)]
    labels.append(world.engine.seen(NAME).labels)
    assert {one[LABEL_GATEWAY] for one in labels} == {"t1"}
    assert [one[LABEL_ROLE] for one in labels] == ["network", "data", *["scratch"] * 3, "node"]


def test_files_go_in_record_first_and_entrypoint_last(world):
    act = acting(world, token=b"t", registries=b"r")
    act.do(MakeNetwork())
    act.do(CreateNode())
    (call,) = [call for call in world.engine.calls if call[0] == "containers.put_files"]
    paths = call[2:]
    assert paths[0] == RECORD_PATH
    assert paths[1] == KEPT_REGISTRIES
    assert "/opt/openshell/token" in paths
    assert paths[-1] == "/opt/openshell/cluster-entrypoint.sh"
    assert world.engine.files(NAME).file(KEPT_REGISTRIES).mode == 0o600


def record_in(world):
    record = decode_record(world.engine.files(NAME).file(RECORD_PATH).content)
    assert isinstance(record, GatewayRecord)
    return record


def test_a_new_record_keeps_what_the_old_one_knew_of_the_cluster(world):
    known = OnVolume(record=replace(RECORD, kube_system_uid="u"), has_password=True)
    act = acting(world, standing(container=None, on_volume=known), registries=b"r")
    act.do(CreateNode())
    record = record_in(world)
    assert record.spec == HERE
    assert (record.cluster_id, record.kube_system_uid) == (RECORD.cluster_id, "u")
    assert record.k3s_version == RECORD.k3s_version


def test_a_first_record_knows_the_settings_alone(world):
    acting(world).do(CreateNode())
    assert record_in(world) == GatewayRecord(spec=HERE)


def test_registries_that_the_volume_keeps_go_into_every_container(world):
    known = OnVolume(record=RECORD, registries=b"kept")
    acting(world, standing(container=None, on_volume=known)).do(CreateNode())
    assert world.engine.files(NAME).file("/opt/openshell/registries.yaml").content == b"kept"


@pytest.mark.parametrize("has_password", [True, False])
def test_a_retired_identity_is_moved_only_where_the_volume_has_none(world, has_password):
    old = world.run_retired()
    password = world.engine.files(old.id).file("/etc/rancher/node/password").content
    world.engine.containers.stop(old.id, 1)
    seen = standing(container=old, on_volume=OnVolume(has_password=has_password))
    act = acting(world, seen)
    act.do(SetAside(container=old))
    act.do(CreateNode())
    moved = world.engine.files(NAME).file(f"{NODE_FOLDER}/password")
    assert (moved is not None) is not has_password
    if moved is not None:
        assert (moved.content, moved.mode) == (password, 0o600)


def test_a_container_set_aside_keeps_itself_and_does_not_start_again(world):
    old = world.run_retired()
    acting(world, standing(container=old)).do(SetAside(container=old))
    box = world.engine.box(old.id)
    assert box.restart_policy == "no"
    assert box.name == f"{NAME}-aside-{old.id[:12]}"


class TwinsMadeAtOnce(FakeNetworks):
    """Another host makes a network of the name at the same moment."""

    other_id = "0"

    def create(self, name, labels, *, subnet=""):
        made = super().create(name, labels, subnet=subnet)
        twin = replace(self.state.networks[made], id=self.other_id)
        self.state.networks[twin.id] = twin
        return made


@pytest.mark.parametrize(("other_id", "is_ours_kept"), [("0", False), ("z", True)])
def test_of_two_networks_made_at_once_the_makers_agree_on_one(world, other_id, is_ours_kept):
    """R45: whoever has the greater id gives way, so that one survives."""
    world.engine.networks = TwinsMadeAtOnce(world.engine.state)
    world.engine.networks.other_id = other_id
    act = acting(world)
    act.do(MakeNetwork())
    assert bool(act.made_network_id) is is_ours_kept
    left = [network.id for network in world.engine.state.networks.values()]
    assert left == ([act.made_network_id, "z"] if is_ours_kept else ["0"])


class NetworksMadeAtOnce(FakeNetworks):
    """Whoever makes one looked for another before any was made."""

    def __init__(self, state, makers):
        super().__init__(state)
        self.together = threading.Barrier(makers)

    def create(self, name, labels, *, subnet=""):
        self.together.wait()
        with self.state.lock:
            return self._add(name, labels, subnet or self._free_subnet())


def test_whoever_makes_the_network_at_once_uses_the_same_one(world):
    """R45: one survives of those that several hosts make, and no other is used."""
    makers = 5
    world.engine.networks = NetworksMadeAtOnce(world.engine.state, makers)
    acts = [acting(world) for _ in range(makers)]
    with ThreadPoolExecutor(makers) as pool:
        list(pool.map(lambda act: act.do(MakeNetwork()), acts))
    for act in acts:
        if act.made_network_id:
            act._agree_on_network()
    (left,) = world.engine.networks.list_named(NAME)
    assert [act.made_network_id for act in acts if act.made_network_id] == [left.id]


def test_a_twin_that_came_after_the_first_look_is_agreed_on_before_it_is_used(world):
    """R45: the container is made by the network's name, which must be of one alone."""
    act = acting(world)
    act.do(MakeNetwork())
    ours = world.engine.state.networks[act.made_network_id]
    world.engine.state.networks["0"] = replace(ours, id="0")
    act.do(CreateNode())
    assert list(world.engine.state.networks) == ["0"]
    assert act.made_network_id == ""


def test_a_network_that_another_host_made_first_is_taken(world):
    world.engine.networks.create(NAME, {})
    act = acting(world)
    act.do(MakeNetwork())
    assert act.made_network_id == ""


def test_a_volume_that_another_host_made_first_is_not_ours_to_undo(world):
    world.engine.volumes.create(NAME, {})
    act = acting(world)
    act.do(MakeVolume())
    assert not act.made_volume
    act.undo_first_start()
    assert NAME in world.engine.state.disks


def test_the_very_network_is_removed_and_the_very_container_let_go(world):
    world.start()
    container = world.engine.seen(NAME)
    twin = world.engine.add_network(NAME)
    world.engine.containers.pause(NAME)
    act = acting(world, standing(container=container))
    act.do(RemoveTwinNetwork(network_id=twin))
    act.do(Unpause(container=container))
    assert len(world.engine.networks.list_named(NAME)) == 1
    assert world.engine.seen(NAME).status == "running"


def test_a_pull_tells_its_progress_and_its_failure_names_the_ways_out(world):
    world.engine.add_image("k3s:v9", in_registry=True)
    acting(world).do(Pull(image="k3s:v9"))
    assert Transfer("layer", 1000, 1000) in world.events
    with pytest.raises(PullError, match="absent and could not be pulled") as failed:
        pull_image(world.engine, "absent:v1", lambda *_: None)
    assert failed.value.details == "manifest unknown"
    assert any("make node-image" in remedy for remedy in failed.value.remedies)


def test_a_start_starts_what_was_seen_where_nothing_was_made(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    act = acting(world, standing(container=world.engine.seen(NAME)))
    act.do(StartNode())
    assert act.node_id == world.engine.seen(NAME).id


def test_a_stop_lets_the_grace_be_as_it_was_asked_for(world):
    world.start()
    container = world.engine.seen(NAME)
    acting(world, grace_s=3).do(StopNode(container=container))
    assert ("containers.stop", NAME, 3) in world.engine.calls


def test_a_container_that_was_removed_while_it_stopped_is_as_it_was(world):
    world.start()
    container = world.engine.seen(NAME)
    world.engine.on_stop(lambda _container: world.engine.prune(NAME))
    stopped = stop_container(world.engine, container, grace_s=1, report=world.events.append)
    assert stopped == container


def test_a_container_goes_with_its_own_scratch_and_nothing_else(world):
    world.start(volumes=("mine:/data",))
    container = world.engine.seen(NAME)
    evil = Mount(kind="volume", source="openshell-scratch-t1-data", target="/var/log")
    world.engine.volumes.create("openshell-scratch-t1-data", {LABEL_ROLE: "data"})
    world.engine.containers.stop(NAME, 1)
    with_evil = replace(container, mounts=(*container.mounts, evil))
    remove_container(world.engine, "t1", with_evil)
    assert set(world.engine.state.disks) == {NAME, "mine", "openshell-scratch-t1-data"}


def test_scratch_that_cannot_be_removed_is_left_for_the_next_time(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.fail("volumes.remove", EngineError("busy"))
    remove_container(world.engine, "t1", world.engine.seen(NAME))
    assert len(scratch_of(world)) == 1
    remove_leftover_scratch(world.engine, "t1")
    assert scratch_of(world) == set()


def test_scratch_that_is_gone_already_is_no_trouble(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    for name in scratch_of(world):
        world.engine.state.disks.pop(name)
    remove_container(world.engine, "t1", world.engine.seen(NAME))
    assert set(world.engine.state.disks) == {NAME}


def test_an_undo_of_nothing_removes_nothing(world):
    world.start()
    before = set(world.engine.state.disks), set(world.engine.state.boxes)
    assert acting(world).undo_first_start() == ()
    assert (set(world.engine.state.disks), set(world.engine.state.boxes)) == before


def test_an_undo_keeps_a_volume_whose_container_somebody_else_removed(world):
    """Whether a node ran on it, nobody can say any more."""
    act = acting(world)
    for action in (MakeNetwork(), MakeVolume(), CreateNode(), StartNode()):
        act.do(action)
    world.engine.prune(NAME)
    assert act.undo_first_start() == (f"network {NAME}",)
    assert NAME in world.engine.state.disks


def test_names_that_are_taken_are_not_made_again(world):
    world.run_foreign(NAME)
    with pytest.raises(NameConflictError):
        acting(world).do(CreateNode())
    assert world.engine.seen(NAME).image == "busybox"
