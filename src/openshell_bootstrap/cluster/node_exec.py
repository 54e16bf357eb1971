"""The one thing that Kubernetes code needs from a node: to run a command in it."""

from collections.abc import Sequence
from typing import Protocol

from openshell_bootstrap.models import Completed


class NodeExec(Protocol):
    """Runs commands in the node's container."""

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        """Run a command to its end.

        Raises:
            ContainerNotRunningError: The container does not run (transient).
            EngineUnavailableError: The engine did not answer, or no end came in time (transient).
        """
