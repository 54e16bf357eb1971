"""What the clean-up does to a whole cluster, on one in memory."""

import pytest

from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.cluster.volumes import SELECTED_NODE
from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.events import Event, Notice, StepStarted
from openshell_bootstrap.gateway.inside.stale_nodes import clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from openshell_bootstrap.gateway.results import CleanedNodes
from tests.fakes import kube_objects as objects
from tests.fakes.kube import FakeKube
from tests.unit.gateway.renamed import (
    IDENTITY,
    OLD,
    OWN,
    clean,
    make_adopted,
    make_cluster,
    pinned_to,
)


def test_a_gateway_with_nothing_to_clean_costs_one_command_and_no_waiting(clock):
    kube = make_cluster(clock)
    seen: list[Event] = []
    assert clean(kube, seen=seen) == CleanedNodes()
    assert (len(kube.runs), clock.slept, seen) == (1, [], [])


def test_volumes_are_rebound_then_the_node_goes_then_its_pods(clock):
    """R03, R21, R25: same uid, same claim, and nothing but node and pods deleted."""
    kube = make_adopted(clock)
    before = {
        name: dict(kube.get("PersistentVolume", name)) for name in kube.names("PersistentVolume")
    }
    assert clean(kube) == CleanedNodes(
        removed_nodes=(OLD,),
        rebound_volumes=("pvc-0", "pvc-1", "pvc-2"),
        removed_pods=("default/web-0", "default/web-1", "default/web-2"),
    )
    assert kube.names("Node") == [OWN]
    assert kube.names("Pod") == []
    assert kube.names("PersistentVolumeClaim") == ["claim-pvc-0", "claim-pvc-1", "claim-pvc-2"]
    for name, old in before.items():
        new = kube.get("PersistentVolume", name)
        assert pinned_to(kube, name) == [OWN]
        assert new["metadata"]["uid"] == old["metadata"]["uid"]
        assert new["metadata"]["annotations"][SELECTED_NODE] == OWN
        assert new["spec"]["claimRef"] == old["spec"]["claimRef"]
        assert new["spec"]["local"] == old["spec"]["local"]
    kube.runs.clear()
    assert clean(kube) == CleanedNodes()
    assert len(kube.runs) == 1


def test_only_another_name_makes_anything_wait(clock):
    kube = make_adopted(clock)
    begun = clock.now
    clean(kube)
    assert clock.now - begun == 25


@pytest.mark.timeout(20)
@pytest.mark.parametrize("volumes", [3, 300])
def test_the_number_of_commands_does_not_grow_with_the_number_of_volumes(clock, volumes):
    kube = make_adopted(clock, volumes)
    assert len(clean(kube).rebound_volumes) == volumes
    assert [argv[:2] for argv in kube.runs] == [
        ("sh", "-c"),  # look
        ("sh", "-c"),  # look again after the wait
        ("sh", "-c"),  # folders
        ("kubectl", "replace"),
        ("sh", "-c"),  # delete
    ]


def test_without_volumes_there_are_three_commands(clock):
    kube = make_adopted(clock, 0)
    assert clean(kube).removed_nodes == (OLD,)
    assert len(kube.runs) == 3


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("number", range(5))
def test_killed_before_any_of_its_commands_the_next_run_completes_it(clock, number, interruption):
    kube = make_adopted(clock)
    kube.add(objects.pod("alone", OLD))
    uids = [kube.get("PersistentVolume", f"pvc-{n}")["metadata"]["uid"] for n in range(3)]

    def interrupt(_kube: FakeKube) -> None:
        raise interruption

    kube.before[number] = interrupt
    with pytest.raises(interruption):
        clean(kube)
    kube.before.clear()
    kept: list[Pod] = []
    assert not clean(kube, kept).postponed
    assert kube.names("Node") == [OWN]
    assert kube.names("Pod") == []
    assert [pod.name for pod in kept] == ["alone"]
    assert len(kube.names("PersistentVolumeClaim")) == 3
    for n in range(3):
        assert pinned_to(kube, f"pvc-{n}") == [OWN]
        assert kube.get("PersistentVolume", f"pvc-{n}")["metadata"]["uid"] == uids[n]


