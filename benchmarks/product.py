"""The installed command with a home of its own, and gateways by it."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import measure
from openshell_bootstrap.names import GatewayNames, node_name

OPENSHELL = Path(sys.executable).with_name("openshell")
READY_STEP = "Waiting for the node"


@dataclass(frozen=True)
class Product:
    """``openshell`` for one user, whose home is a folder of this run."""

    home: Path
    image: str

    def gateway(self, *words: str) -> str:
        """What `openshell gateway …` prints."""
        return measure.run([OPENSHELL, "gateway", *words], environment=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if "OPENSHELL" not in key}
        return {
            **inherited,
            "OPENSHELL_NODE_IMAGE": self.image,
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
        }

    @contextmanager
    def borrowed(self) -> Iterator["Gateway"]:
        """A gateway that is destroyed afterwards, however this ends."""
        made = Gateway(self)
        try:
            yield made
        finally:
            made.destroy()


@dataclass(frozen=True)
class Gateway:
    """One gateway of a name that nobody else has."""

    product: Product
    name: str = field(default_factory=lambda: f"bench-{secrets.token_hex(3)}")

    @property
    def container(self) -> str:
        return GatewayNames(self.name).container

    @property
    def node(self) -> str:
        return node_name(self.name)

    def start(self) -> None:
        self.product.gateway("start", "--name", self.name)

    def time_to_ready(self) -> float:
        """Bring it up; seconds until its node was ready and schedulable, the command's own
        start included. Returns once the command has ended.
        """
        begun = time.monotonic()
        ready_s = None
        argv: list[str | Path] = [OPENSHELL, "gateway", "start", "--name", self.name, "-o", "json"]
        with subprocess.Popen(
            argv,
            env=self.product.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as command:
            assert command.stderr is not None
            lines = []
            for line in command.stderr:
                lines.append(line)
                if _is_ready_event(line):
                    ready_s = time.monotonic() - begun
        if command.returncode or ready_s is None:
            sys.exit(f"{' '.join(map(str, argv))}: {''.join(lines)}")
        return ready_s

    def stop(self) -> None:
        self.product.gateway("stop", "--name", self.name)

    def destroy(self) -> None:
        self.product.gateway("destroy", "--name", self.name, "--yes")

    def inspect(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = json.loads(measure.run(["docker", "inspect", self.container]))
        return found[0]

    def k3s_arguments(self) -> list[str]:
        """What k3s was really started with: the gateway's arguments and its entrypoint's."""
        script = "tr '\\0' '\\n' </proc/$(pidof k3s | tr ' ' '\\n' | sort -n | head -n 1)/cmdline"
        return self.exec("sh", "-c", script).splitlines()[1:]

    def exec(self, *argv: str, stdin: str | None = None) -> str:
        options = [] if stdin is None else ["--interactive"]
        return measure.run(["docker", "exec", *options, self.container, *argv], stdin=stdin)


def _is_ready_event(line: str) -> bool:
    event = json.loads(line)
    return bool(event["event"] == "step-finished" and event["title"] == READY_STEP and event["ok"])
