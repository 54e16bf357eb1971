"""From settings and what is seen to the steps that lead there. Pure.

``--dry-run`` prints exactly this list. No step removes a data volume, and no step follows from
something that nobody could say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openshell_bootstrap.bundle import digest as bundle_digest
from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.node_container import describe_changes
from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.record import spec_digest
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import PlannedAction
from openshell_bootstrap.gateway.settle import Settled
from openshell_bootstrap.models import Container, Network
from openshell_bootstrap.names import LABEL_BUNDLE_DIGEST, LABEL_GATEWAY, LABEL_SPEC_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """Pull the node image."""

    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeNetwork:
    """Make the gateway's network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTwinNetwork:
    """Remove an unused second network of the same name."""

    network_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeVolume:
    """Make the data volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopNode:
    """Stop the node in order."""

    container: Container


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Rename the container and keep it until its successor is ready."""

    container: Container


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """Remove a stopped container with its scratch volumes."""

    container: Container


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNode:
    """Make the container and put the bundle in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartNode:
    """Start the container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpause:
    """Let a frozen container go on."""

    container: Container


Action = (
    Pull
    | MakeNetwork
    | RemoveTwinNetwork
    | MakeVolume
    | StopNode
    | SetAside
    | RemoveNode
    | CreateNode
    | StartNode
    | Unpause
)


