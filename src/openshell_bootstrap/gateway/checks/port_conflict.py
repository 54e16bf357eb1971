"""Why the engine could not bind a port of the host that looked free, and what to do about it."""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError, PortConflictError
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.checks.ports import (
    api_port_candidates,
    choose_api_port,
    container_holding,
)
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.models import Container, GatewaySpec, PublishedPort


def explain_conflict(
    conflict: PortConflictError, spec: GatewaySpec, seen: Seen, engine: Engine, host: Host
) -> PortConflictError:
    """The engine's refusal with the holder's name; or that there is none, and another port.

    An engine may keep a port bound whose container is gone: then nothing of the host shows it.
    """
    try:
        others = [one for one in engine.containers.list() if one.name != seen.names.container]
    except EngineError:  # it has said enough
        return conflict

    def holder(port: PublishedPort) -> str | None:
        return _holder(port, others, host if seen.engine.is_local else None)

    held = [
        f"{port.address}:{port.host_port}: {who}"
        for port in (spec.api_port, *spec.ports)
        if (who := holder(port))
    ]
    if held:
        remedies = ("Free it, or give the gateway another one (`--api-port`, `-p`).",)
        return PortConflictError(conflict.brief, "\n".join([conflict.details, *held]), remedies)
    where = "on this host " if seen.engine.is_local else ""
    nobody = f"No container, and nothing else that can be seen {where}has it: the engine keeps it."
    return PortConflictError(
        conflict.brief,
        f"{conflict.details}\n{nobody}",
        [*_another_port(spec, seen, others, host), "Or start the Docker engine anew: it lets go."],
    )


def _holder(port: PublishedPort, others: list[Container], host: Host | None) -> str | None:
    other = container_holding(port, others)
    if other is not None:
        return f"the container {other.name} has it"
    return host.port_holder(port) if host is not None else None


def _another_port(spec: GatewaySpec, seen: Seen, others: list[Container], host: Host) -> list[str]:
    """How to start on a port that is free now."""
    candidates = (
        port
        for port in api_port_candidates(spec.name, seen.host.ephemeral_ports)
        if port.host_port != spec.api_port.host_port
    )
    try:
        free = choose_api_port(
            candidates, others, host.port_holder if seen.engine.is_local else lambda _port: None
        )
    except PortConflictError:
        return []
    command = f"openshell gateway start --name {spec.name} --api-port {free.host_port}"
    return [f"Give it another port, its data stays: `{command}`."]
