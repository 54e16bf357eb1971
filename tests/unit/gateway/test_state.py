"""One word for a gateway: every state of its parts has one, with a cause, a step and a code."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from openshell_bootstrap.gateway.results import StatusWord
from openshell_bootstrap.gateway.state import (
    Complaint,
    ContainerPart,
    HealthPart,
    Mend,
    NetworkPart,
    NodePart,
    RecordPart,
    State,
    VolumePart,
    judge,
    refusal,
)

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
SHORT = Complaint("node n runs short", "Free some space")
OF_OTHERS = {"other-gateway", "other-cluster", "newer"}
UNKNOWN = "the engine does not tell its"


def states(container: ContainerPart) -> Iterator[State]:
    """Every state of every other part; what is only asked of a node that runs, only there."""
    inside = (False, True) if container == "running" else (False,)
    for volume, network, record, node, health, retired, known, young, behind in product(
        get_args(VolumePart),
        get_args(NetworkPart),
        get_args(RecordPart),
        get_args(NodePart),
        get_args(HealthPart),
        (False, True),
        (False, True),
        inside,
        inside,
    ):
        yield State(
            name="t1",
            container=container,
            volume=volume,
            network=network,
            record=record,
            node=node,
            health=health,
            is_young=young,
            is_retired=retired,
            is_known=known,
            behind=("coredns",) if behind else (),
            complaints=(SHORT,) if behind and known else (),
        )


@pytest.mark.parametrize("container", get_args(ContainerPart))
@pytest.mark.timeout(20)
def test_every_combination_keeps_what_is_promised(container):
    """R92, R44, R16."""
    mends = {}
    for state in states(container):
        verdict = judge(state)
        assert verdict.exit_code in EXIT_CODES[verdict.word], state
        assert bool(verdict.cause) is bool(verdict.next_step) is (verdict.word != "ready"), state
        check_ready(state, verdict)
        check_absent(state, verdict)
        check_unknown(state, verdict)
        check_advice(state, verdict)
        outside = (state.volume, state.network, state.record, state.is_retired, state.is_known)
        if mends.setdefault(outside, verdict.mend) is not verdict.mend:
            pytest.fail(f"what start does follows from the node: {state}")
        check_mend(state, verdict)


def check_ready(state, verdict):
    """Ready is what runs now, on its own network, volume and record, and says so now."""
    is_well = (
        state.container == "running"
        and state.volume == "present"
        and state.network == "ok"
        and (state.record == "ours" or (state.record == "none" and state.is_retired))
        and state.node == "fresh"
        and not state.behind
        and not state.complaints
    )
    assert (verdict.word == "ready") is is_well, state


def check_absent(state, verdict):
    """Only the engine can say that there is nothing, and nothing is there then."""
    assert (verdict.word == "absent") is (
        state.container == "absent" and state.volume == "absent"
    ), state


def check_unknown(state, verdict):
    if state.container == "unknown" or (state.container == "absent" and state.volume == "unknown"):
        assert (verdict.word, verdict.exit_code) == ("unknown", 5), state
    if verdict.exit_code == 6:
        assert state.container == "running", state
        assert state.node == "unknown", state
    if verdict.word == "unknown":
        parts = {state.container, state.volume, state.network, state.record, state.node}
        assert parts & {"unknown", "unread"}, state
    if "unknown" in {state.volume, state.network, state.record}:
        assert verdict.word != "ready", state


def check_mend(state, verdict):
    """What start does is decided by what the engine and the volume say, and by no guess."""
    data_is_lost = state.volume == "emptied" or (
        state.volume == "absent"
        and (state.is_known or state.container not in {"absent", "created", "unknown"})
    )
    parts = (state.container, state.volume, state.network, state.record)
    must_refuse = "unknown" in parts or state.record in OF_OTHERS or data_is_lost
    assert (verdict.mend == "refuse") is must_refuse, state
    if verdict.mend == "nothing":
        assert state.container == "running", state


def check_advice(state, verdict):
    """No step advises what would be refused, and none takes data without saying so."""
    step = verdict.next_step
    if verdict.mend == "refuse":
        assert "gateway start" not in step.replace("gateway start --start-empty", ""), state
    for removes in ("destroy", "--start-empty", "delete", "remove", "volume rm", "prune"):
        if removes in step:
            assert "gives its data up" in step, state
    if "`openshell gateway" in step:
        assert "--name t1" in step, state


def state_of(container: ContainerPart = "running", **changes) -> State:
    return replace(State(name="t1", container=container, node="fresh"), **changes)


START = "`openshell gateway start --name t1`"
LOGS = "`openshell gateway logs --name t1` shows the node's log"
ENGINE = "Look whether the engine runs"
EMPTY = "`openshell gateway start --start-empty --name t1` gives its data up for good"
BACK = "`openshell gateway destroy --name t1` gives its data up for good"

GOLDEN = [
    # container, other parts -> word, exit code, mend, in the cause, in the next step
    (state_of("unknown"), "unknown", 5, "refuse", UNKNOWN, ENGINE),
    (state_of("absent", volume="absent"), "absent", 3, "create", "no gateway of that name", START),
    (
        state_of("absent", volume="absent", is_known=True),
        "absent", 3, "refuse", "this host has a record of it", EMPTY,
    ),
    (
        state_of("absent", volume="absent", is_known=True, is_given_up=True),
        "absent", 3, "create", "this host has a record of it", EMPTY,
    ),
    (
        state_of("exited", volume="emptied", is_known=True, is_given_up=True),
        "stopped", 4, "start", "its container ended", START,
    ),
    (
        state_of("exited", volume="absent", is_known=True, is_given_up=True),
        "stopped", 4, "refuse", "its data volume is gone", BACK,
    ),
    (state_of("absent", volume="unknown"), "unknown", 5, "refuse", UNKNOWN, ENGINE),
    (state_of("absent", record="unread"), "stopped", 4, "create", "its container is gone", START),
    (
        state_of("absent", record="other-gateway"),
        "stopped", 4, "refuse", "its volume holds another gateway", "Use the other gateway's name",
    ),
    (
        state_of("absent", volume="emptied", is_known=True),
        "stopped", 4, "refuse", "its data volume is empty", EMPTY,
    ),
    (state_of("created"), "stopped", 4, "replace", "never started", START),
    (state_of("created", volume="absent"), "stopped", 4, "replace", "never started", START),
    (state_of("exited"), "stopped", 4, "start", "its container ended", START),
    (
        state_of("exited", said={"container": "it ended with exit code 75"}),
        "stopped", 4, "start", "it ended with exit code 75", START,
    ),
    (state_of("exited", network="lost"), "stopped", 4, "recreate", "its container ended", START),
    (state_of("exited", is_retired=True), "stopped", 4, "adopt", "its container ended", START),
    (
        state_of("exited", volume="absent"),
        "stopped", 4, "refuse", "its container ended; its data volume is gone", BACK,
    ),
    (
        state_of("exited", record="newer"),
        "stopped", 4, "refuse", "its container ended; it was made by a newer release",
        "Use that release, or a newer one",
    ),
    (
        state_of("exited", record="other-cluster"),
        "stopped", 4, "refuse", "belongs to another cluster", "bring one copy back as a whole",
    ),
    (
        state_of("exited", record="unknown"),
        "stopped", 4, "refuse", "the record on its volume cannot be read", ENGINE,
    ),
    (state_of("exited", record="damaged"), "stopped", 4, "start", "its container ended", START),
    (state_of("dead"), "stopped", 4, "recreate", "dead to the engine", START),
    (state_of("removing"), "stopped", 4, "recreate", "being removed", START),
    (state_of("paused"), "paused", 8, "unpause", "its container is paused", START),
    (state_of("paused", network="lost"), "paused", 8, "recreate", "its container is paused", START),
    (state_of("restarting"), "failing", 8, "start", "its node ends by itself", LOGS),
    (
        state_of("restarting", said={"log": "the disk is full"}),
        "failing", 8, "start", "the disk is full", LOGS,
    ),
    (state_of(), "ready", 0, "nothing", "", ""),
    (state_of(health="unhealthy"), "ready", 0, "nothing", "", ""),
    (state_of(is_retired=True, record="none"), "ready", 0, "adopt", "", ""),
    (state_of(network="lost"), "degraded", 8, "recreate", "its network is gone", "data stays"),
    (state_of(network="unknown"), "unknown", 5, "refuse", f"{UNKNOWN} network", ENGINE),
    (state_of(volume="unknown"), "unknown", 5, "refuse", f"{UNKNOWN} volume", ENGINE),
    (state_of(volume="absent"), "degraded", 8, "refuse", "its data volume is gone", BACK),
    (state_of(record="none"), "degraded", 8, "nothing", "is lost", "writes it anew"),
    (state_of(record="damaged"), "degraded", 8, "nothing", "is damaged", "writes it anew"),
    (state_of(record="newer"), "degraded", 8, "refuse", "by a newer release", "Use that release"),
    (
        state_of(record="other-gateway", said={"record": "its volume holds the gateway 't2'"}),
        "degraded", 8, "refuse", "its volume holds the gateway 't2'", "Use the other gateway's",
    ),
    (state_of(record="other-cluster"), "degraded", 8, "refuse", "another cluster", "one copy back"),
    (state_of(record="unknown"), "unknown", 5, "refuse", "cannot be read", "try again"),
    (
        state_of(node="foreign", said={"node": "other nodes are in its cluster: old-1, old-2"}),
        "degraded", 8, "nothing", "old-1, old-2", "cleans them up",
    ),
    (state_of(node="stale"), "failing", 8, "nothing", "not reported since", LOGS),
    (state_of(node="stale", is_young=True), "starting", 7, "nothing", "not reported", "Wait"),
    (state_of(node="not-ready"), "failing", 8, "nothing", "its node is not ready", LOGS),
    (
        state_of(node="not-ready", said={"node": "no CNI", "log": "the disk is full"}),
        "failing", 8, "nothing", "the disk is full", LOGS,
    ),
    (
        state_of(node="not-ready", is_young=True, said={"node": "no CNI"}),
        "starting", 7, "nothing", "no CNI", "Wait",
    ),
    (state_of(node="none"), "failing", 8, "nothing", "has not registered yet", LOGS),
    (state_of(node="none", is_young=True), "starting", 7, "nothing", "not registered", "Wait"),
    (state_of(node="refused"), "failing", 8, "nothing", "refuses to start k3s", LOGS),
    (
        state_of(node="refused", is_young=True, said={"node": "it refuses: token-differs"}),
        "failing", 8, "nothing", "token-differs", LOGS,
    ),
    (state_of(node="unknown"), "unknown", 6, "nothing", "does not answer", LOGS),
    (state_of(node="unknown", is_young=True), "starting", 7, "nothing", "answer yet", "Wait"),
    (
        state_of(node="unknown", health="unhealthy", said={"health": "its check says 'no route'"}),
        "unknown", 6, "nothing", "does not answer; its check says 'no route'", LOGS,
    ),
    (
        state_of(node="not-ready", health="unhealthy"),
        "failing", 8, "nothing", "its node is not ready; its health check fails", LOGS,
    ),
    (
        state_of(node="none", health="unhealthy", is_young=True),
        "starting", 7, "nothing", "not registered yet; its health check fails", "Wait",
    ),
    (state_of(behind=("coredns",)), "degraded", 8, "nothing", "not available: coredns", "get pods"),
    (
        state_of(behind=("coredns",), is_young=True),
        "starting", 7, "nothing", "not available yet: coredns", "Wait",
    ),
    (
        state_of(complaints=(SHORT, Complaint("pods cannot resolve names", "x"))),
        "degraded", 8, "nothing", "node n runs short; pods cannot resolve names", "Free some space",
    ),
    (state_of(record="damaged", node="none"), "failing", 8, "nothing", "not registered", LOGS),
]  # fmt: skip


@pytest.mark.parametrize("row", GOLDEN)
def test_a_gateways_state_has_one_word(row):
    """R92, R44, R16, R26, R52."""
    state, word, exit_code, mend, cause, step = row
    verdict = judge(state)
    assert (verdict.word, verdict.exit_code, verdict.mend) == (word, exit_code, mend)
    assert cause in verdict.cause
    assert step in verdict.next_step


def test_all_words_and_all_that_start_does_are_among_them():
    assert {row[1] for row in GOLDEN} == set(get_args(StatusWord))
    assert {row[3] for row in GOLDEN} == set(get_args(Mend))


def test_a_refusal_says_why_and_what_to_do_instead():
    for row in GOLDEN:
        assert bool(refusal(row[0])[0]) is bool(refusal(row[0])[1]) is (row[3] == "refuse")


def test_a_ready_of_an_earlier_life_is_none():
    """R91: the same node, and only what it says of itself is older."""
    assert judge(state_of(node="fresh")).word == "ready"
    for young in (False, True):
        assert judge(state_of(node="stale", is_young=young)).word != "ready"
