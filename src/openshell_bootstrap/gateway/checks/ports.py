"""Ports of the host: which one a new gateway takes, and who else has one. Pure."""

import hashlib
from collections.abc import Callable, Iterable, Iterator

from openshell_bootstrap.errors import PortConflictError
from openshell_bootstrap.gateway.node_container import API_PORT
from openshell_bootstrap.models import Container, PublishedPort

LOOPBACK = "127.0.0.1"
_POOL = 10_000
_LOWEST = 1024
_PORTS = 65_536
_ANY = {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
_FALLBACK = 22_768
"""Where the kernel hands out nearly every port there is none that is out of its way."""


def api_port_candidates(gateway: str, ephemeral: tuple[int, int]) -> Iterator[PublishedPort]:
    """Ports for a gateway's API, in the order to try.

    They lie outside the range from which the kernel takes ports for outgoing connections, so that
    a port chosen once is not lost to a passing connection while the gateway is stopped.
    """
    first, last = ephemeral
    start = first - _POOL if first - _POOL > _LOWEST else last + 1
    if not _LOWEST < start <= _PORTS - _POOL:
        start = _FALLBACK
    offset = int(hashlib.sha256(gateway.encode()).hexdigest()[:8], 16)
    for step in range(_POOL):
        yield PublishedPort(LOOPBACK, start + (offset + step) % _POOL, API_PORT)


def choose_api_port(
    candidates: Iterable[PublishedPort],
    others: Iterable[Container],
    holder: Callable[[PublishedPort], str | None],
) -> PublishedPort:
    """The first candidate that no container has, running or not, and no process holds.

    Raises:
        PortConflictError: There is none.
    """
    taken = {port.host_port for container in others for port in container.ports}
    for port in candidates:
        if port.host_port not in taken and holder(port) is None:
            return port
    raise PortConflictError(
        "There is no free port for the Kubernetes API",
        remedies=["Name one with `--api-port`."],
    )


def container_holding(port: PublishedPort, others: Iterable[Container]) -> Container | None:
    """The running container that publishes this port of the host, if there is one."""
    for container in others:
        if container.is_up and any(overlap(port, theirs) for theirs in container.ports):
            return container
    return None


def overlap(one: PublishedPort, other: PublishedPort) -> bool:
    """Both cannot be bound at once. The engine keeps IPv4 and IPv6 apart."""
    addresses = {one.address, other.address}
    is_one_family = len({":" in address for address in addresses}) == 1
    is_one_place = len(addresses) == 1 or bool(addresses & _ANY)
    return one.host_port == other.host_port and is_one_family and is_one_place
