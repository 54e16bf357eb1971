"""What follows once the node's container runs."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from openshell_bootstrap.cluster.workloads import Workload
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    ClusterError,
    EngineError,
    EngineUnavailableError,
    GatewayUnhealthyError,
    WaitTimeoutError,
)
from openshell_bootstrap.gateway.after_start import (
    Found,
    begin_of_life,
    expected_workloads,
    finish_adoption,
    last_log_lines,
    missing_workloads,
    parse_moment,
    reachable,
    save_records,
    wait_for_node,
    wait_for_workloads,
)
from openshell_bootstrap.gateway.readiness import Readiness
from openshell_bootstrap.gateway.record import RECORD_PATH
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.scenes import NAME, record_of
from tests.unit.gateway.specs import NAMES, SPEC, seen_of


@pytest.mark.parametrize(
    ("moment", "seen"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.5Z", datetime(2026, 1, 1, microsecond=500_000, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, microsecond=123456, tzinfo=UTC)),
    ],
)
def test_the_engines_moments_are_read_with_every_number_of_decimals(moment, seen):
    assert parse_moment(moment) == seen


@pytest.mark.parametrize(
    ("address", "client"),
    [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("192.0.2.1", "192.0.2.1")],
)
def test_a_client_reaches_what_is_open_to_all_on_loopback(address, client):
    assert reachable(address) == client


def test_a_life_begins_with_its_container():
    gone = Readiness(node_name="n", container=None, started_s=None, nodes=Unknown("gone"))
    with pytest.raises(GatewayUnhealthyError):
        begin_of_life(gone)


def workload(name, *, wanted=1, ready=1):
    return Workload(kind="Deployment", name=name, wanted=wanted, ready=ready)


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        ([], ("coredns", "local-path-provisioner")),
        ([workload("coredns")], ("local-path-provisioner",)),
        (
            [workload("coredns"), workload("local-path-provisioner", ready=0)],
            ("local-path-provisioner",),
        ),
        (
            [workload("coredns"), workload("local-path-provisioner"), workload("x", wanted=None)],
            ("x",),
        ),
        ([workload("coredns"), workload("local-path-provisioner")], ()),
    ],
)
def test_workloads_that_are_not_there_yet_are_missing(seen, missing):
    """On a new cluster they come later, so their absence proves nothing."""
    assert missing_workloads(seen, expected_workloads(SPEC)) == missing


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (SPEC, {"coredns", "local-path-provisioner"}),
        (replace(SPEC, disabled_addons=("coredns",)), {"local-path-provisioner"}),
        (replace(SPEC, k3s_args=("--disable", "local-storage,coredns")), set()),
    ],
)
def test_addons_that_are_off_bring_nothing(spec, expected):
    assert expected_workloads(spec) == expected


def test_log_lines_are_those_of_the_life_that_was_seen(world):
    world.start()
    world.engine.write_log(NAME, b"old")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(5)
    world.engine.containers.start(world.engine.seen(NAME).id)
    world.engine.write_log(NAME, *(f"new {number} \xff".encode("latin-1") for number in range(3)))
    assert last_log_lines(world.engine, world.engine.seen(NAME), 2) == (
        "new 1 \ufffd",
        "new 2 \ufffd",
    )
    never = replace(world.engine.seen(NAME), started_at="")
    assert last_log_lines(world.engine, never)[0] == "old"


def test_a_container_that_is_gone_is_waited_for_no_longer(world):
    with pytest.raises(GatewayUnhealthyError, match="its container is gone"):
        wait_for_node(world.engine, "gone", SPEC, 5, world.events.append)
    assert world.clock.slept == []


def test_workloads_that_cannot_be_read_are_an_error(world):
    world.start()
    node = ContainerNode(world.engine, world.engine.seen(NAME).id)
    world.kube.objects["Deployment", "kube-system", "coredns"]["spec"]["selector"] = 7
    with pytest.raises(ClusterError):
        wait_for_workloads(node, SPEC, datetime(2023, 1, 1, tzinfo=UTC), world.events.append)


def test_an_api_that_goes_away_again_is_a_timeout(world):
    world.start()
    node = ContainerNode(world.engine, world.engine.seen(NAME).id)
    world.kube.is_up = False
    with pytest.raises(WaitTimeoutError) as over:
        wait_for_workloads(node, SPEC, datetime(2023, 1, 1, tzinfo=UTC), world.events.append)
    assert "refused" in over.value.details


# --- records ---------------------------------------------------------------------------------


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


# --- adoption --------------------------------------------------------------------------------


def test_only_the_container_that_was_set_aside_goes(world):
    old = world.run_retired()
    world.engine.containers.stop(old.id, 1)
    world.engine.containers.rename(old.id, NAMES.aside(old.id))
    stranger = world.run_foreign(NAMES.aside("f" * 64))
    seen = seen_of(aside=world.engine.seen(old.id))
    finish_adoption(world.engine, NAMES, seen, world.events.append)
    assert list(world.engine.state.boxes) == [stranger]


def test_a_container_set_aside_that_runs_is_not_removed(world):
    old = world.run_retired()
    world.engine.containers.rename(old.id, NAMES.aside(old.id))
    seen = seen_of(aside=world.engine.seen(old.id))
    finish_adoption(world.engine, NAMES, seen, world.events.append)
    assert list(world.engine.state.boxes) == [old.id]


def test_where_nothing_was_set_aside_nobody_looks(world):
    finish_adoption(world.engine, NAMES, seen_of(), world.events.append)
    assert world.engine.calls == []
