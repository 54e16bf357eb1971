"""kubectl in a node: the same tests on the cluster in memory and on a real node.

Only here does the real API server say what it does with stale versions, other uids, finalizers
and the affinity of volumes; everything else about the clean-up is tested on the fake.
"""

import time
from collections.abc import Iterator

import docker
import msgspec
import pytest

from openshell_bootstrap import bundle
from openshell_bootstrap.cluster.kubectl import Deletion
from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.cluster.volumes import (
    Affinity,
    Volume,
    build_rebound,
    observe_folders,
    parse_claims,
    parse_volumes,
    rebind_volumes,
)
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import ClusterError, NoSuchResourceError
from openshell_bootstrap.gateway.inside.readiness import find_failure, is_ready, observe_readiness
from openshell_bootstrap.gateway.inside.stale_nodes import KINDS, clean_stale_nodes, parse_state
from openshell_bootstrap.gateway.inside.stale_plan import ClusterState, Identity, find_own_node
from openshell_bootstrap.gateway.node_container import build_container
from openshell_bootstrap.models import GatewaySpec, Patience, PublishedPort
from openshell_bootstrap.names import GatewayNames, node_name
from openshell_bootstrap.waits import wait_until
from tests.contract.cluster import MINUTE, Cluster, Counting
from tests.fakes import kube_objects as objects
from tests.fakes.kube import FakeKube
from tests.plugins.engine import Remains


@pytest.fixture(scope="module")
def real_cluster(
    request: pytest.FixtureRequest,
    engine: Engine,
    docker_client: docker.DockerClient,
    node_image: str,
    run_id: str,
) -> Iterator[Cluster]:
    """One real node for all of these tests, made as the product makes it."""
    names = GatewayNames(f"t{run_id}-kubectl")
    own = node_name(names.gateway)
    spec = GatewaySpec(
        name=names.gateway,
        node_name=own,
        image=node_image,
        api_port=PublishedPort("127.0.0.1", 0, 6443),
    )
    made = build_container(spec, engine.info(), generation=run_id, has_modules=False)
    engine.networks.create(names.network, made.labels)
    container = engine.containers.create(made)
    engine.containers.put_files(container, bundle.files())
    engine.containers.start(container)
    wait_until(
        lambda: observe_readiness(engine, container, own),
        is_ready,
        failed=find_failure,
        patience=Patience(timeout_s=120, interval_s=0.5),
        what="the node",
    )
    node = ContainerNode(engine, container)
    wait_until(
        lambda: node.run(["kubectl", "get", "serviceaccount", "default"]).exit_status,
        lambda status: status == 0,
        patience=MINUTE,
        what="the default service account, without which no pod can be made",
    )
    yield Cluster(node, own)
    if not request.config.getoption("--keep"):
        Remains(docker_client, (names.gateway,)).remove()


