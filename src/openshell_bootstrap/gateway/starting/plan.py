"""From settings and what is seen to the steps that lead there. Pure.

``--dry-run`` prints exactly this list. No step removes a data volume, and no step follows from
something that nobody could say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.checks.subnet import fits
from openshell_bootstrap.gateway.classify import classify
from openshell_bootstrap.gateway.drift import describe_drift
from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import PlannedAction
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.gateway.state import State, find_mend, refusal
from openshell_bootstrap.models import Container, Network
from openshell_bootstrap.names import LABEL_GATEWAY


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
        first, late = _network_steps(seen, settled.spec.subnet)
        steps += first
        node = [*_before_create(node, late)]
    if creates and seen.volume is None:
        steps.append(Step(MakeVolume(), "there is none"))
    return StartPlan(
        steps=(*steps, *node),
        notices=(*settled.notices, *notices),
    )


def _node_steps(
    request: StartRequest, settled: Settled, seen: Seen
) -> tuple[list[Step], list[str]]:
    """What the state of the gateway's parts asks for, and then what differs in its settings."""
    state = replace(classify(seen), is_given_up=request.start_empty)
    mend, container = find_mend(state), seen.container
    if mend == "refuse":
        raise _refused(state)
    if container is None:
        return [*_create("there is none")], []
    match mend:
        case "replace":
            why = "it was never started, so it may be half made"
            return [Step(RemoveNode(container=container), why), *_create(why)], []
        case "adopt":
            return _adopt(container), []
        case "recreate":
            reasons = [*_reasons(request, settled, seen, container), _why_recreate(state)]
            return _recreate(container, "; ".join(reasons)), []
        case "start":
            return _of_stopped(request, settled, seen, container), []
        case _:
            return _of_running(request, settled, seen, container)


def _refused(state: State) -> GatewayStateError:
    cause, next_step = refusal(state)
    return GatewayStateError(
        f"The gateway {state.name!r} is left as it is: {cause}", remedies=[next_step]
    )


def _why_recreate(state: State) -> str:
    return (
        state.why("network")
        if state.network == "lost"
        else f"the engine calls it {state.container}"
    )


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
    drift = describe_drift(settled, container, seen.bundle_changes)
    if request.recreate:
        reasons = [*drift, *_given_files(request, seen)]
        return _recreate(container, "; ".join(reasons) or "it was asked for"), []
    _refuse_unasked_recreate(request, settled, seen)
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
    reasons = _reasons(request, settled, seen, container)
    if reasons:
        return _recreate(container, "; ".join(reasons))
    why = f"it is {container.status}"
    steps = [Step(StopNode(container=container), why)] if container.is_up else []
    return [*steps, Step(StartNode(), why)]


def _reasons(
    request: StartRequest, settled: Settled, seen: Seen, container: Container
) -> list[str]:
    """Why a container is made anew that could do as it is."""
    drift = describe_drift(settled, container, seen.bundle_changes)
    asked = ["it was asked for"] if request.recreate else []
    return [*drift, *_given_files(request, seen), *asked]


def _given_files(request: StartRequest, seen: Seen) -> Iterator[str]:
    """Files that were given and that the gateway does not have already, one line each."""
    known = seen.on_volume if isinstance(seen.on_volume, OnVolume) else OnVolume()
    if request.token is not None and not known.token:
        yield "token: none -> given"
    if request.registries is not None and request.registries != known.registries:
        yield f"registries: {'none' if known.registries is None else 'recorded'} -> given"


def _recreate(container: Container, why: str) -> list[Step]:
    steps = [Step(StopNode(container=container), why)] if container.is_up else []
    return [*steps, Step(RemoveNode(container=container), why), *_create(why)]


def _network_steps(seen: Seen, subnet: str) -> tuple[list[Step], list[Step]]:
    """What comes first, and what must wait until the old container is gone.

    A network with another range than is asked for is replaced, if it is the gateway's alone. No
    second one is made beside it meanwhile: newer engines refuse two of one name.
    """
    fitting = [one for one in seen.networks if fits(one, subnet)]
    if not seen.networks:
        return [Step(MakeNetwork(), "there is none")], []
    if not fitting:
        why = f"the one that is there is not {subnet}"
        replaced = [Step(RemoveTwinNetwork(network_id=one.id), why) for one in _replaceable(seen)]
        return [], [*replaced, Step(MakeNetwork(), why)]
    needed_first = sorted(fitting, key=lambda one: (_can_go(one, seen), one.id))
    others = [*needed_first[1:], *(one for one in seen.networks if one not in fitting)]
    return [
        Step(RemoveTwinNetwork(network_id=twin.id), "two networks have one name")
        for twin in others
        if _can_go(twin, seen)
    ], []


def _can_go(network: Network, seen: Seen) -> bool:
    return not network.containers and network.labels.get(LABEL_GATEWAY) == seen.names.gateway


def _replaceable(seen: Seen) -> Iterator[Network]:
    for network in seen.networks:
        users = set(network.containers) - {seen.node_container_id}
        if _can_go(replace(network, containers=tuple(users)), seen):
            yield network


def _before_create(node: list[Step], late: list[Step]) -> Iterator[Step]:
    for step in node:
        if isinstance(step.action, CreateNode):
            yield from late
        yield step


def _what(action: Action, settled: Settled, seen: Seen) -> str:  # noqa: C901, PLR0911 - one line per action
    names = seen.names
    match action:
        case Pull():
            return f"pull the image {action.image}"
        case MakeNetwork():
            subnet = settled.spec.subnet
            return f"make the network {names.network}" + f" with {subnet}" * bool(subnet)
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
