"""From the state of a gateway's parts to one word, a cause, the next step and an exit code. Pure.

The one table of states: ``status`` tells its verdict, ``start`` refuses by it and the plan follows
its ``mend``. What nobody could say is a state of its own, and neither ready nor absent follows
from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from openshell_bootstrap.gateway.results import StatusWord

ContainerPart = Literal[
    "absent",
    "created",
    "running",
    "paused",
    "restarting",
    "exited",
    "dead",
    "removing",
    "unknown",
]
"""``created``: it never started, whatever the engine calls it now."""

VolumePart = Literal["present", "absent", "emptied", "unknown"]
"""``emptied``: it is there and bears nothing of the cluster that this host knows."""

NetworkPart = Literal["ok", "lost", "unknown"]
"""``lost``: the container is not on the gateway's network, which is known by its id."""

RecordPart = Literal[
    "none", "ours", "other-gateway", "other-cluster", "damaged", "newer", "unread", "unknown"
]
"""The record on the volume. ``unread``: no container is there to read it through."""

NodePart = Literal["fresh", "stale", "not-ready", "foreign", "none", "refused", "unknown"]
"""The gateway's own node. ``fresh``: Ready and schedulable, said in this life of k3s. ``stale``:
its object tells of an earlier life. ``foreign``: fresh, with other nodes beside it. ``none``: it
has no object yet. ``refused``: PID 1 will not start k3s."""

HealthPart = Literal["none", "starting", "healthy", "unhealthy"]

Mend = Literal["nothing", "create", "replace", "adopt", "recreate", "start", "unpause", "refuse"]
"""What ``start`` does about the container, before settings that differ are thought of.

``replace``: remove the half-made container and make another. ``adopt``: keep the container of a
retired release aside, and make another. ``recreate``: stop, remove, make. ``refuse``: nothing.
"""

Part = Literal["container", "volume", "network", "record", "node", "health", "log"]

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
_WAIT = "Wait a moment and look again"

_CAUSES: dict[tuple[Part, str], str] = {
    ("container", "absent"): "its container is gone, its volume is there",
    ("container", "created"): "its container was never started",
    ("container", "restarting"): "its node ends by itself, and the engine starts it again",
    ("container", "exited"): "its container ended",
    ("container", "dead"): "its container is dead to the engine",
    ("container", "removing"): "its container is being removed",
    ("container", "unknown"): "the engine does not tell its container",
    ("volume", "absent"): "its data volume is gone",
    ("volume", "emptied"): "its data volume is empty",
    ("volume", "unknown"): "the engine does not tell its volume",
    ("network", "lost"): "its network is gone",
    ("network", "unknown"): "the engine does not tell its network",
    ("record", "none"): "the record on its volume is lost",
    ("record", "other-gateway"): "its volume holds another gateway",
    ("record", "other-cluster"): "the record on its volume belongs to another cluster",
    ("record", "damaged"): "the record on its volume is damaged",
    ("record", "newer"): "it was made by a newer release of this command",
    ("record", "unread"): "the record on its volume was not read",
    ("record", "unknown"): "the record on its volume cannot be read",
    ("node", "stale"): "its node has not reported since this start of k3s",
    ("node", "not-ready"): "its node is not ready",
    ("node", "foreign"): "other nodes are in its cluster",
    ("node", "none"): "its node has not registered yet",
    ("node", "refused"): "it refuses to start k3s",
    ("node", "unknown"): "the Kubernetes API does not answer",
    ("health", "unhealthy"): "its health check fails",
}
"""What is told where the look that found the state has no words of its own."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is not well in a cluster whose node is ready, and what to do about it."""

    cause: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of each part of a gateway.

    Attributes:
        name: The gateway, for the commands that are advised.
        is_young: It was started so lately that it may still become ready by itself.
        is_retired: Its container was made by a retired release, which wrote no record.
        is_known: This host has a record of it, or a container that ran is kept aside.
        is_given_up: The user said that data which is lost may stay so.
        behind: Names of the node's own workloads that are not available.
        complaints: Whatever else is not well inside.
        said: What the looks said of a part, in words that fit into a cause.
    """

    name: str
    container: ContainerPart
    volume: VolumePart = "present"
    network: NetworkPart = "ok"
    record: RecordPart = "ours"
    node: NodePart = "unknown"
    health: HealthPart = "none"
    is_young: bool = False
    is_retired: bool = False
    is_known: bool = False
    is_given_up: bool = False
    behind: tuple[str, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    said: Mapping[Part, str] = field(default_factory=dict)

    def why(self, part: Literal["container", "volume", "network", "record", "node"]) -> str:
        """The state of a part in words."""
        state: str = getattr(self, part)
        return self.said.get(part) or _CAUSES[part, state]

    @property
    def start(self) -> str:
        """The command that starts it."""
        return f"`openshell gateway start --name {self.name}`"

    @property
    def logs(self) -> str:
        """Where to read on."""
        return f"`openshell gateway logs --name {self.name}` shows the node's log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One word, why, what to do, and what ``start`` does."""

    word: StatusWord
    cause: str
    next_step: str
    exit_code: int
    mend: Mend


