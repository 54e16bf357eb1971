"""``start`` from end to end: fresh, repeated, and back from whatever happened."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    ConfigError,
    EngineError,
    GatewayStateError,
)
from openshell_bootstrap.events import StepFinished, StepStarted
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.names import LABEL_GATEWAY
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import FRESH, JOURNAL, RECREATE, check_tidy, dry_run, record_of


def test_a_fresh_gateway_comes_up(world):
    done = world.start()
    assert world.changes() == FRESH
    assert (done.name, done.node_name) == ("t1", "openshell-t1")
    assert done.image == DEFAULT_NODE_IMAGE
    assert [action.what.split(" ")[0] for action in done.actions] == [
        "make",
        "make",
        "make",
        "start",
    ]
    assert world.kube.names("Node") == ["openshell-t1"]
    container = world.engine.seen(NAME)
    assert container.status == "running"
    assert container.environment == {"OPENSHELL_NODE_NAME": "openshell-t1"}
    (port,) = container.ports
    assert (port.address, port.container_port) == ("127.0.0.1", 6443)
    assert done.endpoint == f"https://127.0.0.1:{port.host_port}"
    check_tidy(world)


def test_on_another_hosts_engine_this_hosts_ports_say_nothing(world):
    world.engine.state.info = replace(world.engine.state.info, is_local=False)
    world.start()
    assert world.host.asked == []


def test_a_fresh_gateway_is_recorded_on_its_volume_and_on_the_host(world):
    done = world.start()
    record = record_of(world)
    assert len(record.cluster_id) == 64
    assert record.kube_system_uid == f"uid-of-{NAME}"
    assert record.k3s_version == "v1.36.3+k3s1"
    assert world.store.records.find("t1") == HostRecord(
        name="t1",
        gateway_endpoint=done.endpoint,
        is_remote=False,
        gateway_port=record.spec.api_port.host_port,
        container_image=DEFAULT_NODE_IMAGE,
        node_name="openshell-t1",
        schema=1,
        cluster_id=record.cluster_id,
    )
    assert world.store.active.find() == "t1"
    kubeconfig = world.store.kubeconfigs.find("t1")
    assert kubeconfig is not None
    assert done.endpoint.encode() in kubeconfig
    assert done.kubeconfig == str(world.store.kubeconfigs.path("t1"))


def test_phases_are_told_as_they_come(world):
    world.start()
    titles = [event.title for event in world.events if isinstance(event, StepStarted)]
    assert titles == [
        "Preparing the node",
        "Starting the node",
        "Waiting for the node",
        "Waiting for the node's workloads",
    ]
    assert all(event.ok for event in world.events if isinstance(event, StepFinished))
    assert world.notices == ""


def test_a_second_start_changes_nothing(world):
    """R19, R89."""
    world.start()
    files = sorted(world.store.config.rglob("*"))
    before = [(path, path.stat().st_mtime_ns) for path in files if path.is_file()]
    world.changes()
    done = world.start()
    assert world.changes() == []
    assert done.actions == ()
    after = [(path, path.stat().st_mtime_ns) for path in files if path.is_file()]
    assert after == before


@pytest.mark.parametrize(
    "asked",
    [
        {"token": b"a-secret", "registries": b"mirrors: {}"},
        {"image": DEFAULT_NODE_IMAGE, "image_is_explicit": True},
        {"ports": (PublishedPort("127.0.0.1", 8080, 30080),), "k3s_args": ("--v=4",)},
        {"environment": {"HTTP_PROXY": "http://p"}, "proxies": {"HTTP_PROXY": "http://q"}},
        {"volumes": ("/:/host:ro",), "tls_sans": ("example.org",), "gpus": "all"},
    ],
)
def test_a_second_start_with_the_same_flags_changes_nothing(world, asked):
    """R16, R19: a token is given once."""
    world.start(**asked)
    world.changes()
    world.start(**asked)
    assert world.changes() == []


def test_a_second_gateway_is_not_made_active_and_sees_nothing_of_the_first(world):
    world.start()
    before = {name: disk.tree for name, disk in world.engine.state.disks.items()}
    container = world.engine.seen(NAME)
    world.start("t1x")
    assert world.store.active.find() == "t1"
    assert world.engine.seen(NAME) == container
    assert all(world.engine.state.disks[name].tree is tree for name, tree in before.items())


@pytest.mark.parametrize("name", ["", "-x", "a/b", "käse", ".."])
@pytest.mark.parametrize("act", [lambda world, name: world.start(name), dry_run])
def test_a_name_that_cannot_be_is_refused_before_the_engine_is_asked_anything(world, name, act):
    """R07."""
    with pytest.raises(ConfigError) as refused:
        act(world, name)
    assert "such as" in refused.value.remedies[0]
    assert world.engine.calls == []


@pytest.mark.parametrize("name", ["my_gw", "X", "x.", "a" * 80])
def test_a_name_that_only_an_old_gateway_may_have_makes_no_new_one(world, name):
    """R07."""
    with pytest.raises(ConfigError) as refused:
        world.start(name)
    assert "such as" in refused.value.remedies[0]
    assert world.changes() == []


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        ("exited", ["containers.start"]),
        ("paused", ["containers.unpause"]),
        ("restarting", ["containers.stop", "containers.start"]),
        ("dead", RECREATE[1:]),
    ],
)
def test_a_gateway_that_does_not_run_is_brought_back_with_all_its_data(world, state, changes):
    """R35, R38, R83."""
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write("/storage/claim/file", b"precious")
    before = record_of(world)
    if state == "paused":
        world.engine.box(NAME).status = "paused"
    elif state == "restarting":
        world.engine.crash_loop(NAME, 70, 3)
    else:
        world.engine.end(NAME, 137)
        world.engine.box(NAME).status = state
    world.clock.advance(100)
    world.changes()
    world.start()
    assert world.changes()[-len(changes) :] == changes
    assert world.engine.volume_files(NAME) is tree
    assert tree.read("/storage/claim/file") == b"precious"
    assert record_of(world) == before
    assert world.nodes.rejected == []
    check_tidy(world)


def test_a_container_that_never_started_is_replaced_and_the_volume_kept(world):
    """R66, R61."""
    world.start()
    old = world.engine.seen(NAME)
    world.engine.end(NAME)
    box = world.engine.box(NAME)
    box.status, box.started_at = "created", ""
    world.changes()
    world.start()
    assert world.changes() == RECREATE
    assert world.engine.seen(NAME).id != old.id
    assert world.nodes.boots[NAME] == 2
    check_tidy(world)


def test_a_pruned_container_is_made_again_five_times_in_a_row(world):
    """R09, R12, R17, R51: same node, port, authority and password; no volume dangles."""
    world.start()
    first, ports = record_of(world), world.engine.seen(NAME).ports
    for _ in range(5):
        world.engine.prune(NAME)
        world.start()
        assert record_of(world) == first
        assert world.engine.seen(NAME).ports == ports
        check_tidy(world)
    assert world.kube.names("Node") == ["openshell-t1"]
    assert world.nodes.rejected == []
    assert world.nodes.boots[NAME] == 6


def test_a_lost_home_folder_and_a_second_user_lose_nothing(world, tmp_path):
    """R04."""
    world.start()
    before = record_of(world)
    world.engine.prune(NAME)
    world.store = replace(world.store, config=tmp_path / "another" / "openshell")
    done = world.start()
    assert record_of(world) == before
    assert str(before.spec.api_port.host_port) in done.endpoint


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("loss", ["gone", "again"])
def test_a_network_that_is_lost_is_repaired(world, loss, prune):
    """R44."""
    world.start()
    if prune:
        world.engine.prune(NAME)
    if loss == "gone":
        world.engine.state.networks.clear()
    else:
        world.engine.replace_network(NAME)
    before = record_of(world)
    world.start()
    (network,) = world.engine.state.networks.values()
    (attachment,) = world.engine.seen(NAME).attachments
    assert attachment.network_id == network.id
    assert record_of(world) == before
    check_tidy(world)


def test_twin_networks_are_brought_down_to_one(world):
    """R45."""
    world.start()
    world.engine.prune(NAME)
    world.engine.add_network(NAME, {LABEL_GATEWAY: "t1"})
    world.start()
    assert len(world.engine.state.networks) == 1


def test_twin_networks_that_are_not_ours_to_remove_are_named(world):
    world.engine.add_network(NAME)
    world.engine.add_network(NAME)
    with pytest.raises(EngineError, match="2 networks called"):
        world.start()
    assert world.changes() == []


def test_a_flag_that_differs_needs_recreate_while_the_gateway_runs(world):
    """R41."""
    world.start()
    world.changes()
    with pytest.raises(GatewayStateError, match="runs with other settings") as refused:
        world.start(k3s_args=("--v=4",))
    assert refused.value.exit_code == 4
    assert world.changes() == []
    world.start(k3s_args=("--v=4",), recreate=True)
    assert world.changes()[:2] == [JOURNAL, "containers.stop"]
    assert world.engine.seen(NAME).command[-1] == "--v=4"
    assert record_of(world).spec.k3s_args == ("--v=4",)
    check_tidy(world)


def test_a_flag_that_differs_is_applied_to_a_gateway_that_is_stopped(world):
    """R41."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.changes()
    world.start(ports=(PublishedPort("127.0.0.1", 8080, 30080),))
    assert world.changes() == RECREATE
    world.engine.containers.stop(NAME, 1)
    world.start()
    assert [port.host_port for port in world.engine.seen(NAME).ports][1:] == [8080]


def test_another_token_is_refused_with_everything_left_as_it_was(world):
    """R14."""
    world.start(token=b"first")
    world.engine.containers.stop(NAME, 1)
    world.changes()
    with pytest.raises(GatewayStateError, match="token is not the one"):
        world.start(token=b"second", recreate=True)
    assert world.changes() == []
    world.start(token=b"first")
    assert world.changes() == ["containers.start"]


def test_a_given_token_reaches_the_node_and_nothing_else(world):
    world.start(token=b"hunter2")
    container = world.engine.seen(NAME)
    assert world.engine.files(container.id).file("/opt/openshell/token").content == b"hunter2"
    assert "hunter2" not in repr(container)
    assert "hunter2" not in repr(world.events)
    assert "hunter2" not in repr(record_of(world))


def test_a_registries_file_is_kept_for_every_later_container(world):
    world.start(registries=b"mirrors: {}")
    world.engine.prune(NAME)
    world.start()
    path = "/opt/openshell/registries.yaml"
    assert world.engine.files(NAME).file(path).content == b"mirrors: {}"
    world.start(registries=b"", recreate=True)
    assert world.engine.files(NAME).file(path).content == b""
