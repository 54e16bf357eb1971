"""Plans, case by case."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.classify import lost_network
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.starting.plan import (
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
from openshell_bootstrap.models import Attachment, Network, Unknown
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.specs import (
    IMAGE,
    NAMES,
    NETWORK,
    OTHER_SPEC,
    OURS,
    RECORD,
    SPEC,
    UP,
    container_of,
    kinds,
    other,
    plan,
    seen_of,
    standing,
)

COPY = HostRecord(
    name="t1", gateway_endpoint="https://127.0.0.1:1", is_remote=False, gateway_port=1, schema=1
)


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


def test_where_a_container_is_made_again_anyway_all_the_reasons_are_told():
    attachments = (Attachment(network=NAMES.network, network_id="n0"),)
    container = container_of(OTHER_SPEC, attachments=attachments)
    settled = Settled(spec=SPEC, base=OTHER_SPEC, explicit_changes=("k3s args: --x -> none",))
    done = plan(standing(container=container), settled)
    assert done.steps[0].why == "k3s args: --x -> none; its network was made again since"


@pytest.mark.parametrize(
    "seen",
    [
        standing(on_volume=Unknown("no answer")),
        standing(volume=None, on_volume=None),
        standing(on_volume=OnVolume(record=RECORD, cluster_id="d" * 64)),
        seen_of(host_copy=COPY),
    ],
)
def test_nothing_is_planned_where_the_state_of_the_parts_forbids_it(seen):
    """R26, R52."""
    with pytest.raises(GatewayStateError, match="'t1' is left as it is: ") as refused:
        plan(seen)
    assert refused.value.exit_code == 4
    assert refused.value.remedies


def test_data_that_its_user_gave_up_is_no_reason_not_to_start():
    done = plan(seen_of(host_copy=COPY), start_empty=True)
    assert kinds(done) == [MakeNetwork, MakeVolume, CreateNode, StartNode]


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
        ((), {"token": b"t"}, "token: none -> given"),
        ((), {"registries": b"r"}, "registries: none -> given"),
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
    assert done.steps[0].why == "token: none -> given; registries: none -> given"


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
