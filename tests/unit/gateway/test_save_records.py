"""What is written down once a gateway is up."""

from dataclasses import replace

import pytest

from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.inside.readiness import Readiness
from openshell_bootstrap.gateway.record import RECORD_PATH
from openshell_bootstrap.gateway.starting.save_records import Found, reachable, save_records
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.scenes import NAME, record_of
from tests.unit.gateway.specs import SPEC


@pytest.mark.parametrize(
    ("address", "client"),
    [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("192.0.2.1", "192.0.2.1")],
)
def test_a_client_reaches_what_is_open_to_all_on_loopback(address, client):
    assert reachable(address) == client


def save(world, kept=None):
    container = world.engine.seen(NAME)
    return save_records(
        ContainerNode(world.engine, container.id),
        world.store,
        spec=replace(SPEC, image=container.image),
        readiness=Readiness(node_name="x", container=container, started_s=1, nodes=()),
        found=Found(record=kept),
    )


def test_records_that_are_complete_are_not_written_again(world):
    world.start()
    world.engine.calls.clear()
    save(world)
    assert not [call for call in world.engine.calls if call[0] == "containers.exec"]


def test_a_version_that_nobody_said_is_kept_as_it_was(world):
    world.start()
    save(world)
    assert record_of(world).k3s_version == "v1.36.3+k3s1"


def test_a_uid_that_could_not_be_asked_for_is_asked_for_again(world):
    world.engine.on_exec(world.nodes.run)
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write(
        "/openshell/gateway.json",
        tree.read("/openshell/gateway.json").replace(f"uid-of-{NAME}".encode(), b""),
    )
    save(world)
    assert record_of(world).kube_system_uid == f"uid-of-{NAME}"


def test_another_authority_than_the_recorded_one_is_told_once(world):
    """R26."""
    world.start()
    world.engine.volume_files(NAME).write("/server/tls/server-ca.crt", b"another")
    _, notices = save(world)
    assert "new cluster" in notices[0]
    assert save(world)[1] == ()


@pytest.mark.parametrize("has_record", [True, False])
def test_a_host_record_of_another_cluster_is_told_too(world, has_record):
    """R26: the volume was replaced by another gateway's, and the home folder remembers."""
    world.start()
    record = world.store.records.find("t1")
    assert isinstance(record, HostRecord)
    world.store.records.write(replace(record, cluster_id="0" * 64))
    if not has_record:
        world.engine.volume_files(NAME).write("/openshell/gateway.json", b"")
    _, notices = save(world)
    assert "new cluster" in notices[0]
    assert save(world)[1] == ()


@pytest.mark.parametrize("kept", [True, False])
def test_a_record_that_was_read_already_is_not_read_again(world, kept):
    world.start()
    record = record_of(world)
    world.engine.calls.clear()
    save(world, record if kept else None)
    read = [call[-1] for call in world.engine.calls if call[0] == "containers.get_file"]
    assert (RECORD_PATH in read) is not kept
    assert record_of(world) == record


def test_a_node_without_a_kubeconfig_is_an_error(world):
    world.start()
    world.engine.box(NAME).files.remove("/etc/rancher/k3s/k3s.yaml")
    with pytest.raises(EngineError, match="no kubeconfig") as failed:
        save(world)
    assert failed.value.remedies


def test_a_record_that_could_not_be_written_is_told_and_completed_later(world):
    world.start()
    world.engine.volume_files(NAME).write("/server/tls/server-ca.crt", b"another")
    world.engine.fail("containers.exec", EngineUnavailableError("500"), times=None)
    _, notices = save(world)
    assert notices[-1] == "500; the next start completes it."
