"""Run a command in a gateway's node, wired to this process's own terminal or pipes."""

from collections.abc import Sequence

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.gateway.node import get_running


def exec_in_node(name: str, argv: Sequence[str], *, engine: Engine, tty: bool) -> int:
    """Run the command to its end and return its exit status.

    Raises:
        ConfigError: There is no command.
        GatewayNotFoundError: There is no gateway of that name.
        GatewayStateError: It does not run.
    """
    if not argv:
        raise ConfigError(
            "There is no command to run in the node",
            remedies=["Give one: `openshell gateway exec -- ls /`."],
        )
    container = get_running(name, engine)
    return engine.containers.attach_exec(container.id, argv, tty=tty)


def kubectl(name: str, arguments: Sequence[str], *, engine: Engine, tty: bool) -> int:
    """Run the node's kubectl with these arguments; otherwise like :func:`exec_in_node`."""
    return exec_in_node(name, ["kubectl", *arguments], engine=engine, tty=tty)