@dataclass(frozen=True, slots=True)
class Step:
    """An action and the reason for it."""

    action: Action
    why: str

    def describe(self, settled: Settled, seen: Seen) -> PlannedAction:
        """The step in words."""
        return PlannedAction(what=_what(self.action, settled, seen), why=self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """The steps of one start, what the user should know, and what differs and stays."""

    steps: tuple[Step, ...]
    notices: tuple[str, ...] = ()

    @property
    def recreates(self) -> bool:
        """A container is made."""
        return any(isinstance(step.action, CreateNode) for step in self.steps)


def plan_start(
    request: StartRequest, settled: Settled, seen: Seen, *, image_present: bool
) -> StartPlan:
    """Decide the steps.

    Args:
        request: What was asked.
        settled: The settings that follow from it.
        seen: What is there.
        image_present: The node image is on the engine.

    Raises:
        GatewayStateError: A running gateway would have to be recreated and nobody said so.
    """
    node, notices = _node_steps(request, settled, seen)
    creates = any(isinstance(step.action, CreateNode) for step in node)
    steps: list[Step] = []
    if creates and not image_present:
        steps.append(Step(Pull(image=settled.spec.image), "it is not on the engine"))
    if creates:
        steps += _network_steps(seen)
    if creates and seen.volume is None:
        steps.append(Step(MakeVolume(), "there is none"))
    return StartPlan(
        steps=(*steps, *node),
        notices=(*settled.notices, *notices),
    )


def _node_steps(
    request: StartRequest, settled: Settled, seen: Seen
) -> tuple[list[Step], list[str]]:
    container = seen.container
    if container is None:
        return [*_create("there is none")], []
    if not container.has_started and not container.is_up:
        why = "it was never started, so it may be half made"
        return [Step(RemoveNode(container=container), why), *_create(why)], []
    if seen.is_retired:
        return _adopt(container), []
    if container.status in {"running", "paused"}:
        return _of_running(request, settled, seen, container)
    return _of_stopped(request, settled, seen, container), []


def _create(why: str) -> tuple[Step, Step]:
    return Step(CreateNode(), why), Step(StartNode(), "a gateway runs")


def _adopt(container: Container) -> list[Step]:
    why = "it was made by a retired release"
    steps = [Step(StopNode(container=container), why)] if container.is_up else []
    keep = "it holds the node's identity until its successor is ready"
    return [*steps, Step(SetAside(container=container), keep), *_create(why)]


def _of_running(
    request: StartRequest, settled: Settled, seen: Seen, container: Container
) -> tuple[list[Step], list[str]]:
    drift = describe_drift(settled, container)
    reason = ""
    if lost := lost_network(seen.networks, container):
        reason = lost
    elif request.recreate:
        reason = "; ".join(drift) or "it was asked for"
    else:
        _refuse_unasked_recreate(request, settled, seen)
    if reason:
        return _recreate(container, reason), []
    steps = []
    if container.status == "paused":
        steps.append(Step(Unpause(container=container), "it is paused"))
    notices = [f"Not applied while the gateway runs: {line}." for line in drift]
    if notices:
        notices.append("`openshell gateway start --recreate` applies it; the data stays.")
    return steps, notices


def _refuse_unasked_recreate(request: StartRequest, settled: Settled, seen: Seen) -> None:
    changes = (*settled.explicit_changes, *_given_files(request, seen))
    if changes:
        raise GatewayStateError(
            f"The gateway {request.name!r} runs with other settings",
            details="\n".join(changes),
            remedies=[
                "Add `--recreate`: the node is stopped and made anew, its volume stays.",
                "Or stop the gateway first.",
            ],
        )


def _of_stopped(
    request: StartRequest, settled: Settled, seen: Seen, container: Container
) -> list[Step]:
    reasons = [*describe_drift(settled, container), *_given_files(request, seen)]
    if lost := lost_network(seen.networks, container):
        reasons.append(lost)
    if container.status in {"dead", "removing"}:
        reasons.append(f"the engine calls it {container.status}")
    if request.recreate:
        reasons.append("it was asked for")
    if reasons:
        return _recreate(container, "; ".join(reasons))
    why = f"it is {container.status}"
    steps = [Step(StopNode(container=container), why)] if container.is_up else []
    return [*steps, Step(StartNode(), why)]


def _given_files(request: StartRequest, seen: Seen) -> Iterator[str]:
    """Files that were given and that the gateway does not have already, one line each."""
    known = seen.on_volume if isinstance(seen.on_volume, OnVolume) else OnVolume()
    if request.token is not None and not known.token:
        yield "token: given"
    if request.registries is not None and request.registries != known.registries:
        yield "registries: given"


def _recreate(container: Container, why: str) -> list[Step]:
    steps = [Step(StopNode(container=container), why)] if container.is_up else []
    return [*steps, Step(RemoveNode(container=container), why), *_create(why)]


def describe_drift(settled: Settled, container: Container) -> tuple[str, ...]:
    """How the container differs from what would be made now, one line each."""
    labels = container.labels
    lines: list[str] = []
    if labels.get(LABEL_SPEC_DIGEST) != spec_digest(settled.spec):
        base = settled.base or settled.spec
        lines += describe_changes(base, settled.spec) or ["it was made with other settings"]
    if labels.get(LABEL_BUNDLE_DIGEST) != bundle_digest():
        lines.append("the files that this release puts into a node are newer than its own")
    return tuple(lines)


def lost_network(networks: Sequence[Network], container: Container) -> str:
    """Why the container's network is not the gateway's: Docker keeps its id, not its name."""
    attached = {one.network_id for one in container.attachments if one.network_id}
    present = {network.id for network in networks}
    if not present:
        return "its network is gone"
    if not attached:
        return "it is on no network"
    if not attached & present:
        return "its network was made again since"
    return ""


def _network_steps(seen: Seen) -> list[Step]:
    if not seen.networks:
        return [Step(MakeNetwork(), "there is none")]

    def can_go(network: Network) -> bool:
        return not network.containers and network.labels.get(LABEL_GATEWAY) == seen.names.gateway

    needed_first = sorted(seen.networks, key=lambda one: (can_go(one), one.id))
    return [
        Step(RemoveTwinNetwork(network_id=twin.id), "two networks have one name")
        for twin in needed_first[1:]
        if can_go(twin)
    ]


def _what(action: Action, settled: Settled, seen: Seen) -> str:  # noqa: C901, PLR0911 - one line per action
    names = seen.names
    match action:
        case Pull():
            return f"pull the image {action.image}"
        case MakeNetwork():
            return f"make the network {names.network}"
        case RemoveTwinNetwork():
            return f"remove the unused network {action.network_id[:12]}"
        case MakeVolume():
            return f"make the volume {names.volume}"
        case StopNode():
            return f"stop the container {action.container.name}"
        case SetAside():
            return f"set the container {action.container.name} aside"
        case RemoveNode():
            return f"remove the container {action.container.name}; the volume stays"
        case CreateNode():
            return f"make the container {names.container} of {settled.spec.image}"
        case StartNode():
            return f"start the container {names.container}"
        case Unpause():
            return f"unpause the container {action.container.name}"
