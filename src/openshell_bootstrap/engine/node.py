"""A container as a node: a thing that runs commands."""

from collections.abc import Sequence
from dataclasses import dataclass

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class ContainerNode:
    """Runs commands in one container, named by id so that a successor is never mistaken for it."""

    engine: Engine
    container_id: str

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> Completed:
        """Run a command to its end; raises as ``Containers.exec`` does."""
        return self.engine.containers.exec(
            self.container_id, argv, stdin=stdin, timeout_s=timeout_s
        )
