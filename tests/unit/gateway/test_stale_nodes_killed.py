"""Wherever the clean-up of whatever cluster is killed, the next run ends where one run would."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openshell_bootstrap.gateway.inside.stale_nodes import clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from tests.fakes import kube_objects as objects
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube, Key

OWN = "openshell-t1"
NAMES = ("old", "older", OWN)

VOLUMES = st.fixed_dictionaries(
    {
        "node_name": st.sampled_from([*NAMES, ""]),
        "kind": st.sampled_from(["local", "hostPath", "csi"]),
        "policy": st.sampled_from(["Retain", "Delete"]),
        "is_claimed": st.booleans(),
        "has_folder": st.booleans(),
    }
)
PODS = st.fixed_dictionaries(
    {
        "node_name": st.sampled_from([*NAMES, ""]),
        "controller": st.sampled_from(["", "StatefulSet"]),
        "finalizers": st.sampled_from([(), ("batch.kubernetes.io/job-tracking",)]),
    }
)
CLUSTERS = st.fixed_dictionaries(
    {
        "nodes": st.sets(st.sampled_from(NAMES[:2])),
        "finalizers": st.sampled_from([(), ("wrangler.cattle.io/node",)]),
        "volumes": st.lists(VOLUMES, max_size=4),
        "pods": st.lists(PODS, max_size=3),
        "has_gate": st.booleans(),
    }
)


@contextmanager
def standing_clock() -> Iterator[FakeClock]:
    clock = FakeClock()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", clock.sleep)
        patched.setattr(time, "monotonic", clock.time)
        yield clock


def make(clock: FakeClock, given_cluster: dict[str, Any]) -> FakeKube:
    kube = FakeKube(clock=clock, started_s=int(clock.now) - 10, has_gate=given_cluster["has_gate"])
    kube.add(objects.node(OWN, heartbeat_s=clock.now))
    for name in sorted(given_cluster["nodes"]):
        kube.add(objects.node(name, finalizers=given_cluster["finalizers"]))
        kube.add(objects.lease(name, clock.now - 40))
    for number, wanted in enumerate(given_cluster["volumes"]):
        volume = dict(wanted)
        name = f"pv-{number}"
        if volume.pop("has_folder"):
            kube.folders[f"{objects.STORAGE}/{name}"] = f"{objects.STORAGE}/{name}"
        if volume.pop("is_claimed"):
            kube.add(objects.claim(name, uid=f"uid-{number}"))
            volume["claim_uid"] = f"uid-{number}"
        kube.add(objects.volume(name, **volume))
    for number, pod in enumerate(given_cluster["pods"]):
        kube.add(objects.pod(f"p-{number}", **pod))
    return kube


def clean(kube: FakeKube) -> None:
    assert not clean_stale_nodes(kube, Identity(OWN, OWN), keep_pods=[].extend).postponed


def kill(_kube: FakeKube) -> None:
    raise KeyboardInterrupt


def told(kube: FakeKube) -> dict[Key, dict[str, Any]]:
    """Everything that is there, without what differs between any two runs."""
    passing = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"}
    return {
        key: {
            **each,
            "metadata": {k: v for k, v in each["metadata"].items() if k not in passing},
            "is_terminating": "deletionTimestamp" in each["metadata"],
        }
        for key, each in kube.objects.items()
    }


@pytest.mark.timeout(30)
@settings(deadline=None, max_examples=60)
@given(cluster=CLUSTERS, number=st.integers(0, 5))
def test_a_killed_run_and_the_next_end_where_one_run_would(cluster, number):
    with standing_clock() as clock:
        once, twice = make(clock, cluster), make(clock, cluster)
        kept = {
            key: each["metadata"]["uid"]
            for key, each in twice.objects.items()
            if key[0].startswith("PersistentVolume")
        }
        clean(once)
        twice.before[number] = kill
        try:
            clean(twice)
        except KeyboardInterrupt:
            twice.before.clear()
            clean(twice)
        assert told(twice) == told(once)
        for key, uid in kept.items():
            assert twice.objects[key]["metadata"]["uid"] == uid
