"""Nodes, leases and pods as they are read."""

from datetime import UTC, datetime

import msgspec
import pytest

from openshell_bootstrap.cluster.nodes import parse_leases, parse_nodes, parse_pods
from openshell_bootstrap.cluster.objects import Resource
from openshell_bootstrap.errors import ClusterError
from tests.fakes import kube_objects as objects

T0 = 1_700_000_000


def told(*manifests) -> list[Resource]:
    return [Resource(each["kind"], msgspec.json.encode(each)) for each in manifests]


def test_a_node_as_it_reports():
    (node,) = parse_nodes(
        told(
            objects.node("n", heartbeat_s=T0, ready="False", message="no CNI", uninitialized=True),
            objects.pod("p", "n"),
        )
    )
    assert (node.name, node.hostname, node.ready, node.detail) == ("n", "n", "False", "no CNI")
    assert node.heartbeat == datetime.fromtimestamp(T0, UTC)
    assert (node.version, node.address) == ("v1.36.3+k3s1", "172.18.0.2")
    assert not node.is_initialized
    assert not node.is_terminating
    assert node.url == "/api/v1/nodes/n"


def test_what_a_node_runs_short_of_is_what_it_says_and_not_what_nobody_knows():
    """R102."""
    short = objects.node("n", heartbeat_s=T0)
    short["status"]["conditions"] += [
        {"type": "PIDPressure", "status": "True"},
        {"type": "DiskPressure", "status": "True"},
        {"type": "NetworkUnavailable", "status": "True"},
        {"type": "OtherPressure", "status": "Unknown"},
    ]
    (node,) = parse_nodes(told(short))
    assert node.pressures == ("DiskPressure", "PIDPressure")


def test_a_pod_names_the_claims_that_it_mounts():
    mounting = objects.pod("p", "n")
    mounting["spec"]["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    with_claim, without = parse_pods(told(mounting, objects.pod("q", "n")))
    assert (with_claim.claims, without.claims) == (("c",), ())


def test_a_node_that_never_reported():
    """As somebody registers it by hand, or a kubelet that died at once."""
    (node,) = parse_nodes(told({"kind": "Node", "metadata": {"name": "n"}}))
    assert (node.ready, node.heartbeat, node.hostname) == ("", None, "n")
    assert node.is_initialized
    assert not node.is_fresh(0)


@pytest.mark.parametrize(("started_s", "is_fresh"), [(T0 - 1, True), (T0, True), (T0 + 1, False)])
def test_fresh_is_a_heartbeat_not_before_this_start(started_s, is_fresh):
    (node,) = parse_nodes(told(objects.node("n", heartbeat_s=T0)))
    assert node.is_fresh(started_s) is is_fresh


def test_a_deleted_node_that_waits_for_its_finalizer():
    manifest = objects.node("n")
    manifest["metadata"]["deletionTimestamp"] = objects.rfc3339(T0)
    (node,) = parse_nodes(told(manifest))
    assert node.is_terminating


def test_only_leases_of_nodes_are_leases_of_nodes():
    election = objects.lease("kube-scheduler", T0)
    election["metadata"]["namespace"] = "kube-system"
    (lease,) = parse_leases(told(election, objects.lease("n", T0 + 0.25)))
    assert lease.node_name == "n"
    assert lease.renewed == datetime.fromtimestamp(T0 + 0.25, UTC)


def test_a_lease_that_was_never_renewed():
    manifest = objects.lease("n", T0)
    manifest["spec"] = {"renewTime": None}
    assert parse_leases(told(manifest))[0].renewed is None


@pytest.mark.parametrize(
    ("owners", "has_controller"),
    [
        (None, False),
        ([], False),
        ([{"kind": "Node"}], False),
        ([{"kind": "A"}, {"kind": "ReplicaSet", "controller": True}], True),
    ],
)
def test_a_pod_has_a_controller_if_an_owner_says_so(owners, has_controller):
    manifest = objects.pod("p", "n")
    manifest["metadata"]["ownerReferences"] = owners
    (pod,) = parse_pods(told(manifest))
    assert pod.has_controller is has_controller
    assert (str(pod), pod.node_name) == ("default/p", "n")
    assert pod.url == "/api/v1/namespaces/default/pods/p"


def test_a_pod_that_was_not_scheduled_yet():
    assert parse_pods(told({"kind": "Pod", "metadata": {"name": "p"}}))[0].node_name == ""


@pytest.mark.parametrize(
    "metadata", [{}, {"name": 7}, {"name": "n", "deletionTimestamp": "yesterday"}]
)
def test_an_object_that_cannot_be_read_is_an_error(metadata):
    with pytest.raises(ClusterError, match="cannot be read"):
        parse_nodes(told({"kind": "Node", "metadata": metadata}))
