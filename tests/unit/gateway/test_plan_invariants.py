"""What may never be planned, over every combination of what is there and what is asked."""

from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.classify import classify, lost_network
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.starting.plan import (
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
)
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.gateway.state import find_mend
from openshell_bootstrap.models import Attachment, ContainerStatus, Network
from tests.unit.gateway.specs import (
    NAMES,
    OTHER_SPEC,
    OURS,
    RECORD,
    SPEC,
    UP,
    VOLUME,
    container_of,
    plan,
    seen_of,
)

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
    mend = find_mend(classify(seen))
    try:
        done = plan(seen, settled, image_present=image_present, **asked)
    except GatewayStateError:
        if mend == "refuse":
            return
        assert seen.container is not None
        assert seen.container.status in {"running", "paused"}
        assert not asked["recreate"]
        assert settled.explicit_changes or asked["token"] or asked["registries"]
        return
    actions = [step.action for step in done.steps]
    check_follows_the_state(mend, actions)
    check_data_stays(actions)
    check_identities(actions, seen)
    check_order(actions)
    check_running_is_spared(actions, seen, asked)
    check_twins(actions, seen)
    assert all(step.why for step in done.steps)
    assert all(step.describe(settled, seen).what for step in done.steps)


NODE_STEPS = (StopNode, Unpause, SetAside, RemoveNode, CreateNode, StartNode)
MENDS = {
    "create": [[CreateNode, StartNode]],
    "replace": [[RemoveNode, CreateNode, StartNode]],
    "adopt": [
        [SetAside, CreateNode, StartNode],
        [StopNode, SetAside, CreateNode, StartNode],
    ],
    "start": [[StartNode], [StopNode, StartNode]],
    "nothing": [[]],
    "unpause": [[Unpause]],
    "recreate": [],
}
RECREATE = [
    [RemoveNode, CreateNode, StartNode],
    [StopNode, RemoveNode, CreateNode, StartNode],
]


def check_follows_the_state(mend, actions):
    """The steps on the container are those that the table of states names, or a recreate."""
    found = [type(action) for action in actions if isinstance(action, NODE_STEPS)]
    may_recreate = mend in {"start", "nothing", "unpause", "recreate"}
    assert found in [*MENDS[mend], *(RECREATE if may_recreate else [])]


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
