"""What must be as before, whatever happened to a gateway's container, network or processes."""

import base64
import hashlib
import json
import re
import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.workloads import is_running, stateful_set
from tests.until import until

KEEPER = "keeper"
SIZE = 300_000
WRITES_ONCE = f"""
set -e
if [ ! -e /data/file ]; then
    head -c {SIZE} /dev/urandom >/data/file
    sync /data/file
    sync /data
fi
echo begun
trap "exit 0" TERM
sleep 100000 & wait
"""
PASSWORD = "/etc/rancher/node/password"
LISTED = "nodes,pods,persistentvolumeclaims,persistentvolumes,events,configmaps"


@dataclass(frozen=True)
class Look:
    """What is compared before and after."""

    claims: dict[str, str]
    volumes: dict[str, str]
    file: str
    port: str
    authority: str
    password: str


class Witness:
    """A gateway with a StatefulSet of one, whose claim of 1Gi holds a file."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        gateway.apply(stateful_set(KEEPER, WRITES_ONCE, ready="[ -s /data/file ]"))
        until(lambda: self._running_pod(self._listed()), "the pod that keeps a file")
        self.before = self.look(self._listed())
        assert self.before.file.startswith(f"{SIZE} ")

    def accept(self) -> None:
        """What is there now is as it should be, because a test changed it."""
        self.before = self.look(until(self._all_back, "the pod to run again"))

    def check(self) -> None:
        """The node is ready in this life, and everything is as it was."""
        listed = until(self._all_back, "the pod to run again")
        node = listed["Node"][0]
        nodes = [one["metadata"]["name"] for one in listed["Node"]]
        assert nodes == [self.gateway.node], nodes
        ready = next(one for one in node["status"]["conditions"] if one["type"] == "Ready")
        assert ready["status"] == "True", ready
        assert ready["lastHeartbeatTime"][:19] >= self._started_at()[:19], ready
        seen = self.look(listed)
        assert seen == self.before, f"{seen} is not {self.before}"
        told = [one.get("message", "") for one in listed["Event"]]
        refused = [message for message in told if "hash does not match" in message]
        assert not refused, refused
        self.check_volumes()

    def look(self, listed: dict[str, list[dict[str, Any]]]) -> Look:
        claims = listed["PersistentVolumeClaim"]
        assert {one["status"]["phase"] for one in claims} == {"Bound"}
        read = "wc -c </data/file; sha256sum </data/file"
        return Look(
            claims=uids(claims),
            volumes=uids(listed["PersistentVolume"]),
            file=" ".join(self.shell(read).split()),
            port=json.dumps(self.gateway.inspect()["NetworkSettings"]["Ports"], sort_keys=True),
            authority=self._authority(),
            password=self.gateway.exec("sha256sum", PASSWORD),
        )

    def check_volumes(self) -> None:
        """The container's volumes have names and are all that there are of this gateway."""
        mounts = self.gateway.inspect()["Mounts"]
        mounted = {one["Name"] for one in mounts if one["Type"] == "volume"}
        label = f"label=openshell.ai/gateway={self.gateway.name}"
        present = set(docker("volume", "ls", "--quiet", "--filter", label).split())
        assert present == mounted, f"there are {present}, mounted are {mounted}"
        nameless = [name for name in mounted if re.fullmatch(r"[0-9a-f]{64}", name)]
        assert not nameless, nameless

    def shell(self, script: str) -> str:
        """Run a script in the pod."""
        return self.gateway.kubectl("exec", f"{KEEPER}-0", "--", "sh", "-c", script)

    def _all_back(self) -> dict[str, list[dict[str, Any]]] | None:
        listed = self._listed()
        return listed if self._running_pod(listed) else None

    def _listed(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {
            kind: []
            for kind in ("Node", "Pod", "PersistentVolumeClaim", "PersistentVolume", "Event")
        }
        for one in self.gateway.get(LISTED, "-A")["items"]:
            found.setdefault(one["kind"], []).append(one)
        return found

    def _running_pod(self, listed: dict[str, list[dict[str, Any]]]) -> bool:
        (pod,) = [one for one in listed["Pod"] if one["metadata"]["name"] == f"{KEEPER}-0"]
        if not is_running(pod):
            return False
        started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        return started[:19] >= self._started_at()[:19]

    def _started_at(self) -> str:
        return self.gateway.inspect()["State"]["StartedAt"]

    def _authority(self) -> str:
        """Fingerprint of the certificate authority by which the live API is trusted."""
        config = yaml.safe_load(self.gateway.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        pem = base64.b64decode(cluster["certificate-authority-data"]).decode()
        host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
        context = ssl.create_default_context(cadata=pem)
        with (
            socket.create_connection((host, int(port)), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def uids(objects: list[dict[str, Any]]) -> dict[str, str]:
    """Of Kubernetes objects, by their names."""
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in objects}


class WriteLoad:
    """Writes without end, to the claim and to the datastore, and what of it was acknowledged.

    A line arrives here only after the write that it stands for was answered as done. The writers
    end with the node's container.
    """

    LINES = """
n=$(cat /data/lines 2>/dev/null | wc -l)
while [ "$n" -lt 100000 ]; do
    n=$((n + 1))
    echo "$n" >>/data/lines && sync /data/lines && echo "$n" || exit
done
"""
    OBJECTS = """
n=$(kubectl get configmap load -o 'jsonpath={.data.n}')
while :; do
    n=$((n + 1))
    kubectl patch configmap load -p "{\\"data\\":{\\"n\\":\\"$n\\"}}" >/dev/null || exit
    echo "$n"
done
"""

    def __init__(self, witness: Witness, folder: Path) -> None:
        self.witness = witness
        self.folder = folder
        self.writers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        gateway = self.witness.gateway
        if not gateway.kubectl("get", "configmap", "load", "--ignore-not-found"):
            gateway.kubectl("create", "configmap", "load", "--from-literal=n=0")
        self._begin("lines", "kubectl", "exec", f"{KEEPER}-0", "--", "sh", "-c", self.LINES)
        self._begin("objects", "sh", "-c", self.OBJECTS)
        until(lambda: self._last("lines") and self._last("objects"), "write load")
        return self

    def __exit__(self, kind: object, *_error: object) -> None:
        for writer in self.writers:
            if kind is not None:
                writer.kill()
            writer.wait(timeout=60)

    def check(self) -> None:
        """Nothing that was acknowledged is missing."""
        lines = self._last("lines")
        kept = self.witness.shell("cat /data/lines").split()
        missing = set(map(str, range(1, lines + 1))) - set(kept)
        assert not missing, f"{len(missing)} of {lines} lines, {sorted(missing)[:5]} …"
        kept_n = self.witness.gateway.get("configmap", "load")["data"]["n"]
        assert int(kept_n) >= self._last("objects"), kept_n

    def _begin(self, what: str, *argv: str) -> None:
        with (self.folder / what).open("wb") as out:
            argv = ("docker", "exec", self.witness.gateway.container, *argv)
            self.writers.append(subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL))

    def _last(self, what: str) -> int:
        """The last number that arrived whole."""
        whole, _, _ = (self.folder / what).read_text().rpartition("\n")
        return int(whole.rpartition("\n")[2] or 0)