def test_a_node_object_that_somebody_removed_already_leaves_its_volumes_and_pods_to_us(clock):
    kube = make_adopted(clock)
    del kube.objects["Node", "", OLD]
    del kube.objects["Lease", "kube-node-lease", OLD]
    cleaned = clean(kube)
    assert cleaned.rebound_volumes == ("pvc-0", "pvc-1", "pvc-2")
    assert len(cleaned.removed_pods) == 3
    assert clock.slept == []


def test_a_second_live_owner_stops_everything_and_is_named(clock):
    """R06: one volume, two owners."""
    kube = make_adopted(clock)
    kube.alive.add(OLD)
    with pytest.raises(GatewayStateError, match=OLD) as caught:
        clean(kube)
    assert caught.value.remedies
    assert kube.names("Node") == [OLD, OWN]
    assert pinned_to(kube, "pvc-0") == [OLD]


def test_a_kubelet_whose_node_object_was_removed_is_an_owner_too(clock):
    kube = make_adopted(clock)
    del kube.objects["Node", "", OLD]
    kube.alive.add(OLD)
    with pytest.raises(GatewayStateError, match=OLD):
        clean(kube)


def test_an_owner_that_comes_alive_while_the_plan_is_carried_out_stops_it(clock):
    kube = make_adopted(clock)

    def come_alive(kube: FakeKube) -> None:
        kube.touch("Node", OLD)
        kube.alive.add(OLD)

    kube.before[4] = come_alive
    with pytest.raises(GatewayStateError, match=OLD):
        clean(kube)
    assert OLD in kube.names("Node")


@pytest.mark.parametrize("heartbeat_age_s", [None, 11])
def test_nothing_is_done_unless_the_own_node_is_freshly_ready(clock, heartbeat_age_s):
    """What the node object says from its last life is no evidence."""
    kube = make_adopted(clock)
    heartbeat_s = None if heartbeat_age_s is None else clock.now - heartbeat_age_s
    del kube.objects["Node", "", OWN]
    kube.add(objects.node(OWN, heartbeat_s=heartbeat_s))
    assert clean(kube) == CleanedNodes(postponed=f"Node {OWN} is not ready")
    assert kube.names("Node") == [OLD, OWN]


def test_nothing_is_done_when_the_own_node_falls_over_meanwhile(clock):
    kube = make_adopted(clock)

    def fall_over(kube: FakeKube) -> None:
        kube.get("Node", OWN)["status"]["conditions"][1]["status"] = "False"

    kube.before[1] = fall_over
    assert clean(kube) == CleanedNodes(postponed=f"Node {OWN} is not ready any more")
    assert kube.names("Node") == [OLD, OWN]


def test_a_node_named_after_the_containers_own_host_name_is_never_stale(clock):
    """R05: an image that ignores the variable registers under its host name."""
    kube = make_adopted(clock)
    cleaned = clean_stale_nodes(kube, Identity(OWN, OLD), keep_pods=[].extend)
    assert cleaned == CleanedNodes()
    assert pinned_to(kube, "pvc-0") == [OLD]


def test_a_pod_that_nothing_makes_again_is_saved_and_named_before_it_goes(clock):
    kube = make_adopted(clock, 0)
    kube.add(objects.pod("alone", OLD))
    seen: list[Event] = []
    saved: list[tuple[str, bytes, list[str]]] = []

    def keep(pods) -> None:
        saved.extend((pod.name, pod.raw, kube.names("Pod")) for pod in pods)

    cleaned = clean_stale_nodes(kube, IDENTITY, keep_pods=keep, report=seen.append)
    assert cleaned.uncontrolled_pods == cleaned.removed_pods == ("default/alone",)
    ((name, raw, there),) = saved
    assert (name, there) == ("alone", ["alone"])
    assert b'"none:none"' in raw
    assert [e for e in seen if isinstance(e, Notice)] == [
        Notice("Nothing makes these pods again, so they were saved: default/alone")
    ]
    assert StepStarted(f"Cleaning up after {OLD}") in seen


def test_a_pod_that_could_not_be_saved_is_not_deleted(clock):
    kube = make_adopted(clock, 0)
    kube.add(objects.pod("alone", OLD))

    def keep(_pods) -> None:
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        clean_stale_nodes(kube, IDENTITY, keep_pods=keep)
    assert kube.names("Pod") == ["alone"]
    assert kube.names("Node") == [OLD, OWN]
