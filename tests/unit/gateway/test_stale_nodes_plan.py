"""What the plan decides, by tables; and what it never does, for any cluster."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openshell_bootstrap.cluster.nodes import Node, Pod
from openshell_bootstrap.cluster.volumes import Affinity, Claim, Volume
from openshell_bootstrap.gateway.inside.stale_plan import (
    CleanUpPlan,
    ClusterState,
    Identity,
    find_own_node,
    list_alive,
    list_departed,
    list_movable,
    list_suspects,
    plan_clean_up,
)

OWN, HOST, OLD, OTHER = "openshell-t1", "host-of-t1", "old", "other"
IDENTITY = Identity(OWN, HOST)
STORAGE = "/var/lib/rancher/k3s/storage"
STARTED_S = 1_700_000_000


def moment(offset_s: float) -> datetime:
    return datetime.fromtimestamp(STARTED_S + offset_s, UTC)


def node(name: str, *, heartbeat_s: float = 5, ready="True", hostname="", is_terminating=False):
    return Node(
        name=name,
        uid=f"uid-{name}",
        resource_version="1",
        hostname=hostname or name,
        ready=ready,
        heartbeat=moment(heartbeat_s),
        is_terminating=is_terminating,
    )


def volume(*names: str, name="pv", shape="pinned", **fields) -> Volume:
    given = {"kind": "local", "path": f"{STORAGE}/{name}", "reclaim_policy": "Retain", **fields}
    return Volume(name=name, uid=f"uid-{name}", affinity=Affinity(shape, frozenset(names)), **given)


def pod(name: str, node_name: str) -> Pod:
    return Pod(
        namespace="default", name=name, uid=f"uid-{name}", node_name=node_name, has_controller=True
    )


def state(*things, leases=None) -> ClusterState:
    def pick(kind):
        return tuple(thing for thing in things if isinstance(thing, kind))

    return ClusterState(
        started_s=STARTED_S,
        nodes=pick(Node),
        volumes=pick(Volume),
        claims=pick(Claim),
        pods=pick(Pod),
        leases=leases or {},
    )


def plan(seen: ClusterState, folders=None) -> CleanUpPlan:
    departed = list_departed(seen, IDENTITY)
    there = {each.path: each.path for each in list_movable(seen, departed)}
    return plan_clean_up(seen, IDENTITY, departed, there if folders is None else folders)


@pytest.mark.parametrize(
    ("own", "is_found"),
    [
        (node(OWN), True),
        (node(OWN, heartbeat_s=0), True),
        (node(OWN, heartbeat_s=-1), False),
        (node(OWN, ready="False"), False),
        (node(OWN, ready="Unknown"), False),
        (node(OWN, ready=""), False),
        (node(HOST), False),
    ],
)
def test_the_own_node_counts_only_with_what_this_life_said(own, is_found):
    seen = state(node(OTHER), own, node(OLD))
    assert (find_own_node(seen, IDENTITY) is own) is is_found
    assert (plan(seen) == CleanUpPlan()) is not is_found


@pytest.mark.parametrize(
    ("things", "departed"),
    [
        ([node(OWN)], set()),
        ([node(OWN), node(HOST)], set()),
        ([node(OWN), node(OLD)], {OLD}),
        ([node(OWN), node(OLD, is_terminating=True)], {OLD}),
        ([node(OWN), volume(OWN)], set()),
        ([node(OWN), volume(HOST)], set()),
        ([node(OWN), volume(OLD)], {OLD}),
        ([node(OWN), volume(shape="free")], set()),
        ([node(OWN), volume(OLD, shape="unknown")], {OLD}),
        ([node(OWN, hostname="label"), volume("label")], set()),
        ([node(OWN), node(OLD, hostname="label"), volume("label")], {OLD}),
        ([node(OWN), pod("p", OWN)], set()),
        ([node(OWN), pod("p", "")], set()),
        ([node(OWN), pod("p", OLD), pod("q", OTHER)], {OLD, OTHER}),
    ],
)
def test_every_name_that_is_not_the_gateways_own_may_have_departed(things, departed):
    assert list_departed(state(*things), IDENTITY) == departed


@pytest.mark.parametrize(
    ("things", "leases", "suspects"),
    [
        ([node(OLD)], {}, {OLD}),
        ([volume(OLD)], {}, set()),
        ([volume(OLD)], {OLD: moment(0)}, {OLD}),
        ([], {OLD: moment(0), OWN: moment(0)}, set()),
    ],
)
def test_only_names_with_an_object_or_a_lease_are_worth_watching(things, leases, suspects):
    assert list_suspects(state(node(OWN), *things, leases=leases), IDENTITY) == suspects


@pytest.mark.parametrize(
    ("before", "after", "is_alive"),
    [
        ({OLD: moment(0)}, {OLD: moment(0)}, False),
        ({OLD: moment(0)}, {OLD: moment(10)}, True),
        ({}, {OLD: moment(10)}, True),
        ({OLD: moment(0)}, {}, False),
        ({OLD: None}, {OLD: None}, False),
        ({OLD: None}, {OLD: moment(1)}, True),
        ({OLD: moment(0)}, {OLD: None}, False),
    ],
)
def test_alive_is_whose_lease_moved(before, after, is_alive):
    assert list_alive(state(leases=before), state(leases=after)) == ({OLD} if is_alive else set())


CLAIM = Claim(namespace="default", name="c", uid="uid-c")
ENDING = Claim(namespace="default", name="c", uid="uid-c", is_terminating=True)
CLAIMED = {"claim": "default/c", "claim_uid": "uid-c", "reclaim_policy": "Delete"}


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        pytest.param(volume(OLD), "", id="retained"),
        pytest.param(volume(OLD, kind="hostPath"), "", id="host-path"),
        pytest.param(volume(OLD, OTHER), "", id="several-departed-nodes"),
        pytest.param(volume(OLD, reclaim_policy="Delete"), "", id="never-claimed"),
        pytest.param(volume(OLD, is_terminating=True), "is being deleted", id="terminating"),
        pytest.param(volume(OLD, kind="other", path=""), "not a folder", id="csi"),
        pytest.param(volume(OLD, path="/mnt/x"), "not on the gateway's data", id="elsewhere"),
        pytest.param(volume(OLD, path=f"{STORAGE}/../../x"), "not on the", id="dots"),
        pytest.param(volume(OLD, path=f"{STORAGE}/a\nb"), "not on the", id="two-lines"),
        pytest.param(volume(OLD, path="/var/lib/rancher/k3s"), "not on the", id="the-mount"),
        pytest.param(volume(OLD, **CLAIMED), "would erase", id="claim-gone"),
        pytest.param(volume(OLD, shape="unknown"), "not understood", id="unknown"),
    ],
)
def test_a_volume_is_rebound_or_reported(seen, words):
    decided = plan(state(node(OWN), node(OLD), node(OTHER), seen))
    assert decided.rebind == (() if words else (seen,))
    assert len(decided.reported) == bool(words)
    assert all(words in sentence and "pv" in sentence for sentence in decided.reported)


@pytest.mark.parametrize(
    ("claim", "is_rebound"),
    [(CLAIM, True), (ENDING, False), (Claim(namespace="default", name="c", uid="other"), False)],
)
def test_a_volume_whose_claim_is_going_is_not_given_to_a_provisioner_that_would_erase_it(
    claim, is_rebound
):
    """Deleted under a node that is no more: the files must outlive the repair."""
    decided = plan(state(node(OWN), node(OLD), claim, volume(OLD, **CLAIMED)))
    assert bool(decided.rebind) is is_rebound
    assert [each.name for each in decided.nodes] == [OLD]


@pytest.mark.parametrize(
    "seen",
    [
        volume(OWN),
        volume(HOST),
        volume(OWN, OLD),
        volume(HOST, OLD),
        volume(shape="free"),
        volume(OWN, shape="unknown"),
    ],
)
def test_a_volume_that_this_node_can_reach_or_that_names_none_is_none_of_ours(seen):
    decided = plan(state(node(OWN), node(OLD), seen))
    assert decided.rebind == ()
    assert decided.reported == ()


@pytest.mark.parametrize(
    ("where", "is_rebound"),
    [
        (f"{STORAGE}/pv", True),
        (f"{STORAGE}/elsewhere", True),
        (None, False),
        ("/etc", False),
        ("/var/lib/rancher/k3s", False),
    ],
)
def test_a_volume_is_rebound_only_to_a_folder_of_the_data_volume(where, is_rebound):
    decided = plan(state(node(OWN), node(OLD), volume(OLD)), {f"{STORAGE}/pv": where})
    assert bool(decided.rebind) is is_rebound
    assert bool(decided.reported) is not is_rebound
    assert [each.name for each in decided.nodes] == [OLD]


def test_a_node_that_an_unknown_affinity_mentions_stays_with_its_pods():
    decided = plan(
        state(node(OWN), node(OLD), node(OTHER), pod("p", OLD), volume(OLD, shape="unknown"))
    )
    assert [each.name for each in decided.nodes] == [OTHER]
    assert decided.pods == ()


def test_a_volume_of_a_name_that_was_not_watched_is_left_alone():
    seen = state(node(OWN), node(OLD), node(OTHER), volume(OTHER), pod("p", OTHER))
    decided = plan_clean_up(seen, IDENTITY, {OLD}, {f"{STORAGE}/pv": f"{STORAGE}/pv"})
    assert decided == CleanUpPlan(nodes=(node(OLD),))


NAMES = st.sampled_from([OWN, HOST, OLD, OTHER])
PATHS = st.sampled_from([f"{STORAGE}/a", f"{STORAGE}/b", "/mnt/a", f"{STORAGE}/../a", ""])
STATES = st.builds(
    state,
    st.builds(node, st.just(OWN), heartbeat_s=st.integers(-2, 2)),
    *[st.builds(node, st.just(name)) | st.none() for name in (HOST, OLD, OTHER)],
    *[
        st.builds(
            volume,
            NAMES,
            NAMES,
            name=st.just(f"pv-{number}"),
            shape=st.sampled_from(["pinned", "unknown"]),
            kind=st.sampled_from(["local", "hostPath", "other"]),
            path=PATHS,
            reclaim_policy=st.sampled_from(["Retain", "Delete"]),
            claim_uid=st.sampled_from(["uid-c", "uid-d"]),
            claim=st.sampled_from(["", "default/c"]),
            is_terminating=st.booleans(),
        )
        for number in range(3)
    ],
    *[st.builds(pod, st.just(f"p-{number}"), NAMES | st.just("")) for number in range(3)],
    st.just(CLAIM),
)


@pytest.mark.timeout(20)
@settings(deadline=None, max_examples=60)
@given(
    seen=STATES,
    departed=st.sets(NAMES),
    folders=st.dictionaries(PATHS, PATHS | st.none()),
)
def test_whatever_is_there_only_departed_names_are_touched(seen, departed, folders):
    decided = plan_clean_up(seen, IDENTITY, departed, folders)
    touched = departed - IDENTITY.names
    assert {each.name for each in decided.nodes} <= touched
    assert {each.node_name for each in decided.pods} <= touched
    for each in decided.rebind:
        assert each.affinity.shape == "pinned"
        assert each.affinity.names <= touched
        assert not each.is_terminating
        assert (folders[each.path] or "").startswith(f"{STORAGE}/")
        assert each.reclaim_policy == "Retain" or not each.claim or each.claim_uid == CLAIM.uid
    if find_own_node(seen, IDENTITY) is None:
        assert decided == CleanUpPlan()
