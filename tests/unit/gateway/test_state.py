"""One word for a gateway: every state of its parts has one, with its cause and its exit code."""

from itertools import product
from typing import get_args

import pytest

from openshell_bootstrap.gateway.results import NodeStatus, StatusWord, WorkloadStatus
from openshell_bootstrap.gateway.state import Evidence, judge
from openshell_bootstrap.models import ContainerStatus, Unknown
from tests.unit.gateway.specs import container_of

EXIT_CODES = {
    "ready": {0},
    "absent": {3},
    "stopped": {4},
    "unknown": {5, 6},
    "starting": {7},
    "degraded": {8},
    "failing": {8},
    "paused": {8},
}

READY = NodeStatus(name="openshell-t1", ready=True)
NOT_READY = NodeStatus(name="openshell-t1", ready=False, detail="no CNI")
FOREIGN = NodeStatus(name="openshell-t1", ready=True, foreign=("old-1", "old-2"))
DNS = WorkloadStatus(name="coredns", ready=1, wanted=1)
NO_DNS = WorkloadStatus(name="coredns", ready=0, wanted=1)
AWAY = Unknown("the API server does not answer")

YOUNG = {"age_s": 1, "patience_s": 300}
OLD = {"age_s": 300, "patience_s": 300}


def running(**changes):
    there = {"container": container_of(), "volume_present": True, "node": READY, **OLD}
    return Evidence(**{**there, **changes})


@pytest.mark.parametrize(
    ("evidence", "word", "exit_code", "cause"),
    [
        (Evidence(container=Unknown("no engine")), "unknown", 5, "no engine"),
        (Evidence(container=None), "absent", 3, "no gateway of that name"),
        (Evidence(container=None, recorded=True), "absent", 3, "has a record of it"),
        (Evidence(container=None, volume_present=True), "stopped", 4, "its volume is there"),
        (
            Evidence(container=None, volume_present=True, recorded=True),
            "stopped",
            4,
            "its volume is there",
        ),
        (Evidence(container=container_of(status="created")), "stopped", 4, "never started"),
        (Evidence(container=container_of(status="exited", exit_code=3)), "stopped", 4, "code 3"),
        (
            Evidence(container=container_of(status="exited", error="no such network")),
            "stopped",
            4,
            "no such network",
        ),
        (
            Evidence(container=container_of(status="exited", exit_code=78), diagnosis="no token"),
            "stopped",
            4,
            "exit code 78: no token",
        ),
        (Evidence(container=container_of(status="dead")), "stopped", 4, "exit code 0"),
        (Evidence(container=container_of(status="removing")), "stopped", 4, "exit code 0"),
        (Evidence(container=container_of(status="paused")), "paused", 8, "is paused"),
        (
            Evidence(container=container_of(status="restarting", exit_code=70)),
            "failing",
            8,
            "ends by itself: its container ended with exit code 70",
        ),
        (
            Evidence(container=container_of(status="restarting"), diagnosis="the disk is full"),
            "failing",
            8,
            "the disk is full",
        ),
        (running(), "ready", 0, ""),
        (running(workloads=(DNS,)), "ready", 0, ""),
        (running(lost_network="its network is gone"), "degraded", 8, "its network is gone"),
        (running(node=FOREIGN), "degraded", 8, "old-1, old-2"),
        (running(workloads=(DNS, NO_DNS)), "degraded", 8, "not available: coredns"),
        (running(workloads=(NO_DNS,), **YOUNG), "starting", 7, "not available yet: coredns"),
        (running(workloads=AWAY), "unknown", 6, "does not answer"),
        (running(node=AWAY), "unknown", 6, "does not answer"),
        (running(node=AWAY, diagnosis="the disk is full"), "unknown", 6, "the disk is full"),
        (running(node=AWAY, **YOUNG), "starting", 7, "does not answer yet"),
        (running(node=None), "failing", 8, "not registered"),
        (running(node=None, **YOUNG), "starting", 7, "not registered"),
        (running(node=NOT_READY), "failing", 8, "no CNI"),
        (running(node=NOT_READY, diagnosis="the disk is full"), "failing", 8, "the disk is full"),
        (running(node=NOT_READY, **YOUNG), "starting", 7, "no CNI"),
        (running(node=NodeStatus(name="x", ready=False)), "failing", 8, "the node is not ready"),
        (running(node=NodeStatus(name="x", ready=False), **YOUNG), "starting", 7, "not ready yet"),
    ],
)
def test_a_gateways_state_has_one_word_a_cause_and_an_exit_code(evidence, word, exit_code, cause):
    """R92, R44, R16."""
    verdict = judge(evidence)
    assert (verdict.word, verdict.exit_code) == (word, exit_code)
    assert cause in verdict.cause
    assert bool(verdict.next_step) is (word != "ready")
    assert bool(verdict.cause) is (word != "ready")


NODES = [None, AWAY, READY, NOT_READY, FOREIGN]
WORKLOADS = [(), AWAY, (DNS,), (NO_DNS,)]


def test_every_combination_has_a_word_and_its_exit_code():
    """R92: never ready but by what runs now, whatever was recorded."""
    containers = [None, Unknown("no engine")]
    containers += [container_of(status=status) for status in get_args(ContainerStatus)]
    flags = [False, True]
    words = set()
    for container, volume, recorded, node, workloads, age in product(
        containers, flags, flags, NODES, WORKLOADS, [YOUNG, OLD]
    ):
        verdict = judge(
            Evidence(
                container=container,
                volume_present=volume,
                recorded=recorded,
                node=node,
                workloads=workloads,
                **age,
            )
        )
        words.add(verdict.word)
        assert verdict.exit_code in EXIT_CODES[verdict.word]
        if verdict.word == "ready":
            assert container is not None
            assert not isinstance(container, Unknown)
            assert container.status == "running"
            assert node == READY
            assert workloads in ((), (DNS,))
    assert words == set(get_args(StatusWord))


def test_an_absent_container_is_told_only_by_the_engine():
    """What nobody could say is never taken for absent."""
    for volume, recorded in product([False, True], repeat=2):
        seen = Evidence(container=Unknown("x"), volume_present=volume, recorded=recorded)
        assert judge(seen).word == "unknown"
