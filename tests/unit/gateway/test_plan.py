"""Plans: what may never be planned, over every combination, and what must be, case by case."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.plan import (
    Action,
    CreateNode,
    MakeNetwork,
    MakeVolume,
    Pull,
    RemoveNode,
    RemoveTwinNetwork,
    SetAside,
    StartNode,
    StopNode,
    Unpause,
    describe_drift,
    lost_network,
    plan_start,
)
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.settle import Settled
from openshell_bootstrap.models import Attachment, ContainerStatus, Network
from tests.unit.gateway.specs import (
    IMAGE,
    NAMES,
    NETWORK,
    RECORD,
    SPEC,
    VOLUME,
    container_of,
    other,
    seen_of,
    standing,
)

OURS = {"openshell.ai/gateway": "t1"}
OTHER_SPEC = replace(SPEC, k3s_args=("--x",))
UP = {"running", "paused", "restarting"}


def plan(seen, settled=None, *, image_present=True, **asked):
    settled = settled or Settled(spec=SPEC, base=SPEC)
    request = StartRequest(name="t1", **asked)
    return plan_start(request, settled, seen, image_present=image_present)


def kinds(plan):
    return [type(step.action) for step in plan.steps]


# --- over every combination ------------------------------------------------------------------

NETWORKS = [
    Network(id=number, name=NAMES.network, labels=labels, containers=attached)
    for number in ("n1", "n2", "n3")
    for labels in (OURS, {}, {"openshell.ai/gateway": "t1x"})
    for attached in ((), ("c" * 64,), ("f" * 64,))
]
ATTACHED = [(), *((Attachment(network=NAMES.network, network_id=one),) for one in ("", "n1", "x"))]
CONTAINERS = [
    replace(made, status=status, started_at=started_at, attachments=attached)
    for made in (container_of(), container_of(OTHER_SPEC), container_of(labels={}))
    for status in get_args(ContainerStatus)
    for started_at in ("", "2026-01-01T00:00:00Z")
    for attached in ATTACHED
]
KNOWN = [OnVolume(), OnVolume(record=RECORD, token=b"t"), OnVolume(registries=b"r")]

worlds = st.builds(
    lambda container, volume, networks, known: seen_of(
        container=container,
        volume=volume,
        networks=tuple(networks),
        on_volume=known if volume else None,
    ),
    container=st.sampled_from([None, *CONTAINERS]),
    volume=st.sampled_from([None, VOLUME]),
    networks=st.lists(st.sampled_from(NETWORKS), max_size=3, unique_by=lambda network: network.id),
    known=st.sampled_from(KNOWN),
)
requests = st.fixed_dictionaries(
    {
        "recreate": st.booleans(),
        "token": st.sampled_from([None, b"t"]),
        "registries": st.sampled_from([None, b"r", b"other"]),
    }
)
settleds = st.sampled_from(
    [
        Settled(spec=SPEC, base=SPEC, explicit_changes=changes)
        for changes in ((), ("image: a -> b",))
    ]
)


@given(worlds, settleds, requests, st.booleans())
def test_what_may_never_be_planned(seen, settled, asked, image_present):
    try:
        done = plan(seen, settled, image_present=image_present, **asked)
    except GatewayStateError:
        assert seen.container is not None
        assert seen.container.status in {"running", "paused"}
        assert not asked["recreate"]
        assert settled.explicit_changes or asked["token"] or asked["registries"]
        return
    actions = [step.action for step in done.steps]
    check_data_stays(actions)
    check_identities(actions, seen)
    check_order(actions)
    check_running_is_spared(actions, seen, asked)
    check_twins(actions, seen)
    assert all(step.why for step in done.steps)
    assert all(step.describe(settled, seen).what for step in done.steps)


def check_data_stays(actions):
    """No step can remove a volume: there is no such action, and none carries a volume's name."""
    assert not any("Volume" in kind.__name__ for kind in get_args(Action) if kind is not MakeVolume)
    assert all(isinstance(action, get_args(Action)) for action in actions)


def check_identities(actions, seen):
    """What is removed, stopped or renamed is the very container that was looked at."""
    for action in actions:
        if isinstance(action, StopNode | RemoveNode | SetAside | Unpause):
            assert action.container is seen.container


