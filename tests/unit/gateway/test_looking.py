"""List, select, info, logs, exec, kubectl and kubeconfig, over a whole gateway in memory."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from openshell_bootstrap.errors import (
    ConfigError,
    EngineUnavailableError,
    GatewayExistsError,
    GatewayNotFoundError,
    GatewayStateError,
)
from openshell_bootstrap.gateway.exec import exec_in_node, kubectl
from openshell_bootstrap.gateway.info import info
from openshell_bootstrap.gateway.kubeconfig import (
    get_kubeconfig,
    merge_kubeconfig,
    remove_kubeconfig,
)
from openshell_bootstrap.gateway.list import list_gateways
from openshell_bootstrap.gateway.logs import logs
from openshell_bootstrap.gateway.select import select
from openshell_bootstrap.gateway.version import versions_of
from openshell_bootstrap.models import Completed, PublishedPort
from openshell_bootstrap.names import LABEL_GATEWAY, GatewayNames
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.metadata import HostRecord

NAME = "openshell-cluster-t1"


def rows(world):
    return {row.name: row for row in list_gateways(engine=world.engine, store=world.store)}


def stop(world, name=NAME):
    world.engine.containers.stop(world.engine.seen(name).id, 1)


def test_a_gateway_is_listed_with_its_endpoint_and_the_active_one_is_marked(world):
    started = world.start("t1")
    world.start("t2")
    listed = rows(world)
    assert list(listed) == ["t1", "t2"]
    assert listed["t1"].endpoint == started.endpoint
    assert (listed["t1"].container, listed["t1"].managed) == ("running", True)
    assert listed["t1"].image == DEFAULT_NODE_IMAGE
    assert [row.name for row in listed.values() if row.active] == ["t1"]


def test_a_gateway_of_a_retired_release_is_listed_as_such(world):
    world.run_retired("NemoClaw.1")
    row = rows(world)["NemoClaw.1"]
    assert (row.container, row.managed, row.endpoint) == ("running", False, "")


def test_a_volume_alone_is_a_gateway_and_its_record_fills_in(world):
    started = world.start("t1")
    world.engine.prune(NAME)
    row = rows(world)["t1"]
    assert (row.container, row.managed) == ("absent", True)
    assert (row.endpoint, row.image) == (started.endpoint, DEFAULT_NODE_IMAGE)


def test_a_volume_without_a_label_is_a_retired_gateway_until_a_record_says_it_was_adopted(world):
    world.engine.volumes.create("openshell-cluster-old", {})
    assert rows(world)["old"].managed is False
    world.store.records.write(
        HostRecord(
            name="old",
            gateway_endpoint="https://127.0.0.1:8080",
            is_remote=False,
            gateway_port=8080,
            container_image="k3s:1",
        )
    )
    row = rows(world)["old"]
    assert (row.managed, row.image, row.endpoint) == (True, "k3s:1", "https://127.0.0.1:8080")


def test_a_record_alone_is_listed_also_when_it_is_damaged(world):
    path = world.store.config / "gateways/lost/metadata.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    row = rows(world)["lost"]
    assert (row.container, row.managed, row.endpoint, row.image) == ("absent", False, "", "")


def test_an_active_gateway_that_nobody_can_name_marks_none(world):
    world.start("t1")
    (world.store.config / "active_gateway").write_text("../x")
    assert not rows(world)["t1"].active


def test_only_exact_names_are_gateways(world):
    retired = world.run_retired("t1")
    aside = GatewayNames("t1").aside(retired.id)
    world.engine.containers.rename(retired.id, aside)
    for name in ("my-openshell-cluster-x", "openshell-cluster-", "openshell-helper-t9"):
        world.run_foreign(name)
    world.engine.volumes.create("openshell-scratch-t1-00000000-log", {})
    world.engine.volumes.create("openshell-cluster-a b", {})
    assert list(rows(world)) == ["t1"]
    assert rows(world)["t1"].container == "absent"


def test_a_name_that_only_looks_set_aside_is_a_gateway(world):
    world.run_retired("x-aside-0123456789ab")
    assert list(rows(world)) == ["x-aside-0123456789ab"]


def test_a_container_with_another_gateways_label_is_no_gateway(world):
    made = world.run_foreign("openshell-cluster-t9")
    box = world.engine.box(made)
    box.spec = replace(box.spec, labels={LABEL_GATEWAY: "t1"})
    assert rows(world) == {}


def test_an_engine_that_does_not_answer_lists_nothing_instead_of_too_little(world):
    world.start("t1")
    world.engine.fail("volumes.list", EngineUnavailableError("no answer"))
    with pytest.raises(EngineUnavailableError):
        rows(world)


def test_select_takes_only_what_is_there(world):
    world.start("t1")
    world.start("t2")
    assert select("t2", engine=world.engine, store=world.store).name == "t2"
    assert world.store.active.find() == "t2"
    with pytest.raises(GatewayNotFoundError):
        select("t", engine=world.engine, store=world.store)
    with pytest.raises(ConfigError):
        select("../t1", engine=world.engine, store=world.store)
    assert world.store.active.find() == "t2"


def test_info_tells_names_places_and_settings(world):
    started = world.start(
        "t1",
        ports=(PublishedPort("127.0.0.1", 8080, 30080),),
        environment={"PASSWORD": "hidden"},
        k3s_args=("--kubelet-arg=v=2",),
    )
    told = info("t1", engine=world.engine, store=world.store)
    assert (told.name, told.node_name) == ("t1", "openshell-t1")
    assert told.container == told.volume == told.network == NAME
    assert (told.endpoint, told.image) == (started.endpoint, DEFAULT_NODE_IMAGE)
    assert told.kubeconfig == started.kubeconfig
    assert len(told.cluster_id) == 64
    assert told.settings["ports"] == "127.0.0.1:8080:30080"
    assert told.settings["k3s-args"] == "--kubelet-arg=v=2"
    assert told.settings["environment"] == "PASSWORD"
    assert "hidden" not in repr(told)


def test_info_of_a_stopped_gateway_is_the_same(world):
    world.start("t1")
    running = info("t1", engine=world.engine, store=world.store)
    stop(world)
    assert info("t1", engine=world.engine, store=world.store) == running


def test_info_without_a_container_says_what_this_host_recorded_and_makes_nothing(world):
    world.start("t1")
    before = info("t1", engine=world.engine, store=world.store)
    world.engine.prune(NAME)
    world.engine.calls.clear()
    told = info("t1", engine=world.engine, store=world.store)
    assert world.engine.methods() == []
    assert (told.container, told.volume) == ("", NAME)
    assert (told.node_name, told.cluster_id) == (before.node_name, before.cluster_id)
    assert (told.endpoint, told.image) == (before.endpoint, before.image)
    assert told.settings == {}


def test_info_of_a_retired_gateway_has_no_settings_yet(world):
    world.run_retired("t1")
    told = info("t1", engine=world.engine, store=world.store)
    assert (told.container, told.node_name, told.settings) == (NAME, "openshell-t1", {})


def test_info_of_nothing(world):
    with pytest.raises(GatewayNotFoundError):
        info("t1", engine=world.engine, store=world.store)


def test_version_of_a_gateways_k3s(world):
    world.start("t1")
    known = info("t1", engine=world.engine, store=world.store).k3s_version
    assert known
    assert versions_of("t1", engine=world.engine, store=world.store).k3s == known


def test_logs_of_a_gateway_running_or_not(world):
    world.start("t1")
    world.engine.write_log(NAME, b"one", b"two", b"three")
    assert list(logs("t1", engine=world.engine, tail=2)) == [b"two", b"three"]
    stop(world)
    assert list(logs("t1", engine=world.engine, tail=1)) == [b"three"]
    later = world.clock.time() + 60
    assert list(logs("t1", engine=world.engine, since=later)) == []


def test_a_command_in_the_node(world):
    world.start("t1")
    seen = []

    def answer(container, argv, _stdin):
        seen.append((container.name, argv))
        return Completed(argv, 3, b"", b"")

    world.engine.on_exec(answer)
    assert exec_in_node("t1", ["ls", "-l"], engine=world.engine, tty=False) == 3
    assert kubectl("t1", ["get", "nodes"], engine=world.engine, tty=True) == 3
    assert seen == [(NAME, ("ls", "-l")), (NAME, ("kubectl", "get", "nodes"))]


def test_no_command_is_bad_input(world):
    with pytest.raises(ConfigError):
        exec_in_node("t1", [], engine=world.engine, tty=False)
    assert world.engine.calls == []


@pytest.mark.parametrize("status", ["exited", "paused", "restarting", "created"])
def test_a_command_needs_a_running_node(world, status):
    world.start("t1")
    world.engine.box(NAME).status = status
    with pytest.raises(GatewayStateError) as caught:
        exec_in_node("t1", ["ls"], engine=world.engine, tty=False)
    assert status in caught.value.details
    assert "gateway start --name t1" in caught.value.remedies[0]


READERS = {
    "logs": lambda world: logs("t1", engine=world.engine),
    "exec": lambda world: exec_in_node("t1", ["ls"], engine=world.engine, tty=False),
    "kubectl": lambda world: kubectl("t1", [], engine=world.engine, tty=False),
    "kubeconfig": lambda world: get_kubeconfig("t1", engine=world.engine),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_tell_nothing_a_volume_alone_and_a_stranger_apart(world, reader):
    read = READERS[reader]
    with pytest.raises(GatewayNotFoundError):
        read(world)
    world.engine.volumes.create(NAME, {})
    with pytest.raises(GatewayStateError, match="no container"):
        read(world)
    made = world.run_foreign(NAME)
    box = world.engine.box(made)
    box.spec = replace(box.spec, labels={LABEL_GATEWAY: "another"})
    with pytest.raises(GatewayExistsError):
        read(world)


def test_the_kubeconfig_is_the_nodes_with_the_published_address(world):
    started = world.start("t1")
    content = yaml.safe_load(get_kubeconfig("t1", engine=world.engine).content)
    assert content["clusters"][0]["cluster"]["server"] == started.endpoint
    assert content["current-context"] == "openshell-t1"
    stop(world)
    assert yaml.safe_load(get_kubeconfig("t1", engine=world.engine).content) == content


def test_the_internal_kubeconfig_names_the_container(world):
    world.start("t1")
    content = yaml.safe_load(get_kubeconfig("t1", engine=world.engine, internal=True).content)
    assert content["clusters"][0]["cluster"]["server"] == f"https://{NAME}:6443"


def test_a_gateway_that_never_became_ready_has_no_kubeconfig(world):
    world.run_retired("t1")
    with pytest.raises(GatewayStateError, match="no kubeconfig yet"):
        get_kubeconfig("t1", engine=world.engine)


def test_merge_and_remove_in_the_users_file(world, tmp_path):
    world.start("t1")
    path: Path = tmp_path / "kube" / "config"
    merged = merge_kubeconfig("t1", path, engine=world.engine, use=False)
    assert (merged.path, merged.context, merged.changed) == (str(path), "openshell-t1", True)
    assert not merge_kubeconfig("t1", path, engine=world.engine, use=False).changed
    assert merge_kubeconfig("t1", path, engine=world.engine, use=True).changed
    world.engine.prune(NAME)
    assert remove_kubeconfig("t1", path).changed
    assert not remove_kubeconfig("t1", path).changed
    assert yaml.safe_load(path.read_bytes())["contexts"] == []


def test_a_users_file_that_cannot_be_read_is_left_as_it_is(world, tmp_path):
    world.start("t1")
    path = tmp_path / "my-kubeconfig"
    path.write_text("{")
    with pytest.raises(ConfigError):
        merge_kubeconfig("t1", path, engine=world.engine, use=True)
    with pytest.raises(ConfigError):
        remove_kubeconfig("t1", path)
    assert path.read_text() == "{"


def test_remove_makes_no_file_and_takes_no_path_for_a_name(tmp_path):
    path = tmp_path / "config"
    assert not remove_kubeconfig("t1", path).changed
    assert not path.exists()
    with pytest.raises(ConfigError):
        remove_kubeconfig("../t1", path)
