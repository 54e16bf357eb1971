"""Checks before anything is touched: every problem at once, each with its remedy.

Pure but for one question: whether a port of this host can be bound.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from openshell_bootstrap.errors import (
    BootstrapError,
    ConfigError,
    GatewayStateError,
    PortConflictError,
    PullError,
)
from openshell_bootstrap.events import Notice, Reporter
from openshell_bootstrap.gateway.checks.findings import (
    Finding,
    engine_finding,
    fine,
    machine_findings,
    problem,
    unknown,
)
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.checks.ports import container_holding, overlap
from openshell_bootstrap.gateway.checks.subnet import overlapping
from openshell_bootstrap.gateway.node_container import parse_volume
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import (
    CreateNode,
    MakeNetwork,
    RemoveTwinNetwork,
    StartNode,
    StartPlan,
)
from openshell_bootstrap.models import GatewaySpec, Network, PublishedPort


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What is to be checked."""

    request: StartRequest
    spec: GatewaySpec
    seen: Seen
    plan: StartPlan
    image_present: bool
    networks: tuple[Network, ...] = ()
    """All of the engine's, where the gateway's is to have a certain range."""


def check(checks: Checks, *, host: Host, report: Reporter) -> None:
    """Refuse before anything is touched.

    Raises:
        BootstrapError: The first problem's class; every problem is in its details.
    """
    found = [engine_finding(checks.seen.engine), *standing_findings(checks)]
    if any(isinstance(step.action, CreateNode | StartNode) for step in checks.plan.steps):
        found += host_findings(checks, host)
    for finding in found:
        if finding.severity == "warning":
            report(Notice(". ".join([finding.brief, *finding.remedies])))
    _raise([finding.as_error() for finding in found if finding.severity == "problem"])


def standing_findings(checks: Checks) -> Iterator[Finding]:
    """What stands in the way among the engine's volumes, networks and images."""
    yield from _volume_findings(checks.seen)
    yield _network_finding(checks)
    yield _image_finding(checks)


def host_findings(checks: Checks, host: Host) -> Iterator[Finding]:
    """What a node needs of the engine's host when it starts."""
    seen, spec = checks.seen, checks.spec
    return chain(
        _mount_findings(spec, is_local=seen.engine.is_local),
        machine_findings(seen.engine, seen.host, is_new=seen.volume is None),
        _port_findings(spec, seen, host),
    )


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
        more = [f"also: {one.brief}" for one in rest]
        first.details = "\n".join([part for part in (first.details, *more) if part])
        first.remedies = tuple(dict.fromkeys(remedy for one in problems for remedy in one.remedies))
    raise first


def _image_finding(checks: Checks) -> Finding:
    image = checks.spec.image
    if checks.image_present:
        return fine("image", f"The node image {image} is present")
    if not checks.plan.recreates:
        return fine("image", f"The node image {image} is absent, and the container needs no other")
    if checks.request.pull == "never":
        return Finding.of_error("image", image_absent(image, "pulling is off (`--pull never`)"))
    return unknown("image", f"The node image {image} is absent: a start pulls it, not tried yet")


def _volume_findings(seen: Seen) -> Iterator[Finding]:
    users = [user for user in seen.volume_users if user.is_up]
    for user in users:
        yield problem(
            "volume",
            f"The container {user.name} uses the volume {seen.names.volume}",
            f"Stop it first: `docker stop {user.name}`.",
            details=f"container {user.id[:12]}, image {user.image}, {user.status}; two nodes "
            "on one volume would destroy its datastore",
            kind=GatewayStateError,
        )
    if not users:
        there = "nobody else uses it" if seen.volume else "it is not there yet"
        yield fine("volume", f"The volume {seen.names.volume}: {there}")


def _network_finding(checks: Checks) -> Finding:
    """A container is made by its network's name, so that there must be one of that name alone."""
    plan, name, subnet = checks.plan, checks.seen.names.network, checks.spec.subnet
    going = {
        step.action.network_id for step in plan.steps if isinstance(step.action, RemoveTwinNetwork)
    }
    staying = [network for network in checks.seen.networks if network.id not in going]
    if any(isinstance(step.action, MakeNetwork) for step in plan.steps):
        others = [one for one in checks.networks if one.id not in going]
        if staying:
            return _network_problem(
                f"The network {name} is not {subnet}, and is not the gateway's alone",
                staying,
                f"Remove it when nobody uses it: `docker network rm {name}`.",
            )
        if subnet and (holders := overlapping(subnet, others)):
            return _network_problem(
                f"Other networks have addresses of {subnet}", holders, "Give another `--subnet`."
            )
    elif plan.recreates and len(staying) > 1:
        return _network_problem(
            f"There are {len(staying)} networks called {name}",
            staying,
            "Remove those that are not the gateway's: `docker network rm ID`.",
        )
    return fine("network", f"The network {name}: {'there' if staying else 'not there yet'}")


def _network_problem(brief: str, networks: Iterable[Network], remedy: str) -> Finding:
    told = [f"{one.name} ({one.id[:12]}) {' '.join(one.subnets)}".rstrip() for one in networks]
    return problem("network", brief, remedy, details="\n".join(told))


def _mount_findings(spec: GatewaySpec, *, is_local: bool) -> Iterator[Finding]:
    targets: set[str] = set()
    for text in spec.volumes:
        try:
            mount = parse_volume(text)
        except ConfigError as error:
            yield Finding.of_error("mounts", error)
            continue
        if mount.target in targets:
            yield problem(
                "mounts",
                f"Two volumes are to be mounted at {mount.target}",
                "Give every `-v` another place in the node.",
                kind=ConfigError,
            )
        targets.add(mount.target)
        if is_local and mount.kind == "bind" and not Path(mount.source).exists():
            yield problem(
                "mounts",
                f"The host has no {mount.source}, which is to be mounted at {mount.target}",
                "Make it first, or correct the path given with `-v`.",
                kind=ConfigError,
            )


def _port_findings(spec: GatewaySpec, seen: Seen, host: Host) -> Iterator[Finding]:
    wanted = (spec.api_port, *spec.ports)
    own = seen.container.ports if seen.container is not None and seen.container.is_up else ()
    for index, port in enumerate(wanted):
        name = f"The host port {port.address}:{port.host_port}"
        if any(overlap(port, other) for other in wanted[:index]):
            yield problem(
                "port",
                f"{name} is asked for twice",
                "Give every published port another port of the host.",
                kind=ConfigError,
            )
        elif any(overlap(port, ours) for ours in own):
            yield fine("port", f"{name} is the gateway's own")
        elif why := _hindrance(port, seen, host):
            yield problem(
                "port",
                f"{name} cannot be had: {why}",
                "Free it, or give the gateway another one "
                "(`--api-port` for the API, `-p` for further ports).",
                kind=PortConflictError,
            )
        else:
            yield fine("port", f"{name} is free")


def _hindrance(port: PublishedPort, seen: Seen, host: Host) -> str | None:
    other = container_holding(port, seen.others)
    if other is not None:
        return f"the container {other.name} has it"
    return host.port_holder(port) if seen.engine.is_local else None