def check_order(actions):
    found = [type(action) for action in actions]
    assert len(found) == len(set(found)) or found.count(RemoveTwinNetwork) > 1
    ranks = [Pull, MakeNetwork, RemoveTwinNetwork, MakeVolume, StopNode, Unpause]
    ranks += [SetAside, RemoveNode, CreateNode, StartNode]
    assert [ranks.index(kind) for kind in found] == sorted(ranks.index(kind) for kind in found)
    if CreateNode in found:
        assert found[-2:] == [CreateNode, StartNode]


def check_running_is_spared(actions, seen, asked):
    """Never stopped without being asked, but for adoption and a network that is lost."""
    container = seen.container
    old_goes = any(isinstance(action, RemoveNode | SetAside) for action in actions)
    makes = any(isinstance(action, CreateNode) for action in actions)
    stops = any(isinstance(action, StopNode) for action in actions)
    assert makes is (container is None or old_goes)
    if container is None:
        assert not stops
        return
    if container.status in {"running", "paused"} and (stops or old_goes):
        assert asked["recreate"] or seen.is_retired or lost_network(seen.networks, container)
    if old_goes:
        assert stops is container.is_up
    if not container.has_started and container.status not in UP:
        assert isinstance(actions[-3], RemoveNode)
        assert makes
    if seen.is_retired and container.has_started:
        assert not any(isinstance(action, RemoveNode) for action in actions)
        assert any(isinstance(action, SetAside) for action in actions)


def check_twins(actions, seen):
    """Only unused ones of ours go, and one network of the name is left."""
    going = {action.network_id for action in actions if isinstance(action, RemoveTwinNetwork)}
    for network in seen.networks:
        if network.id in going:
            assert network.containers == ()
            assert network.labels == OURS
    if any(isinstance(action, CreateNode) for action in actions):
        makes = any(isinstance(action, MakeNetwork) for action in actions)
        assert makes is (not seen.networks)
        assert makes or len(seen.networks) > len(going)


# --- case by case ----------------------------------------------------------------------------


def test_a_fresh_gateway_is_made_from_nothing():
    done = plan(seen_of(), Settled(spec=SPEC, base=None), image_present=False)
    assert kinds(done) == [Pull, MakeNetwork, MakeVolume, CreateNode, StartNode]
    assert done.recreates


def test_a_healthy_gateway_needs_nothing():
    """R89."""
    done = plan(standing(), image_present=False)
    assert (done.steps, done.notices, done.recreates) == ((), (), False)


@pytest.mark.parametrize(
    ("status", "steps"),
    [
        ("exited", [StartNode]),
        ("restarting", [StopNode, StartNode]),
        ("paused", [Unpause]),
        ("dead", [RemoveNode, CreateNode, StartNode]),
        ("removing", [RemoveNode, CreateNode, StartNode]),
    ],
)
def test_a_gateway_that_does_not_run_is_started_as_it_is(status, steps):
    assert kinds(plan(standing(container=container_of(status=status)))) == steps


@pytest.mark.parametrize("labels", [container_of().labels, {}], ids=["ours", "retired"])
def test_a_container_that_never_started_is_always_replaced(labels):
    """R66."""
    container = container_of(status="created", started_at="", labels=labels)
    assert kinds(plan(standing(container=container))) == [RemoveNode, CreateNode, StartNode]


def test_a_pruned_container_is_made_again_on_its_volume():
    """R51."""
    assert kinds(plan(standing(container=None))) == [CreateNode, StartNode]
    pruned = standing(container=None, networks=())
    assert kinds(plan(pruned)) == [MakeNetwork, CreateNode, StartNode]


@pytest.mark.parametrize("status", ["running", "exited"])
@pytest.mark.parametrize(
    ("networks", "attached"), [((), "n1"), ((NETWORK,), "n0"), ((NETWORK,), "")]
)
def test_a_container_whose_network_is_lost_is_made_again(status, networks, attached):
    """R44."""
    attachments = (Attachment(network=NAMES.network, network_id=attached),)
    container = container_of(status=status, attachments=attachments)
    done = plan(standing(container=container, networks=networks))
    stops = [StopNode] if status == "running" else []
    makes = [] if networks else [MakeNetwork]
    assert kinds(done) == [*makes, *stops, RemoveNode, CreateNode, StartNode]


