"""Nodes run by plain `docker run`, with nothing of the product around them."""

import calendar
import io
import json
import tarfile
import time
from dataclasses import dataclass, field
from typing import Any

import docker
import docker.errors

from tests.until import until

DATA = "/var/lib/rancher/k3s"
BOOT_S = 90
SANDBOX = "openshell/sandbox:latest"

STAYING_SHELL = """
trap 'kill -TERM $k3s; wait $k3s; exit $?' TERM
while :; do
    k3s server "$@" & k3s=$!
    echo $k3s > /run/k3s.pid
    wait $k3s
done
"""
"""A first process that stays, as the product's does: k3s that ends is started again."""


def run_once(
    client: docker.DockerClient, image: str, *command: str, **options: Any
) -> tuple[int, str]:
    """Exit status and output of a container that ends by itself; nothing of it is left."""
    container = client.containers.run(
        image, list(command) or None, detach=True, network_mode="none", **options
    )
    try:
        status = container.wait(timeout=60)["StatusCode"]
        return int(status), container.logs().decode(errors="replace")
    finally:
        container.remove(force=True, v=True)


@dataclass
class Node:
    """One container of the node image."""

    container: Any
    booted: float = field(default_factory=time.time)

    @property
    def name(self) -> str:
        return str(self.container.name)

    def sh(self, script: str) -> str:
        """The output of a shell script in the node, which must succeed."""
        status, output = self.container.exec_run(["/bin/sh", "-c", script])
        assert status == 0, f"{script}: {status}: {output.decode(errors='replace')}"
        return output.decode()

    def try_kubectl(self, *words: str) -> str | None:
        """None where kubectl fails, or the node does not run."""
        try:
            status, output = self.container.exec_run(["kubectl", *words])
        except docker.errors.APIError:
            return None
        return output.decode() if status == 0 else None

    def can(self, *words: str) -> bool:
        return self.try_kubectl(*words) is not None

    def kubectl(self, *words: str) -> str:
        status, output = self.container.exec_run(["kubectl", *words])
        assert status == 0, f"kubectl {words}: {output.decode(errors='replace')}"
        return output.decode()

    def get(self, *words: str) -> dict[str, Any]:
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def apply(self, *objects: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.put("/tmp", {"objects.json": text})
        until(lambda: self.try_kubectl("apply", "-f", "/tmp/objects.json"), "objects are applied")

    def put(self, folder: str, files: dict[str, str]) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime = (
                    len(text.encode()),
                    time.time(),
                )  # k3s looks for another one
                tar.addfile(entry, io.BytesIO(text.encode()))
        assert self.container.put_archive(folder, buffer.getvalue())

    def log(self) -> str:
        return self.container.logs().decode(errors="replace")

    def await_log(self, text: str, timeout_s: float = BOOT_S) -> str:
        until(lambda: text in self.log() or not self.is_running(), text, timeout_s)
        assert text in self.log(), self.log()[-3000:]
        return self.log()

    def is_running(self) -> bool:
        self.container.reload()
        return bool(self.container.status == "running")

    def await_exit(self, timeout_s: int = 30) -> int:
        return int(self.container.wait(timeout=timeout_s)["StatusCode"])

    def await_ready(self, name: str = "") -> dict[str, Any]:
        """The node's own object, once it is Ready in this life and schedulable."""
        return until(lambda: self._ready_node(name or self.name), "the node is Ready")

    def _ready_node(self, name: str) -> dict[str, Any] | None:
        assert self.is_running(), self.log()[-3000:]
        told = self.try_kubectl("get", "node", name, "-o", "json")
        if told is None:
            return None
        node = json.loads(told)
        ready = next(
            (one for one in node["status"].get("conditions", ()) if one["type"] == "Ready"), None
        )
        fresh = ready is not None and ready["status"] == "True" and self._is_fresh(ready)
        return node if fresh and not node["spec"].get("taints") else None

    def _is_fresh(self, condition: dict[str, Any]) -> bool:
        beat = time.strptime(condition["lastHeartbeatTime"], "%Y-%m-%dT%H:%M:%SZ")
        return calendar.timegm(beat) >= int(self.booted)


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def pod(name: str, script: str, claim_name: str = "") -> dict[str, Any]:
    """A pod of the sandbox image; the claim is at /work."""
    container: dict[str, Any] = {
        "name": "main",
        "image": SANDBOX,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
    }
    spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 1}
    if claim_name:
        container["volumeMounts"] = [{"name": "work", "mountPath": "/work"}]
        spec["volumes"] = [{"name": "work", "persistentVolumeClaim": {"claimName": claim_name}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
