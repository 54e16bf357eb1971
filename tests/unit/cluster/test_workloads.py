"""When the node's own workloads are there."""

from datetime import UTC, datetime

import msgspec
import pytest

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.objects import Resource
from openshell_bootstrap.cluster.workloads import observe_workloads, parse_workloads
from openshell_bootstrap.errors import ClusterError
from tests.fakes.kube import FakeKube
from tests.fakes.kube_objects import rfc3339

T0 = 1_700_000_000
BEGUN = datetime.fromtimestamp(T0 + 0.75, UTC)


def workload(name="coredns", *, kind="Deployment", selector=None, replicas=1, seen=1, desired=1):
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": "kube-system", "generation": 1},
        "spec": {"selector": selector or {"matchLabels": {"app": name}}, "replicas": replicas},
        "status": {"observedGeneration": seen, "desiredNumberScheduled": desired},
    }


def pod(app="coredns", *, name="p", started_s=T0, ready=True, states=None):
    running = {"ready": ready, "state": {"running": {"startedAt": rfc3339(started_s)}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system", "labels": {"app": app}},
        "status": {"containerStatuses": [running] if states is None else states},
    }


def read(*manifests):
    told = [Resource(each["kind"], msgspec.json.encode(each)) for each in manifests]
    return parse_workloads(told, BEGUN)


@pytest.mark.parametrize(
    ("pods", "is_available"),
    [
        ([pod()], True),
        ([pod(), pod(name="q")], True),
        ([], False),
        ([pod("other")], False),
        ([pod(ready=False)], False),
        ([pod(started_s=T0 - 1)], False),
        ([pod(states=[])], False),
        ([pod(states=[{"ready": False, "state": {"waiting": {}}}])], False),
        ([pod(states=[{"ready": True, "state": {"running": {"startedAt": None}}}])], False),
    ],
)
def test_a_workload_is_available_by_pods_of_this_life(pods, is_available):
    (seen,) = read(workload(), *pods)
    assert seen.is_available is is_available
    assert str(seen) == f"{seen.kind} {seen.name}: {seen.ready} of {seen.wanted} ready"


@pytest.mark.parametrize(
    ("given", "wanted", "is_available"),
    [
        (workload(replicas=0), 0, True),
        (workload(replicas=2), 2, False),
        (workload(seen=0), None, False),
        (workload(kind="DaemonSet", desired=1, replicas=9), 1, True),
        (workload(kind="DaemonSet", desired=2), 2, False),
    ],
)
def test_how_many_pods_a_workload_is_to_have(given, wanted, is_available):
    (seen,) = read(given, pod())
    assert (seen.wanted, seen.is_available) == (wanted, is_available)


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "app", "operator": "In", "values": ["coredns", "x"]}, True),
        ({"key": "app", "operator": "In", "values": ["x"]}, False),
        ({"key": "app", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["coredns"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "app", "operator": "Exists"}, True),
        ({"key": "none", "operator": "Exists"}, False),
        ({"key": "app", "operator": "DoesNotExist"}, False),
        ({"key": "none", "operator": "DoesNotExist"}, True),
    ],
)
def test_a_workload_finds_its_pods_by_every_kind_of_selector(expression, matches):
    (seen,) = read(workload(selector={"matchExpressions": [expression]}), pod())
    assert seen.ready == int(matches)


def test_a_selector_of_an_unknown_kind_is_an_error():
    selector = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    with pytest.raises(ClusterError, match="cannot be read"):
        read(workload(selector=selector))


def test_workloads_are_told_in_the_order_of_their_names():
    seen = read(workload("storage"), workload("coredns"), workload("agent", kind="DaemonSet"))
    assert [each.name for each in seen] == ["agent", "coredns", "storage"]


def test_workloads_are_looked_at_in_one_command():
    kube = FakeKube()
    kube.add(workload(), pod(), {**workload("mine"), "metadata": {"name": "m", "namespace": "x"}})
    (seen,) = observe_workloads(Kubectl(kube), BEGUN)
    assert (seen.name, seen.is_available) == ("coredns", True)
    assert len(kube.runs) == 1