@pytest.mark.parametrize("status", ["running", "exited", "paused", "restarting"])
def test_a_retired_gateway_is_adopted_and_its_container_kept_until_then(status):
    container = container_of(status=status, labels={})
    done = plan(standing(container=container, on_volume=OnVolume()))
    stops = [StopNode] if status in UP else []
    assert kinds(done) == [*stops, SetAside, CreateNode, StartNode]


@pytest.mark.parametrize("status", ["exited", "restarting"])
def test_drift_is_applied_to_a_gateway_that_does_not_run(status):
    """R41."""
    container = container_of(OTHER_SPEC, status=status)
    done = plan(standing(container=container), Settled(spec=SPEC, base=OTHER_SPEC))
    stops = [StopNode] if status in UP else []
    assert kinds(done) == [*stops, RemoveNode, CreateNode, StartNode]
    assert done.steps[0].why == "k3s args: --x -> none"


@pytest.mark.parametrize(("status", "steps"), [("running", []), ("paused", [Unpause])])
def test_drift_is_only_told_of_a_gateway_that_runs(status, steps):
    container = container_of(OTHER_SPEC, status=status)
    done = plan(standing(container=container), Settled(spec=SPEC, base=OTHER_SPEC))
    assert kinds(done) == steps
    assert done.notices[0] == "Not applied while the gateway runs: k3s args: --x -> none."
    assert "--recreate" in done.notices[1]


def test_recreate_applies_drift_to_a_gateway_that_runs():
    container = container_of(OTHER_SPEC)
    done = plan(standing(container=container), Settled(spec=SPEC, base=OTHER_SPEC), recreate=True)
    assert kinds(done) == [StopNode, RemoveNode, CreateNode, StartNode]
    assert done.notices == ()


@pytest.mark.parametrize("status", ["running", "exited"])
def test_recreate_without_drift_is_done_because_it_was_asked_for(status):
    done = plan(standing(container=container_of(status=status)), recreate=True)
    assert {step.why for step in done.steps[:-2]} == {"it was asked for"}
    assert kinds(done)[-3:] == [RemoveNode, CreateNode, StartNode]


@pytest.mark.parametrize("status", ["running", "paused"])
@pytest.mark.parametrize(
    ("changes", "asked", "told"),
    [
        (("image: a -> b",), {}, "image: a -> b"),
        ((), {"token": b"t"}, "token: given"),
        ((), {"registries": b"r"}, "registries: given"),
    ],
)
def test_a_flag_that_differs_is_refused_while_the_gateway_runs(status, changes, asked, told):
    seen = standing(container=container_of(status=status), on_volume=OnVolume(record=RECORD))
    settled = Settled(spec=SPEC, base=SPEC, explicit_changes=changes)
    with pytest.raises(GatewayStateError, match="runs with other settings") as refused:
        plan(seen, settled, **asked)
    assert refused.value.exit_code == 4
    assert refused.value.details == told
    assert "--recreate" in refused.value.remedies[0]
    assert RemoveNode in kinds(plan(seen, settled, recreate=True, **asked))


@pytest.mark.parametrize("status", ["running", "exited"])
def test_files_that_the_gateway_has_already_change_nothing(status):
    """R89: start with the same files again is no other start."""
    known = OnVolume(record=RECORD, token=b"secret", registries=b"r")
    seen = standing(container=container_of(status=status), on_volume=known)
    done = plan(seen, token=b"secret", registries=b"r")
    assert kinds(done) == ([] if status == "running" else [StartNode])


def test_given_files_recreate_a_gateway_that_does_not_run():
    seen = standing(container=container_of(status="exited"), on_volume=OnVolume(record=RECORD))
    done = plan(seen, token=b"t", registries=b"")
    assert kinds(done) == [RemoveNode, CreateNode, StartNode]
    assert done.steps[0].why == "token: given; registries: given"


def test_an_image_is_pulled_only_where_a_container_is_made_of_it():
    assert kinds(plan(standing(container=None), image_present=False))[0] is Pull
    exited = standing(container=container_of(status="exited"))
    assert kinds(plan(exited, image_present=False)) == [StartNode]


def net(network_id, labels=OURS, containers=()):
    return Network(id=network_id, name=NAMES.network, labels=labels, containers=containers)