@pytest.fixture(params=["fake", "real"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    if request.param == "real":
        real: Cluster = request.getfixturevalue("real_cluster")
        return real
    clock = request.getfixturevalue("clock")
    kube = FakeKube(clock=clock, started_s=int(clock.now) - 10)
    kube.add(objects.node("own", heartbeat_s=clock.now), objects.lease("own", clock.now))
    return Cluster(kube, "own")


def test_one_command_tells_of_everything_that_a_plan_needs(cluster):
    def look() -> ClusterState:
        seen = cluster.kubectl.get_json_since_start(*KINDS)
        assert seen is not None
        return parse_state(seen)

    state = wait_until(
        look, lambda seen: cluster.own in seen.leases, patience=MINUTE, what="the node's lease"
    )
    own = find_own_node(state, Identity(cluster.own, cluster.own))
    assert own is not None
    assert own.hostname == cluster.own
    assert own.is_initialized
    assert state.leases[cluster.own] is not None


def test_a_raw_read(cluster):
    assert cluster.kubectl.get_raw("/readyz") == b"ok"
    with pytest.raises(NoSuchResourceError):
        cluster.kubectl.get_raw("/api/v1/nothing")


def test_a_kind_that_there_is_not_is_an_error(cluster):
    with pytest.raises(ClusterError):
        cluster.kubectl.get_json("nodes", "unheardofs")


def test_nothing_of_a_kind_is_an_empty_list(cluster):
    assert cluster.kubectl.get_json("pods", namespace=cluster.name()) == ()


def test_a_volume_is_rebound_in_place(cluster):
    name, old = cluster.name(), cluster.name()
    cluster.create(objects.volume(name, old, policy="Retain"))
    before = cluster.get_volume(name)
    assert before.affinity == Affinity("pinned", frozenset({old}))
    own = cluster.get_node(cluster.own)
    assert rebind_volumes(cluster.kubectl, [before], own)[name].kind == "done"
    after = cluster.get_volume(name)
    assert after.affinity == Affinity("pinned", frozenset({cluster.own}))
    assert (after.uid, after.path, after.kind) == (before.uid, before.path, before.kind)


def test_every_shape_of_affinity_is_rebound(cluster):
    old = cluster.name()
    shapes = [
        objects.hostname_in(old),
        objects.hostname_in(old, "older"),
        objects.name_field_in(old),
        objects.affinity(*objects.hostname_in(old)["required"]["nodeSelectorTerms"] * 2),
    ]
    names = [cluster.name() for _ in shapes]
    cluster.create(
        *(
            objects.volume(name, policy="Retain", node_affinity=shape, kind=kind)
            for name, shape, kind in zip(
                names, shapes, ["local", "hostPath", "local", "local"], strict=True
            )
        )
    )
    volumes = [cluster.get_volume(name) for name in names]
    outcomes = rebind_volumes(cluster.kubectl, volumes, cluster.get_node(cluster.own))
    assert {name: outcomes[name].kind for name in names} == dict.fromkeys(names, "done")
    for name in names:
        assert cluster.get_volume(name).affinity.names == {cluster.own}


@pytest.mark.parametrize("is_alone", [True, False])
def test_what_cannot_be_replaced_is_told_object_by_object(cluster, is_alone):
    """kubectl words the failure of one object otherwise than that of one of many."""
    own = cluster.get_node(cluster.own)
    objects_by_kind = {}
    for kind in ("done", "conflict", "other-uid", "gone", "refused"):
        name = cluster.name()
        cluster.create(objects.volume(name, "old", policy="Retain"))
        objects_by_kind[kind] = (name, build_rebound(cluster.get_volume(name), own))
    name, text = objects_by_kind["conflict"]
    cluster.kubectl.replace({name: text})
    objects_by_kind["conflict"] = (name, text.replace(b'"1Gi"', b'"2Gi"'))
    name, text = objects_by_kind["other-uid"]
    changed = msgspec.json.decode(text)
    changed["metadata"]["uid"] = "00000000-0000-4000-8000-000000000009"
    objects_by_kind["other-uid"] = (name, msgspec.json.encode(changed))
    name, text = objects_by_kind["gone"]
    gone = cluster.name()
    objects_by_kind["gone"] = (gone, text.replace(name.encode(), gone.encode()))
    name, text = objects_by_kind["refused"]
    objects_by_kind["refused"] = (name, text.replace(b"/storage/", b"/elsewhere/"))
    batches = [[each] for each in objects_by_kind.values()]
    if not is_alone:
        batches = [list(objects_by_kind.values())]
    outcomes = {}
    for batch in batches:
        outcomes |= cluster.kubectl.replace(dict(batch))
    kinds = {kind: outcomes[name].kind for kind, (name, _) in objects_by_kind.items()}
    assert kinds == {
        "done": "done",
        "conflict": "conflict",
        "other-uid": "conflict",
        "gone": "gone",
        "refused": "refused",
    }
    assert all(bool(each.message) is (each.kind != "done") for each in outcomes.values())


def test_a_deletion_takes_only_the_very_object_that_was_looked_at(cluster):
    name = cluster.name()
    cluster.create(objects.node(name))
    node = cluster.get_node(name)
    other = Deletion(url=node.url, uid="00000000-0000-4000-8000-000000000009")
    assert cluster.kubectl.delete([other])[node.url].kind == "conflict"
    stale = Deletion(url=node.url, uid=node.uid, resource_version="1")
    assert cluster.kubectl.delete([stale])[node.url].kind == "conflict"
    assert cluster.find_node(name) is not None
    right = Deletion(url=node.url, uid=node.uid)
    assert cluster.kubectl.delete([right])[node.url].kind == "done"
    cluster.wait_until_gone(name)
    assert cluster.kubectl.delete([right])[node.url].kind == "gone"


def test_after_a_required_deletion_that_failed_nothing_else_is_tried(cluster):
    names = [cluster.name() for _ in range(3)]
    cluster.create(*(objects.node(name) for name in names))
    nodes = [cluster.get_node(name) for name in names]
    wrong = "00000000-0000-4000-8000-000000000009"

    def outcomes(*, is_required: bool) -> list[str]:
        deletions = [
            Deletion(url=nodes[0].url, uid=nodes[0].uid, is_required=is_required),
            Deletion(url=nodes[1].url, uid=wrong, is_required=is_required),
            Deletion(url=nodes[2].url, uid=nodes[2].uid, is_required=is_required),
        ]
        return [each.kind for each in cluster.kubectl.delete(deletions).values()]

    assert outcomes(is_required=True) == ["done", "conflict", "skipped"]
    cluster.wait_until_gone(names[0])
    assert outcomes(is_required=False) == ["gone", "conflict", "done"]
    right = Deletion(url=nodes[1].url, uid=nodes[1].uid, is_required=True)
    assert cluster.kubectl.delete([right])[nodes[1].url].kind == "done"


def test_a_node_with_a_finalizer_only_begins_to_go(cluster):
    """k3s puts a finalizer on its nodes; the answer does not wait for it."""
    name = cluster.name()
    cluster.create(objects.node(name, finalizers=["example.com/hold"]))
    node = cluster.get_node(name)
    assert cluster.kubectl.delete([Deletion(url=node.url, uid=node.uid)])[node.url].kind == "done"
    assert cluster.get_node(name).is_terminating

    def let_go() -> str:
        raw = next(
            each.raw for each in cluster.kubectl.get_json("nodes") if name.encode() in each.raw
        )
        changed = msgspec.json.decode(raw)
        changed["metadata"]["finalizers"].remove("example.com/hold")
        return cluster.kubectl.replace({name: msgspec.json.encode(changed)})[name].kind

    wait_until(let_go, lambda kind: kind == "done", patience=MINUTE, what="an unchanged node")
    cluster.wait_until_gone(name)


def test_a_pod_of_a_dead_node_goes_at_once_without_a_grace(cluster):
    name, dead = cluster.name(), cluster.name()
    cluster.create(objects.node(dead), objects.pod(name, dead))
    pod = cluster.get_pod(name)
    assert (pod.node_name, pod.has_controller) == (dead, False)
    other = Deletion(url=pod.url, uid="00000000-0000-4000-8000-000000000009", grace_s=0)
    assert cluster.kubectl.delete([other])[pod.url].kind == "conflict"
    right = Deletion(url=pod.url, uid=pod.uid, grace_s=0)
    assert cluster.kubectl.delete([right])[pod.url].kind == "done"
    assert cluster.find_pod(name) is None
    node = cluster.get_node(dead)
    cluster.kubectl.delete([Deletion(url=node.url, uid=node.uid)])


def test_folders_are_told_where_they_really_are(cluster):
    name = cluster.name()
    there, link = f"{objects.STORAGE}/{name} ä", f"{objects.STORAGE}/{name}-link"
    cluster.make_folders(there, "/etc")
    assert cluster.node.run(["ln", "-s", "/etc", link]).exit_status == 0
    missing = f"{objects.STORAGE}/{name}-missing"
    assert observe_folders(cluster.node, [there, missing, link]) == {
        there: there,
        missing: None,
        link: "/etc",
    }


def leave_behind(cluster, node, volumes, claimed):
    """A node that is no more, and its volumes with their folders."""
    cluster.create(
        objects.node(node),
        objects.lease(node, 1_700_000_000),
        *(
            objects.volume(name, node, policy="Retain", claim_uid="" if name in claimed else None)
            for name in volumes
        ),
        *(objects.claim(name) for name in claimed),
    )
    cluster.make_folders(*(f"{objects.STORAGE}/{name}" for name in volumes))


def test_an_old_node_with_300_volumes_is_cleaned_up(cluster, record_property):
    """R03, R21, R25: same uids, claims bound throughout, and the commands do not grow in number."""
    old, stem = cluster.name(), cluster.name()
    names = [f"{stem}-{number}" for number in range(300)]
    claimed = names[:3]
    leave_behind(cluster, old, names, claimed)
    cluster.create(objects.pod(f"{stem}-alone", old))

    def look() -> list[Volume]:
        return [v for v in parse_volumes(cluster.kubectl.get_json("pv")) if v.name in names]

    before = wait_until(
        look,
        lambda seen: sum(bool(volume.claim_uid) for volume in seen) == len(claimed),
        patience=MINUTE,
        what="the claims to be bound",
    )
    node = Counting(cluster.node)
    kept: list[Pod] = []
    begun = time.monotonic()
    cleaned = clean_stale_nodes(node, Identity(cluster.own, cluster.own), keep_pods=kept.extend)
    record_property("seconds", time.monotonic() - begun)
    assert cleaned.postponed == ""
    assert old in cleaned.removed_nodes
    assert set(names) <= set(cleaned.rebound_volumes)
    assert f"default/{stem}-alone" in cleaned.uncontrolled_pods
    assert f"{stem}-alone" in [pod.name for pod in kept]
    cluster.wait_until_gone(old)
    after = look()
    assert {v.name: (v.uid, v.path, v.claim_uid) for v in after} == {
        v.name: (v.uid, v.path, v.claim_uid) for v in before
    }
    assert {v.affinity for v in after} == {Affinity("pinned", frozenset({cluster.own}))}
    bound = [c for c in parse_claims(cluster.kubectl.get_json("pvc")) if c.volume in claimed]
    assert len(bound) == len(claimed)
    assert len(node.runs) % 4 == 1  # one look, then rounds of look, folders, replace, delete
