"""A gateway as a retired release ran it, and looks at what must come over from it."""

import socket
from dataclasses import dataclass
from typing import Any

from tests.integration.gateway.driver import Gateway, docker
from tests.until import until

OLD_NODE = "0f3a9c1b2d4e"
OLD_PORT = 30051
STORAGE = "/var/lib/rancher/k3s/storage"
CLAIMS = 3
WRITE = """\
[ -e /work/file ] || head -c 100000 /dev/urandom >/work/file
trap exit TERM
while :; do sleep 1 & wait $!; done
"""


@dataclass(frozen=True)
class Data:
    """What must stay as it is: uids of claims and volumes, sums of files."""

    claims: dict[str, str]
    volumes: dict[str, str]
    files: str


@dataclass(frozen=True)
class Look:
    """One look at a gateway's cluster and at the files on its volume."""

    objects: list[dict[str, Any]]
    files: str

    @classmethod
    def at(cls, gateway: Gateway) -> "Look":
        objects = gateway.get("nodes,pv,pvc,pods")["items"]
        return cls(objects, gateway.exec("sh", "-c", f"sha256sum {STORAGE}/*/file"))

    @property
    def data(self) -> Data:
        return Data(self._uids("PersistentVolumeClaim"), self._uids("PersistentVolume"), self.files)

    @property
    def volumes(self) -> list[dict[str, Any]]:
        return [one for one in self.objects if one["kind"] == "PersistentVolume"]

    @property
    def nodes_of_volumes(self) -> set[str]:
        """Names of the nodes to which volumes are pinned."""
        return {pins(volume)[0] for volume in self.volumes}

    def names(self, kind: str) -> list[str]:
        return list(self._uids(kind))

    def _uids(self, kind: str) -> dict[str, str]:
        metas = [one["metadata"] for one in self.objects if one["kind"] == kind]
        return {meta["name"]: meta["uid"] for meta in metas}


def pins(volume: dict[str, Any]) -> list[str]:
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return term["matchExpressions"][0]["values"]


def run_as_the_retired_release_did(gateway: Gateway, image: str, host_port: int) -> Data:
    """One plain container named after itself, whose pods keep files on three claims."""
    words = f"--detach --privileged --name {gateway.container} --hostname {OLD_NODE}".split()
    words += [f"--volume={gateway.container}:/var/lib/rancher/k3s"]
    words += [f"--publish=0.0.0.0:{host_port}:{OLD_PORT}"]
    # The argument lets a kubelet run where the host has cgroup v1 only.
    docker("run", *words, image, "server", "--kubelet-arg=fail-cgroupv1=false")
    until(lambda: gateway.kubectl("get", "storageclass", "local-path"), "the old node's start")
    gateway.apply(_workload())
    until(lambda: running_pods(gateway) == CLAIMS, "the old node's pods")
    return Look.at(gateway).data


def _workload() -> dict[str, Any]:
    container = {
        "name": "work",
        "image": "openshell/sandbox:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", WRITE],
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    storage = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    labels = {"app": "work"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "work"},
        "spec": {
            "replicas": CLAIMS,
            "podManagementPolicy": "Parallel",
            "serviceName": "work",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{"metadata": {"name": "work"}, "spec": storage}],
        },
    }


def running_pods(gateway: Gateway) -> int:
    statuses = [pod["status"] for pod in gateway.get("pods", "-l", "app=work")["items"]]
    ready = [one["containerStatuses"][0]["ready"] for one in statuses]
    return len([one for one in ready if one])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("0.0.0.0", 0))
        return probe.getsockname()[1]
