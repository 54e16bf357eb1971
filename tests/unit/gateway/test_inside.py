"""One look into a node: what is asked, and when it is left."""

import pytest

from openshell_bootstrap.cluster.pod_dns import POD_DNS_SCRIPT
from openshell_bootstrap.cluster.usage import USAGE_SCRIPT
from openshell_bootstrap.errors import ClusterUnreachableError
from openshell_bootstrap.gateway.inside.look import look_inside
from openshell_bootstrap.gateway.inside.readiness import find_hindrance
from openshell_bootstrap.gateway.status import status
from tests.fakes import kube_objects as objects
from tests.unit.gateway import status_scenes as scenes
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import record_of
from tests.unit.gateway.status_scenes import NODE


def look(world, *, usage=False):
    world.kube.runs.clear()
    container = world.engine.seen(NAME)
    spec = record_of(world).spec
    return look_inside(world.engine, container, spec, is_retired=False, usage=usage)


def uninitialized(world):
    world.start()
    taints = objects.node(NODE, uninitialized=True)["spec"]["taints"]
    world.kube.get("Node", NODE)["spec"]["taints"] = taints


@pytest.mark.parametrize(
    ("scene", "part"),
    [
        (scenes.well, "fresh"),
        (scenes.stale, "stale"),
        (scenes.not_ready, "not-ready"),
        (uninitialized, "not-ready"),
        (scenes.unregistered, "none"),
        (scenes.foreign, "foreign"),
        (scenes.api_away, "unknown"),
        (scenes.k3s_not_started, "unknown"),
        (scenes.refuses, "refused"),
    ],
)
def test_the_node_has_a_state(world, scene, part):
    """R16: only a node that said Ready in this life is fresh."""
    scene(world)
    if scene is scenes.refuses:
        container = world.engine.seen(NAME)
        seen = look_inside(world.engine, container, None, is_retired=False, usage=False)
    else:
        seen = look(world)
    assert seen.part == part
    assert bool(find_hindrance(seen.readiness)) is (part not in {"fresh", "foreign"})


def asked(world, script):
    return any(run[:3] == ("sh", "-c", script) for run in world.kube.runs)


@pytest.mark.parametrize(
    ("scene", "is_asked"),
    [
        (scenes.well, True),
        (scenes.foreign, True),
        (scenes.stale, False),
        (scenes.not_ready, False),
        (scenes.pod_gone, False),
        (scenes.api_away, False),
    ],
)
def test_names_are_asked_for_where_something_is_there_to_answer(world, scene, is_asked):
    """R98: what starts is not called broken, and nothing waits for it."""
    scene(world)
    seen = look(world)
    assert asked(world, POD_DNS_SCRIPT) is is_asked
    assert (seen.dns is not None) is is_asked


def test_claims_wait_for_no_node_while_the_gateways_own_is_not_ready(world):
    """R22: its name may be the one that is missing."""
    scenes.stranded(world)
    assert look(world).storage.stranded == {"default/claim-pvc-2": "old"}
    ready = world.kube.get("Node", NODE)["status"]["conditions"][1]
    ready.update(status="False", message="no CNI plugin")
    assert look(world).storage.stranded == {}


def test_of_many_claims_that_wait_one_is_named_and_the_others_are_counted(world):
    scenes.stranded(world)
    scenes.add_claim(world, "pvc-3", node="older")
    told = status("t1", engine=world.engine, store=world.store)
    assert told.cause.endswith("claim-pvc-2 waits for a volume on node old, which is not in the "
                               "cluster, and 1 more")  # fmt: skip
    assert [claim.node for claim in told.claims] == ["old", "older"]


@pytest.mark.parametrize(
    ("kind", "step"), [("DiskPressure", "`docker system df`"), ("MemoryPressure", "fewer pods")]
)
def test_what_a_node_runs_short_of_is_told_with_what_to_do(world, kind, step):
    """R102."""
    world.start()
    shortage = {"type": kind, "status": "True"}
    world.kube.get("Node", NODE)["status"]["conditions"].append(shortage)
    told = status("t1", engine=world.engine, store=world.store)
    assert told.cause.startswith(f"node {NODE} runs short ({kind})")
    assert step in told.next_step


def test_folders_are_measured_only_where_that_was_asked_for(world):
    """R29."""
    scenes.stranded(world)
    world.kube.used_kib = {f"{objects.STORAGE}/pvc-1": 3 << 20}
    assert look(world).storage.used is None
    assert not asked(world, USAGE_SCRIPT)
    used = look(world, usage=True).storage.used
    assert used == {f"{objects.STORAGE}/pvc-1": 3 << 30, f"{objects.STORAGE}/pvc-2": None}


def test_without_claims_nothing_is_measured(world):
    world.start()
    assert look(world, usage=True).storage.used == {}
    assert not asked(world, USAGE_SCRIPT)


def test_what_cannot_be_measured_leaves_the_rest_as_it_is(world):
    scenes.stranded(world)

    def leave(_kube):
        raise ClusterUnreachableError("no answer")

    world.kube.before[len(world.kube.runs) + 1] = leave
    told = status("t1", engine=world.engine, store=world.store, usage=True)
    assert (told.word, told.node.ready) == ("degraded", True)
    (claim,) = told.claims
    assert claim.used_bytes is None


def test_a_claim_that_holds_more_than_it_asked_for_makes_nothing_degraded(world):
    """R29: the word does not hang on a flag."""
    scenes.stranded(world)
    del world.kube.objects["PersistentVolumeClaim", "default", "claim-pvc-2"]
    world.kube.used_kib = {f"{objects.STORAGE}/pvc-1": 3 << 20}
    told = status("t1", engine=world.engine, store=world.store, usage=True)
    assert told.word == "ready"
    (claim,) = told.claims
    assert claim.problem == "it holds 3 GiB and asked for 1 GiB"
    assert claim.folder == f"/var/lib/docker/volumes/{NAME}/_data/storage/pvc-1"