def judge(state: State) -> Verdict:
    """Weigh the state of all parts."""
    word, cause, next_step, exit_code = _weigh(state)
    return Verdict(
        word=word, cause=cause, next_step=next_step, exit_code=exit_code, mend=find_mend(state)
    )


def find_mend(state: State) -> Mend:
    """What ``start`` does; it follows from what the engine and the volume say, never the node."""
    if "unknown" in {state.container, state.volume, state.network, state.record}:
        return "refuse"
    if _is_of_others(state) or _has_lost_volume(state):
        return "refuse"
    mend = _MENDS[state.container]
    if mend in {"create", "replace"}:
        return mend
    if state.is_retired:
        return "adopt"
    return "recreate" if state.network == "lost" else mend


_MENDS: dict[ContainerPart, Mend] = {
    "absent": "create",
    "created": "replace",
    "running": "nothing",
    "paused": "unpause",
    "restarting": "start",
    "exited": "start",
    "dead": "recreate",
    "removing": "recreate",
}


def refusal(state: State) -> tuple[str, str]:
    """Why ``start`` does nothing, and what to do instead; two empty texts where it does not."""
    if find_mend(state) != "refuse":
        return "", ""
    if _has_lost_volume(state):
        return state.why("volume"), _bring_volume_back(state)
    for part in ("container", "volume", "network"):
        if getattr(state, part) == "unknown":
            return state.why(part), "Look whether the engine runs"
    return state.why("record"), _about_record(state)


_Weighed = tuple[StatusWord, str, str, int]


def _weigh(state: State) -> _Weighed:
    match state.container:
        case "unknown":
            return _unknown(state.why("container"), "Look whether the engine runs")
        case "absent":
            return _without_container(state)
        case "running":
            return _of_running(state)
        case "restarting":
            return _say("failing", state.said.get("log") or state.why("container"), state.logs)
        case "paused":
            return _by_start(state, "paused", "its container is paused", " lets it go on")
        case _:
            return _by_start(state, "stopped", state.why("container"))


def _without_container(state: State) -> _Weighed:
    if state.volume == "unknown":
        return _unknown(state.why("volume"), "Look whether the engine runs")
    if state.volume != "absent":
        return _by_start(state, "stopped", state.why("container"))
    if state.is_known:
        cause = "this host has a record of it, the engine has neither its container nor its volume"
        return _say("absent", cause, _bring_volume_back(state))
    return _by_start(state, "absent", "there is no gateway of that name", " makes one")


