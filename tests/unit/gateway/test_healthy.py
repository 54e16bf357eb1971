"""A start of a gateway that is well already."""

import pytest

from openshell_bootstrap.events import StepStarted
from openshell_bootstrap.gateway.results import CleanedNodes
from tests.fakes import kube_objects as objects


@pytest.fixture
def well(world):
    """A gateway that was brought up, with nothing noted of that."""
    world.start()
    world.engine.calls.clear()
    world.events.clear()
    world.kube.runs.clear()
    return world


def steps(world):
    return [event.title for event in world.events if isinstance(event, StepStarted)]


def test_it_costs_one_command_and_waits_for_nothing(well):
    slept = list(well.clock.slept)
    done = well.start()
    assert (done.actions, done.cleaned, steps(well)) == ((), CleanedNodes(), [])
    assert len(well.kube.runs) == 1
    assert well.clock.slept == slept
    assert well.changes() == []


def test_its_files_are_read_once_and_its_token_not_at_all(well):
    well.start()
    reads = [call for call in well.engine.calls if "get_file" in call[0]]
    assert [path for _, _, path in reads] == [
        "/var/lib/rancher/k3s/openshell",
        "/var/lib/rancher/k3s/server/tls/server-ca.crt",
    ]


def take_coredns_away(world):
    del world.kube.objects["Deployment", "kube-system", "coredns"]


def end_coredns(world):
    del world.kube.objects["Pod", "kube-system", "coredns-0"]


def hide_coredns_in_another_namespace(world):
    for key in [key for key in world.kube.objects if key[2].startswith("coredns")]:
        kind, _, name = key
        moved = world.kube.objects.pop(key)
        moved["metadata"]["namespace"] = "mine"
        world.kube.objects[kind, "mine", name] = moved


@pytest.mark.parametrize(
    "harm", [take_coredns_away, end_coredns, hide_coredns_in_another_namespace]
)
def test_workloads_that_are_not_there_are_waited_for(well, harm):
    harm(well)

    def mend(kube):
        for key in [key for key in kube.objects if key[2].startswith("coredns")]:
            del kube.objects[key]
        kube.add(*objects.running_workload("coredns", well.clock.now))

    well.kube.before[4] = mend
    well.start()
    assert steps(well) == ["Waiting for the node", "Waiting for the node's workloads"]


def test_a_node_that_fell_over_is_waited_for(well):
    well.kube.get("Node", "openshell-t1")["status"]["conditions"][1]["status"] = "False"

    def recover(kube):
        kube.get("Node", "openshell-t1")["status"]["conditions"][1]["status"] = "True"

    well.kube.before[3] = recover
    well.start()
    assert steps(well)[0] == "Waiting for the node"


def test_an_api_server_that_is_away_for_a_moment_is_waited_for(well):
    well.kube.is_up = False

    def come_back(kube):
        kube.is_up = True

    well.kube.before[2] = come_back
    well.start()
    assert steps(well)[0] == "Waiting for the node"


def test_another_name_is_cleaned_up_after(well):
    well.kube.add(objects.node("old"), objects.lease("old", well.clock.now - 60))
    assert well.start().cleaned.removed_nodes == ("old",)


def test_k3s_that_is_being_started_again_is_waited_for(well):
    started_s = well.kube.started_s
    well.kube.started_s = None

    def begin(kube):
        kube.started_s = started_s

    well.kube.before[2] = begin
    well.start()
    assert steps(well)[0] == "Waiting for the node"
