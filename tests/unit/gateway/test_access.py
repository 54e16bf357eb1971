"""How sandbox commands find the cluster of a gateway."""

import pytest
import yaml

from openshell_bootstrap.errors import ConfigError, GatewayExistsError, GatewayStateError
from openshell_bootstrap.gateway.access import cluster_access
from openshell_bootstrap.store.metadata import EXTERNAL, HostRecord
from tests.unit.gateway.conftest import NAME

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "there", "cluster": {"server": "https://there:6443"}}],
    "contexts": [{"name": "there", "context": {"cluster": "there", "user": "there"}}],
    "users": [{"name": "there", "user": {"token": "shh"}}],
    "current-context": "there",
}


def access(world, name="t1"):
    return cluster_access(name, engine=world.engine, store=world.store)


def add(world, content=None):
    record = HostRecord(
        name="far",
        gateway_endpoint="https://there:6443",
        is_remote=False,
        gateway_port=6443,
        kind=EXTERNAL,
    )
    world.store.records.write(record)
    world.store.kubeconfigs.write("far", content or yaml.safe_dump(KUBECONFIG).encode())


def test_a_running_gateway_is_reached_by_what_its_node_says_now(world):
    started = world.start()
    world.store.kubeconfigs.remove("t1")
    found = access(world)
    assert found.kubeconfig["clusters"][0]["cluster"]["server"] == started.endpoint
    assert (found.context, found.is_managed) == ("openshell-t1", True)
    assert found.node_address == world.engine.containers.find(NAME).attachments[0].address != ""


def test_a_gateway_that_does_not_run_is_not_started_and_the_command_is_named(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.calls.clear()
    with pytest.raises(GatewayStateError, match="does not run") as caught:
        access(world)
    assert (caught.value.exit_code, caught.value.remedies[0]) == (
        4,
        "`openshell gateway start --name t1` starts it.",
    )
    assert world.changes() == []


def test_a_gateway_that_is_not_there_is_a_wrong_state_with_the_command_that_makes_it(world):
    with pytest.raises(GatewayStateError) as caught:
        access(world)
    assert caught.value.exit_code == 4
    assert "`openshell gateway start --name t1`" in caught.value.remedies[0]


def test_a_damaged_record_is_told_where_nothing_else_is_known(world):
    add(world)
    world.store.records.paths.metadata("far").write_bytes(b"{")
    with pytest.raises(GatewayStateError) as caught:
        access(world, "far")
    assert "is damaged" in caught.value.details


def test_a_stranger_under_the_name_is_no_gateway(world):
    world.run_foreign(NAME)
    with pytest.raises(GatewayExistsError):
        access(world)


def test_an_added_cluster_is_reached_without_the_engine(world):
    add(world)
    world.engine.calls.clear()
    found = access(world, "far")
    assert found.kubeconfig == KUBECONFIG
    assert (found.context, found.is_managed, found.node_address) == ("there", False, "")
    assert world.engine.calls == []


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b"text"])
def test_a_damaged_copy_of_a_kubeconfig_is_told(world, content):
    add(world, content)
    with pytest.raises(ConfigError, match="cannot be used"):
        access(world, "far")


def test_a_copy_of_a_kubeconfig_that_is_gone_is_told(world):
    add(world)
    world.store.kubeconfigs.remove("far")
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        access(world, "far")
    assert "gateway add far" in caught.value.remedies[0]


def test_credentials_are_in_no_text_of_it(world):
    add(world)
    assert "shh" not in repr(access(world, "far"))
