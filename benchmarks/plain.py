"""The plain way: a user with the docker command, the same image and the same arguments."""

import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchmarks import measure
from benchmarks.product import Gateway
from openshell_bootstrap.cluster.nodes import UNINITIALIZED_TAINT
from openshell_bootstrap.models import DATA_PATH, SCRATCH_PATHS

VOLUME_PATHS = (DATA_PATH, *SCRATCH_PATHS.values())


@dataclass(frozen=True)
class PlainNode:
    """A container of the node image under the image's own entrypoint.

    Attributes:
        like: The gateway whose flags and k3s arguments it has.
        arguments: What that gateway's k3s was started with.
        flags: What `docker run` is told to make the container alike.
    """

    like: Gateway
    arguments: tuple[str, ...]
    flags: tuple[str, ...]
    name: str = field(default_factory=lambda: f"bench-plain-{secrets.token_hex(3)}")

    @classmethod
    def alike(cls, gateway: Gateway) -> "PlainNode":
        """A node like a gateway that runs."""
        # The resolver file and the name servers' address behind it are the entrypoint's work.
        arguments = [one for one in gateway.k3s_arguments() if "resolv-conf" not in one]
        return cls(gateway, tuple(arguments), tuple(_flags(gateway.inspect())))

    @property
    def volumes(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(len(VOLUME_PATHS)))

    @contextmanager
    def network(self) -> Iterator[None]:
        """A network as a gateway has one, for the node's life."""
        measure.run(["docker", "network", "create", self.name])
        try:
            yield
        finally:
            subprocess.run(["docker", "rm", "-f", self.name], capture_output=True, check=False)
            measure.run(["docker", "volume", "rm", "-f", *self.volumes])
            measure.run(["docker", "network", "rm", self.name])

    def run(self) -> None:
        mounts = [
            f"--volume={volume}:{path}"
            for volume, path in zip(self.volumes, VOLUME_PATHS, strict=True)
        ]
        words = [*self.flags, *mounts, f"--hostname={self.name}", f"--network={self.name}"]
        arguments = [self._renamed(argument) for argument in self.arguments]
        image = self.like.product.image
        measure.run(["docker", "run", "--detach", f"--name={self.name}", *words, image, *arguments])

    def is_ready(self, since_s: float) -> bool:
        """Its node has said so since then, and pods can be scheduled to it."""
        argv = ["docker", "exec", self.name, "kubectl", "get", "node", self.name, "-o", "json"]
        look = subprocess.run(argv, capture_output=True, text=True, check=False)
        return look.returncode == 0 and is_schedulable(json.loads(look.stdout), since_s)

    def time_to_ready(self) -> float:
        """Seconds from `docker run` until the node is ready."""
        with self.network():
            since_s, begun = int(time.time()), time.monotonic()
            self.run()
            measure.until(lambda: self.is_ready(since_s), f"node {self.name}")
            return time.monotonic() - begun

    def _renamed(self, argument: str) -> str:
        return argument.replace(self.like.container, self.name).replace(self.like.node, self.name)


def is_schedulable(node: dict[str, Any], since_s: float) -> bool:
    """It has reported Ready since then, and its cloud controller has seen it."""
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    ready = [one for one in node["status"].get("conditions", []) if one["type"] == "Ready"]
    return UNINITIALIZED_TAINT not in taints and any(
        one["status"] == "True"
        and datetime.fromisoformat(one["lastHeartbeatTime"]).timestamp() >= since_s
        for one in ready
    )


def _flags(inspected: dict[str, Any]) -> Iterator[str]:
    """The flags of `docker run` for what a gateway's container has and is no matter of names."""
    host = inspected["HostConfig"]
    yield from ("--privileged", f"--cgroupns={host['CgroupnsMode']}", "--userns=host")
    yield f"--restart={host['RestartPolicy']['Name']}"
    yield f"--stop-timeout={inspected['Config']['StopTimeout']}"
    yield "--publish=127.0.0.1::6443"
    yield from (f"--add-host={alias}" for alias in host["ExtraHosts"] or ())
    for mount in inspected["Mounts"]:
        if mount["Type"] == "bind":
            yield f"--volume={mount['Source']}:{mount['Destination']}:ro"