@pytest.mark.parametrize(
    ("networks", "going"),
    [
        ((net("n1"), net("n2")), {"n2"}),
        ((net("n1"), net("n2", containers=("x",))), {"n1"}),
        ((net("n1"), net("n2", labels={})), {"n1"}),
        ((net("n1", labels={}), net("n2", labels={})), set()),
        ((net("n1", containers=("x",)), net("n2", containers=("y",))), set()),
        ((net("n1"), net("n2"), net("n3")), {"n2", "n3"}),
        ((net("n1"), net("n2", labels={"openshell.ai/gateway": "t1x"})), {"n1"}),
    ],
)
def test_of_twin_networks_the_one_that_is_needed_stays(networks, going):
    """R45."""
    done = plan(standing(container=None, networks=networks))
    found = {
        step.action.network_id for step in done.steps if isinstance(step.action, RemoveTwinNetwork)
    }
    assert found == going


def test_networks_are_left_alone_while_no_container_is_made():
    seen = standing(networks=(NETWORK, net("n2")))
    assert plan(seen).steps == ()
    assert kinds(plan(replace(seen, container=container_of(status="exited")))) == [StartNode]


@pytest.mark.parametrize(
    ("networks", "attached", "lost"),
    [
        ((NETWORK,), ("n1",), ""),
        ((net("n0"), NETWORK), ("n1",), ""),
        ((NETWORK,), ("elsewhere", "n1"), ""),
        ((), ("n1",), "its network is gone"),
        ((NETWORK,), (), "it is on no network"),
        ((NETWORK,), ("",), "it is on no network"),
        ((NETWORK,), ("n0",), "its network was made again since"),
    ],
)
def test_a_network_is_known_by_its_id_and_not_its_name(networks, attached, lost):
    attachments = tuple(Attachment(network=NAMES.network, network_id=one) for one in attached)
    assert lost_network(networks, container_of(attachments=attachments)) == lost


def test_drift_is_told_line_by_line():
    settled = Settled(spec=OTHER_SPEC, base=SPEC)
    assert describe_drift(settled, container_of()) == ("k3s args: none -> --x",)
    assert describe_drift(settled, container_of(OTHER_SPEC)) == ()
    labels = {**container_of().labels, "openshell.ai/bundle-digest": "old"}
    (line,) = describe_drift(Settled(spec=SPEC, base=SPEC), container_of(labels=labels))
    assert "files that this release puts into a node" in line


def test_drift_that_nobody_recorded_is_told_all_the_same():
    settled = Settled(spec=SPEC, base=SPEC)
    (line,) = describe_drift(settled, container_of(OTHER_SPEC))
    assert line == "it was made with other settings"


def test_a_plan_says_what_is_done_to_what_and_that_the_volume_stays():
    settled = Settled(spec=SPEC, base=SPEC)
    retired = standing(container=container_of(labels={}), networks=())
    seen = standing(container=container_of(status="dead"), networks=(NETWORK, net("n2")))
    told = [
        *(
            step.describe(settled, seen_of()).what
            for step in plan(seen_of(), image_present=False).steps
        ),
        *(step.describe(settled, retired).what for step in plan(retired).steps),
        *(step.describe(settled, seen).what for step in plan(seen).steps),
        plan(standing(container=container_of(status="paused")))
        .steps[0]
        .describe(settled, seen)
        .what,
    ]
    assert list(dict.fromkeys(told)) == [
        f"pull the image {IMAGE}",
        "make the network openshell-cluster-t1",
        "make the volume openshell-cluster-t1",
        f"make the container openshell-cluster-t1 of {IMAGE}",
        "start the container openshell-cluster-t1",
        "stop the container openshell-cluster-t1",
        "set the container openshell-cluster-t1 aside",
        "remove the unused network n2",
        "remove the container openshell-cluster-t1; the volume stays",
        "unpause the container openshell-cluster-t1",
    ]


def test_a_plan_carries_the_notices_of_the_settings():
    settled = Settled(spec=SPEC, base=SPEC, notices=("adopted",))
    assert plan(standing(), settled).notices == ("adopted",)


def test_other_containers_change_no_plan():
    assert plan(standing(others=(other("openshell-cluster-t1x"),))).steps == ()
