"""Checks before anything is touched: every problem at once, each with its remedy.

Pure but for one question: whether a port of this host can be bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.errors import (
    BootstrapError,
    ConfigError,
    EngineError,
    GatewayStateError,
    PortConflictError,
    PullError,
)
from openshell_bootstrap.events import Notice, Reporter
from openshell_bootstrap.gateway.host import Host
from openshell_bootstrap.gateway.node_container import parse_volume
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.gateway.plan import (
    CreateNode,
    RemoveTwinNetwork,
    StartNode,
    StartPlan,
)
from openshell_bootstrap.gateway.ports import container_holding, overlap
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import GatewaySpec, PublishedPort

MIN_INOTIFY_INSTANCES = 64
"""A kubelet, containerd and the pods' own watchers need about this many to come up at all."""
GOOD_INOTIFY_INSTANCES = 512

MIN_INOTIFY_WATCHES = 8192

MIN_FREE_NEW = 2 * 1024**3
"""A new node unpacks its own images and starts its datastore: about 1 GiB, and room to work."""
MIN_FREE_AGAIN = 256 * 1024**2
"""An existing datastore must be able to write when it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What is to be checked."""

    request: StartRequest
    spec: GatewaySpec
    seen: Seen
    plan: StartPlan
    image_present: bool


def check(checks: Checks, *, host: Host, report: Reporter) -> None:
    """Refuse before anything is touched.

    Raises:
        BootstrapError: The first problem's class; every problem is in its details.
    """
    seen, spec, plan = checks.seen, checks.spec, checks.plan
    problems = [
        *_engine_problems(seen),
        *_volume_problems(seen),
        *_network_problems(seen, plan),
    ]
    if plan.recreates and not checks.image_present and checks.request.pull == "never":
        problems.append(image_absent(spec.image, "pulling is off (`--pull never`)"))
    if any(isinstance(step.action, CreateNode | StartNode) for step in plan.steps):
        problems += _mount_problems(spec, is_local=seen.engine.is_local)
        problems += _inotify_problems(seen, report)
        problems += _disk_problems(seen)
        problems += _port_problems(spec, seen, host)
    _raise(problems)


def image_absent(image: str, details: str) -> PullError:
    """The error of an image that is neither present nor to be had."""
    return PullError(
        f"The node image {image} is absent and could not be pulled",
        details=details,
        remedies=[
            "Where a registry can be reached: `docker pull` it, or start again without "
            "`--pull never`.",
            "Without a registry: `docker load` an archive of it, or name an image that is present "
            "with `--image` or OPENSHELL_NODE_IMAGE.",
            "In a checkout of this project `make node-image` builds openshell/source-node:dev.",
        ],
    )


def _raise(problems: list[BootstrapError]) -> None:
    if not problems:
        return
    first, *rest = problems
    if rest:
        more = [f"also: {problem.brief}" for problem in rest]
        first.details = "\n".join([part for part in (first.details, *more) if part])
        first.remedies = tuple(
            dict.fromkeys(remedy for problem in problems for remedy in problem.remedies)
        )
    raise first


def _engine_problems(seen: Seen) -> Iterator[BootstrapError]:
    if seen.engine.is_rootless:
        yield EngineError(
            "The Docker engine runs rootless, and a node needs a privileged container",
            details=f"endpoint {seen.engine.endpoint} ({seen.engine.endpoint_source})",
            remedies=["Use the system's own engine: `docker context use default`."],
        )


def _inotify_problems(seen: Seen, report: Reporter) -> Iterator[BootstrapError]:
    instances, watches = seen.host.inotify_instances, seen.host.inotify_watches
    if instances is not None and instances < MIN_INOTIFY_INSTANCES:
        yield _inotify("max_user_instances", instances, GOOD_INOTIFY_INSTANCES)
    elif instances is not None and instances < GOOD_INOTIFY_INSTANCES:
        report(
            Notice(
                f"fs.inotify.max_user_instances is {instances}: with several gateways raise it to "
                f"{GOOD_INOTIFY_INSTANCES}."
            )
        )
    if watches is not None and watches < MIN_INOTIFY_WATCHES:
        yield _inotify("max_user_watches", watches, 524288)