def _of_running(state: State) -> _Weighed:
    if _is_of_others(state) or _has_lost_volume(state):
        return _say("degraded", *refusal(state))
    if state.network == "lost":
        return _by_start(state, "degraded", state.why("network"), " repairs it; the data stays")
    if state.node not in {"fresh", "foreign"}:
        return _of_unready_node(state)
    return _of_ready_node(state)


def _of_unready_node(state: State) -> _Weighed:
    detail = state.why("node")
    if state.node == "refused":
        return _say("failing", state.said.get("log") or detail, state.logs)
    unhealthy = ""
    if state.health == "unhealthy":
        unhealthy = state.said.get("health") or _CAUSES["health", "unhealthy"]
    if state.is_young:
        if state.node == "unknown":
            detail = "the Kubernetes API does not answer yet"
        return _say("starting", _joined(detail, unhealthy), _WAIT)
    cause = _joined(state.said.get("log") or detail, unhealthy)
    if state.node == "unknown":
        return "unknown", cause, state.logs, _UNKNOWN_CLUSTER
    return _say("failing", cause, state.logs)


def _of_ready_node(state: State) -> _Weighed:
    if state.node == "foreign":
        return _by_start(state, "degraded", state.why("node"), " cleans them up")
    names = ", ".join(state.behind)
    if state.behind and state.is_young:
        return _say("starting", f"not available yet: {names}", _WAIT)
    if state.behind:
        step = f"`openshell gateway kubectl --name {state.name} get pods -A` tells more"
        return _say("degraded", f"not available: {names}", step)
    if state.complaints:
        causes = "; ".join(each.cause for each in state.complaints)
        return _say("degraded", causes, state.complaints[0].next_step)
    if state.record == "damaged" or (state.record == "none" and not state.is_retired):
        return _by_start(state, "degraded", state.why("record"), " writes it anew")
    if find_mend(state) == "refuse":
        return _unknown(*refusal(state))
    if state.record == "unread":
        return _unknown(state.why("record"), _about_record(state))
    return _say("ready", "", "")


def _is_of_others(state: State) -> bool:
    return state.record in {"other-gateway", "other-cluster", "newer"}


def _has_lost_volume(state: State) -> bool:
    """Data was, and is not there: only the user can say that it is given up."""
    if _stands_without_volume(state):
        return True
    lost = state.volume == "emptied" or (state.volume == "absent" and state.is_known)
    return lost and not state.is_given_up


def _stands_without_volume(state: State) -> bool:
    has_run = state.container not in {"absent", "created", "unknown"}
    return state.volume == "absent" and has_run


def _bring_volume_back(state: State) -> str:
    look = "Look whether this is the right engine, and bring the volume back if it is"
    if _stands_without_volume(state):
        give_up = f"`openshell gateway destroy --name {state.name}`"
    else:
        give_up = f"`openshell gateway start --start-empty --name {state.name}`"
    return f"{look}; {give_up} gives its data up for good"


def _about_record(state: State) -> str:
    match state.record:
        case "other-gateway":
            return "Use the other gateway's name, or put the right volume in its place"
        case "other-cluster":
            return (
                "Its files come from two gateways or two copies: bring one copy back as a whole, "
                "`server/`, `storage/` and `openshell/` together"
            )
        case "newer":
            return "Use that release, or a newer one"
        case _:
            return "Look whether the engine runs, then try again"


def _by_start(state: State, word: StatusWord, cause: str, does: str = "") -> _Weighed:
    """What ``start`` mends; where it would refuse, that is told too."""
    against, instead = refusal(state)
    return _say(word, _joined(cause, against), instead or f"{state.start}{does}")


def _joined(cause: str, more: str) -> str:
    return f"{cause}; {more}" if more and more not in cause else cause


def _say(word: StatusWord, cause: str, next_step: str) -> _Weighed:
    return word, cause, next_step, _EXIT_CODES[word]


def _unknown(cause: str, next_step: str) -> _Weighed:
    return "unknown", cause, next_step, _UNKNOWN_ENGINE
