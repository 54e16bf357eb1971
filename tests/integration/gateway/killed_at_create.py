"""`openshell`, killed when the old container is gone and before it makes the new one.

usage: python -m tests.integration.gateway.killed_at_create ARGUMENT…
"""

import os
import signal
from typing import Any

from openshell_bootstrap.cli.main import run
from openshell_bootstrap.engine.containers import DockerContainers


def die(*_given: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    DockerContainers.create = die  # type: ignore[method-assign, assignment]  # it never returns
    run()
