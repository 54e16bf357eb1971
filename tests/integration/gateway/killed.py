"""`openshell`, killed before its nth command in a node; 0 lets it live.

usage: python -m tests.integration.gateway.killed N ARGUMENT…

Looking again whether the node is ready yet is not counted: how often that happens is chance.
The nodes that are made stale for this have nothing behind them, so that watching their leases is
cut short; the tests of adoption watch them for as long as everybody does.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from openshell_bootstrap.cli.main import run
from openshell_bootstrap.engine.containers import DockerContainers
from openshell_bootstrap.gateway.inside import stale_nodes

LOOK_FOR_NODES = "nodes"


class Countdown:
    """Stands before the commands that this process runs in containers."""

    def __init__(self, kill_before: int) -> None:
        self.left = kill_before
        self.has_looked = False
        self.run = DockerContainers.exec

    def exec(self, containers: Any, container_id: str, argv: Sequence[str], **how: Any) -> Any:
        is_look = LOOK_FOR_NODES in argv
        if not is_look or not self.has_looked:
            self.left -= 1
        self.has_looked = self.has_looked or is_look
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.run(containers, container_id, argv, **how)


if __name__ == "__main__":
    countdown = Countdown(int(sys.argv.pop(1)))
    # A bound method would not be told whose it is called as.
    DockerContainers.exec = lambda *given, **how: countdown.exec(*given, **how)  # noqa: PLW0108
    stale_nodes.LEASE_WATCH_S = 1.0
    run()
