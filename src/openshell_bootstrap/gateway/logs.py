"""The node's own log: k3s and everything it runs beside the pods."""

from collections.abc import Iterator

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.node import get_container


def logs(
    name: str, *, engine: Engine, tail: int | None = None, follow: bool = False, since: float = 0
) -> Iterator[bytes]:
    """Lines of the node's log, oldest first, without line ends.

    Args:
        name: The gateway.
        engine: Where it runs.
        tail: Only the last lines, so many.
        follow: Go on until the node ends.
        since: Only lines from this moment on, in seconds since the epoch.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        GatewayStateError: It has no container, so no log.
    """
    container = get_container(name, engine)
    return engine.containers.logs(container.id, tail=tail, follow=follow, since=since)
