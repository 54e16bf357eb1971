"""From evidence to one word for a gateway, its cause, the next step and an exit code. Pure."""

from dataclasses import dataclass

from openshell_bootstrap.gateway.results import NodeStatus, StatusWord, WorkloadStatus
from openshell_bootstrap.models import Container, Unknown

_START = "`openshell gateway start`"
_LOGS = "`openshell gateway logs` shows the node's log"
_EXIT_CODES: dict[StatusWord, int] = {
    "ready": 0,
    "absent": 3,
    "stopped": 4,
    "starting": 7,
    "degraded": 8,
    "failing": 8,
    "paused": 8,
}
_UNKNOWN_ENGINE = 5
_UNKNOWN_CLUSTER = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen of a gateway.

    Attributes:
        container: None where the engine says that there is none.
        volume_present: The engine has the data volume.
        recorded: This host has a record of the gateway.
        lost_network: Why the container's network is not the gateway's; empty when it is.
        age_s: Seconds since the container's last start.
        patience_s: How long a start may take before it counts as failing.
        node: The node as Kubernetes tells it, None where it was not asked.
        diagnosis: What the node's log says about a failure; empty where it says nothing known.
    """

    container: Container | Unknown | None
    volume_present: bool = False
    recorded: bool = False
    lost_network: str = ""
    age_s: float = 0
    patience_s: float = 300
    node: NodeStatus | Unknown | None = None
    workloads: tuple[WorkloadStatus, ...] | Unknown = ()
    diagnosis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One word, why, and what to do."""

    word: StatusWord
    cause: str
    next_step: str
    exit_code: int


def judge(seen: Evidence) -> Verdict:
    """Weigh the evidence; what nobody could say is never taken for absent."""
    container = seen.container
    if isinstance(container, Unknown):
        return _unknown(container.cause, "Look whether the engine runs", _UNKNOWN_ENGINE)
    if container is None:
        return _without_container(seen)
    match container.status:
        case "created":
            return _say("stopped", "its container was never started", _START)
        case "exited" | "dead" | "removing":
            return _say("stopped", _how_it_ended(container, seen.diagnosis), _START)
        case "paused":
            return _say("paused", "its container is paused", f"{_START} lets it go on")
        case "restarting":
            cause = seen.diagnosis or f"its node ends by itself: {_how_it_ended(container)}"
            return _say("failing", cause, _LOGS)
        case "running":
            return _of_running(seen)


def _without_container(seen: Evidence) -> Verdict:
    if seen.volume_present:
        return _say("stopped", "its container is gone, its volume is there", _START)
    if seen.recorded:
        cause = "this host has a record of it, the engine has neither its container nor its volume"
        return _say("absent", cause, "Look whether this is the right engine")
    return _say("absent", "there is no gateway of that name", f"{_START} makes one")


def _of_running(seen: Evidence) -> Verdict:
    if seen.lost_network:
        return _say("degraded", seen.lost_network, f"{_START} repairs it; the data stays")
    young = seen.age_s < seen.patience_s
    if isinstance(seen.node, Unknown):
        if young:
            return _say(
                "starting", "the Kubernetes API does not answer yet", "Wait, or start again"
            )
        return _unknown(seen.diagnosis or seen.node.cause, _LOGS, _UNKNOWN_CLUSTER)
    if seen.node is None or not seen.node.ready:
        detail = seen.node.detail if seen.node else "the node is not registered"
        if young:
            return _say("starting", detail or "the node is not ready yet", "Wait, or start again")
        return _say("failing", seen.diagnosis or detail or "the node is not ready", _LOGS)
    return _of_ready_node(seen, seen.node, young=young)


def _of_ready_node(seen: Evidence, node: NodeStatus, *, young: bool) -> Verdict:
    if node.foreign:
        cause = f"other nodes are in its cluster: {', '.join(node.foreign)}"
        return _say("degraded", cause, f"{_START} cleans them up")
    if isinstance(seen.workloads, Unknown):
        return _unknown(seen.workloads.cause, _LOGS, _UNKNOWN_CLUSTER)
    behind = [one.name for one in seen.workloads if one.ready < one.wanted]
    if behind and young:
        return _say("starting", f"not available yet: {', '.join(behind)}", "Wait a moment")
    if behind:
        step = "`openshell gateway kubectl -- get pods -A` tells more"
        return _say("degraded", f"not available: {', '.join(behind)}", step)
    return _say("ready", "", "")


def _how_it_ended(container: Container, diagnosis: str = "") -> str:
    if container.error:
        return container.error
    ended = f"its container ended with exit code {container.exit_code}"
    return f"{ended}: {diagnosis}" if diagnosis else ended


def _say(word: StatusWord, cause: str, next_step: str) -> Verdict:
    return Verdict(word=word, cause=cause, next_step=next_step, exit_code=_EXIT_CODES[word])


def _unknown(cause: str, next_step: str, exit_code: int) -> Verdict:
    return Verdict(word="unknown", cause=cause, next_step=next_step, exit_code=exit_code)
