"""What is kept of a cluster's objects when something failed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.cluster.evidence import (
    MAX_EVENTS,
    build_evidence,
    describe_unwell,
    is_well,
)
from openshell_bootstrap.cluster.objects import Resource


def evidence_of(*objects):
    return build_evidence([Resource(each["kind"], msgspec.json.encode(each)) for each in objects])


def pod(name="p", *, phase="Running", states=({"ready": True},), spec=None, **metadata):
    return {
        "kind": "Pod",
        "metadata": {"namespace": "ns", "name": name, "uid": "u-1", **metadata},
        "spec": spec or {},
        "status": {"phase": phase, "containerStatuses": [*states]},
    }


def event(reason, at, **changes):
    return {
        "kind": "Event",
        "metadata": {"name": f"e-{reason}"},
        "type": "Warning",
        "reason": reason,
        "message": f"about {reason}",
        "lastTimestamp": at,
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p"},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "well"),
    [
        ({}, True),
        ({"phase": "Succeeded", "states": ({"ready": False},)}, True),
        ({"phase": "Pending", "states": ()}, False),
        ({"phase": "Failed"}, False),
        ({"states": ({"ready": True}, {"ready": False})}, False),
        ({"states": ()}, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, False),
    ],
)
def test_a_pod_is_well_if_it_runs_whole_or_ended_well(changes, well):
    assert is_well(pod(**changes)) is well
    assert bool(evidence_of(pod(**changes)).unwell) is not well


def test_of_an_unwell_pod_nothing_that_its_user_set_is_kept():
    """A command, a variable, an annotation of kubectl's: any may hold a secret."""
    spec = {
        "nodeName": "n1",
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "env": [{"name": "X", "value": "s3cret"}],
                "command": ["sh", "-c", "login s3cret"],
                "args": ["s3cret"],
            }
        ],
        "initContainers": [{"name": "i", "image": "i:2", "args": ["s3cret"]}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data-0"}}, {"name": "w"}],
    }
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "s3cret", "kept": "1"}
    ill = pod(
        phase="Pending", states=(), spec=spec, annotations=annotations, managedFields=["s3cret"]
    )
    seen = evidence_of(ill)
    assert b"s3cret" not in msgspec.json.encode(seen)
    assert seen.unwell[0]["spec"] == {
        "nodeName": "n1",
        "containers": [{"name": "i", "image": "i:2"}, {"name": "c", "image": "i:1"}],
        "claims": ["data-0"],
    }
    assert seen.unwell[0]["metadata"]["annotations"] == {"kept": "1"}
    assert seen.log_folders == ("ns_p_u-1",)
    assert seen.pods == ("ns/p: Pending, 0 ready, 0 restarts, n1",)


def test_events_come_oldest_first_and_the_latest_are_kept():
    old = [event(f"r{number}", f"2026-01-01T00:00:{number % 60:02}Z") for number in range(60)] * 6
    new = event("new", None, eventTime="2026-01-02T00:00:00Z", series=None)
    seen = evidence_of(new, *old)
    assert len(seen.events) == MAX_EVENTS
    assert seen.events[-1]["reason"] == "new"
    assert [each["at"] for each in seen.events] == sorted(each["at"] for each in seen.events)


def test_what_keeps_pods_from_running_is_told_in_lines():
    waiting = {
        "name": "c",
        "ready": False,
        "restartCount": 2,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
        "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
    }
    evicted = pod("e", phase="Failed", states=())
    evicted["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory"}
    fine = event("Pulled", "2026-01-01T00:00:00Z", type="Normal")
    bad = event("FailedScheduling", "2026-01-01T00:00:01Z")
    assert describe_unwell(evidence_of(pod(states=(waiting,)), evicted, fine, bad, bad)) == (
        "ns/p: c: CrashLoopBackOff: back-off 10s",
        "ns/p: c: OOMKilled",
        "ns/e: Evicted: The node was low on resource: memory",
        "Pod/ns/p: FailedScheduling: about FailedScheduling",
    )


def test_nodes_and_volumes_are_kept_whole_but_for_their_managed_fields():
    node = {"kind": "Node", "metadata": {"name": "n", "managedFields": [1]}, "spec": {"x": 1}}
    (kept,) = evidence_of(node).objects
    assert kept == {"kind": "Node", "metadata": {"name": "n", "annotations": {}}, "spec": {"x": 1}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=4), each, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["Pod", "Event", "Node"]), st.dictionaries(st.text(max_size=6), JSON))
def test_an_object_with_parts_that_nobody_knows_is_taken(kind, rest):
    rest = {key: value for key, value in rest.items() if key not in {"kind", "metadata"}}
    rest = {key: value for key, value in rest.items() if key not in {"status", "spec", "series"}}
    seen = evidence_of({**rest, "kind": kind, "metadata": {"name": "x"}})
    assert len(seen.objects) + len(seen.events) + len(seen.pods) == 1
