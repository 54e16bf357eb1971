"""The one thing that Kubernetes code needs from a node: to run a command in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S

READ_ALONG_SCRIPT = 'wc -c <"$0" && cat "$0" && exec "$@"'
"""A file's size in a line of its own and its bytes, then what the command prints."""


class NodeExec(Protocol):
    """Runs commands in the node's container."""

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> Completed:
        """Run a command to its end.

        Raises:
            ContainerNotRunningError: The container does not run (transient).
            EngineUnavailableError: The engine did not answer, or no end came in time (transient).
        """


@dataclass(slots=True)
class ReadingAlong:
    """Reads a file of the node with each command, since a call of its own would cost as much.

    Attributes:
        content: The file as the last command found it; None where it could not be read, and
            then the command was not run and failed.
    """

    node: NodeExec
    path: str
    content: bytes | None = None

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> Completed:
        """Run a command to its end; raises as the node does."""
        command = ["sh", "-c", READ_ALONG_SCRIPT, self.path, *argv]
        done = self.node.run(command, stdin=stdin, timeout_s=timeout_s)
        size, _, rest = done.stdout.partition(b"\n")
        end = int(size) if size.strip().isdigit() else None
        self.content = None if end is None else rest[:end]
        return replace(done, argv=tuple(argv), stdout=b"" if end is None else rest[end:])
