"""What follows once the node's container runs."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from openshell_bootstrap.cluster.workloads import Workload
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    GatewayUnhealthyError,
    WaitTimeoutError,
)
from openshell_bootstrap.gateway.inside.readiness import Readiness
from openshell_bootstrap.gateway.inside.workloads import expected_workloads, missing_workloads
from openshell_bootstrap.gateway.starting.after_start import (
    begin_of_life,
    finish_adoption,
    wait_for_node,
    wait_for_workloads,
)
from openshell_bootstrap.models import Unknown
from tests.unit.gateway.scenes import NAME
from tests.unit.gateway.specs import NAMES, SPEC, seen_of


def test_a_life_begins_with_its_container():
    gone = Readiness(node_name="n", container=None, started_s=None, nodes=Unknown("gone"))
    with pytest.raises(GatewayUnhealthyError):
        begin_of_life(gone)


def workload(name, *, wanted=1, ready=1):
    return Workload(kind="Deployment", name=name, wanted=wanted, ready=ready)


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        ([], ("coredns", "local-path-provisioner")),
        ([workload("coredns")], ("local-path-provisioner",)),
        (
            [workload("coredns"), workload("local-path-provisioner", ready=0)],
            ("local-path-provisioner",),
        ),
        (
            [workload("coredns"), workload("local-path-provisioner"), workload("x", wanted=None)],
            ("x",),
        ),
        ([workload("coredns"), workload("local-path-provisioner")], ()),
    ],
)
def test_workloads_that_are_not_there_yet_are_missing(seen, missing):
    """On a new cluster they come later, so their absence proves nothing."""
    assert missing_workloads(seen, expected_workloads(SPEC)) == missing


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (SPEC, {"coredns", "local-path-provisioner"}),
        (replace(SPEC, disabled_addons=("coredns",)), {"local-path-provisioner"}),
        (replace(SPEC, k3s_args=("--disable", "local-storage,coredns")), set()),
    ],
)
def test_addons_that_are_off_bring_nothing(spec, expected):
    assert expected_workloads(spec) == expected


def test_a_container_that_is_gone_is_waited_for_no_longer(world):
    with pytest.raises(GatewayUnhealthyError, match="its container is gone"):
        wait_for_node("gone", SPEC, 5, world.evidence())
    assert world.clock.slept == []


def test_workloads_that_cannot_be_read_are_not_taken_for_available(world):
    world.start()
    node = ContainerNode(world.engine, world.engine.seen(NAME).id)
    world.kube.objects["Deployment", "kube-system", "coredns"]["spec"]["selector"] = 7
    with pytest.raises(WaitTimeoutError, match="workloads") as over:
        wait_for_workloads(node, SPEC, datetime(2023, 1, 1, tzinfo=UTC), world.events.append)
    assert "cannot be read" in over.value.details


def test_an_api_that_goes_away_again_is_a_timeout(world):
    world.start()
    node = ContainerNode(world.engine, world.engine.seen(NAME).id)
    world.kube.is_up = False
    with pytest.raises(WaitTimeoutError) as over:
        wait_for_workloads(node, SPEC, datetime(2023, 1, 1, tzinfo=UTC), world.events.append)
    assert "refused" in over.value.details


# --- adoption --------------------------------------------------------------------------------


def test_only_the_container_that_was_set_aside_goes(world):
    old = world.run_retired()
    world.engine.containers.stop(old.id, 1)
    world.engine.containers.rename(old.id, NAMES.aside(old.id))
    stranger = world.run_foreign(NAMES.aside("f" * 64))
    seen = seen_of(aside=world.engine.seen(old.id))
    finish_adoption(world.engine, NAMES, seen, world.events.append)
    assert list(world.engine.state.boxes) == [stranger]


def test_a_container_set_aside_that_runs_is_not_removed(world):
    old = world.run_retired()
    world.engine.containers.rename(old.id, NAMES.aside(old.id))
    seen = seen_of(aside=world.engine.seen(old.id))
    finish_adoption(world.engine, NAMES, seen, world.events.append)
    assert list(world.engine.state.boxes) == [old.id]


def test_where_nothing_was_set_aside_nobody_looks(world):
    finish_adoption(world.engine, NAMES, seen_of(), world.events.append)
    assert world.engine.calls == []