def _inotify(name: str, found: int, good: int) -> EngineError:
    return EngineError(
        f"The kernel's limit fs.inotify.{name} is too low for a node",
        details=f"fs.inotify.{name} = {found}",
        remedies=[f"`sysctl -w fs.inotify.{name}={good}` as root."],
    )


def _volume_problems(seen: Seen) -> Iterator[BootstrapError]:
    for user in seen.volume_users:
        if user.is_up:
            yield GatewayStateError(
                f"The container {user.name} uses the volume {seen.names.volume}",
                details=f"container {user.id[:12]}, image {user.image}, {user.status}; two nodes "
                "on one volume would destroy its datastore",
                remedies=[f"Stop it first: `docker stop {user.name}`."],
            )


def _network_problems(seen: Seen, plan: StartPlan) -> Iterator[BootstrapError]:
    """A container is made by its network's name, so that there must be one of that name alone."""
    going = {
        step.action.network_id for step in plan.steps if isinstance(step.action, RemoveTwinNetwork)
    }
    staying = [network.id for network in seen.networks if network.id not in going]
    if plan.recreates and len(staying) > 1:
        yield EngineError(
            f"There are {len(staying)} networks called {seen.names.network}",
            details=", ".join(network_id[:12] for network_id in staying),
            remedies=["Remove those that are not the gateway's: `docker network rm ID`."],
        )


def _mount_problems(spec: GatewaySpec, *, is_local: bool) -> Iterator[BootstrapError]:
    targets: set[str] = set()
    for text in spec.volumes:
        try:
            mount = parse_volume(text)
        except ConfigError as error:
            yield error
            continue
        if mount.target in targets:
            yield ConfigError(
                f"Two volumes are to be mounted at {mount.target}",
                remedies=["Give every `-v` another place in the node."],
            )
        targets.add(mount.target)
        if is_local and mount.kind == "bind" and not Path(mount.source).exists():
            yield ConfigError(
                f"The host has no {mount.source}, which is to be mounted at {mount.target}",
                remedies=["Make it first, or correct the path given with `-v`."],
            )


def _disk_problems(seen: Seen) -> Iterator[BootstrapError]:
    free = seen.host.free_bytes
    needed = MIN_FREE_AGAIN if seen.volume is not None else MIN_FREE_NEW
    if free is not None and free < needed:
        yield EngineError(
            f"Not enough disk space below {seen.engine.data_root}",
            details=f"{free // 1024**2} MiB are free, {needed // 1024**2} MiB are needed",
            remedies=["`docker system df` shows what the engine holds; free some of it."],
        )


def _port_problems(spec: GatewaySpec, seen: Seen, host: Host) -> Iterator[BootstrapError]:
    wanted = (spec.api_port, *spec.ports)
    own = seen.container.ports if seen.container is not None and seen.container.is_up else ()
    for index, port in enumerate(wanted):
        if any(overlap(port, other) for other in wanted[:index]):
            yield ConfigError(
                f"The host port {port.address}:{port.host_port} is asked for twice",
                remedies=["Give every published port another port of the host."],
            )
        elif not any(overlap(port, ours) for ours in own) and (why := _hindrance(port, seen, host)):
            yield PortConflictError(
                f"The host port {port.address}:{port.host_port} cannot be had: {why}",
                remedies=[
                    "Free it, or give the gateway another one "
                    "(`--api-port` for the API, `-p` for further ports)."
                ],
            )


def _hindrance(port: PublishedPort, seen: Seen, host: Host) -> str | None:
    other = container_holding(port, seen.others)
    if other is not None:
        return f"the container {other.name} has it"
    return host.port_holder(port) if seen.engine.is_local else None
