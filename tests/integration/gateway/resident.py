"""A workload as people have it, and settings of its cluster: what must outlive every life."""

from typing import Any

from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.witness import uids
from tests.integration.gateway.workloads import claim, pod_spec, running, stateful_set
from tests.until import until

NAME = "resident"
USER = 1000
WORKSPACE = "openshell-workspace"
DATA = "/var/lib/rancher/k3s"
CLAIMS = {"workspace": WORKSPACE, "other": ""}
NOTES_EACH_START = f"""
set -e
[ "$(id -u)" = {USER} ]
for folder in /workspace /other; do
    echo begun >>$folder/starts
    sync $folder/starts
done
trap "exit 0" TERM
sleep 100000 & wait
"""
NAME_OF_THE_USER, ADDRESS = "kept.example.test", "192.0.2.7"
DNS = f"""
{NAME_OF_THE_USER}:53 {{
    hosts {{
        {ADDRESS} {NAME_OF_THE_USER}
    }}
}}
"""
MARKS = ("storageclass.kubernetes.io/is-default-class", "defaultVolumeType")
LASTING = "namespaces,statefulsets"


class Resident:
    """A StatefulSet of one that is not root, with a claim of each class and a DNS entry."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.starts = 0
        self.life = ""
        gateway.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "coredns-custom", "namespace": "kube-system"},
                "data": {"user.server": DNS},
            },
            stateful_set(NAME, NOTES_EACH_START, ready="true", claims=CLAIMS, user=USER),
        )
        self.check_started()
        self.lasting = uids(gateway.get(LASTING, "-A")["items"])
        self.classes = self._classes()

    def check_started(self) -> None:
        """It began once more: its own command ran, and wrote to both claims."""
        self.life = until(self._newer_life, "the resident to run again")
        self.starts += 1
        assert self.read("cat /workspace/starts") == "begun\n" * self.starts
        assert self.read("cat /other/starts") == "begun\n" * self.starts

    def check(self) -> None:
        """In another life of the node everything is as it was, and the name is answered."""
        self.check_started()
        assert uids(self.gateway.get(LASTING, "-A")["items"]) == self.lasting
        until(lambda: self._classes() == self.classes, "the storage classes as they were", 20)
        self.check_name()

    def check_name(self) -> None:
        until(
            lambda: ADDRESS in self.read(f"nslookup {NAME_OF_THE_USER}.").partition("\n\n")[2],
            "an answer for the user's own name",
            20,
        )

    def read(self, script: str) -> str:
        """What a script in the pod says."""
        told = self.gateway.kubectl("exec", f"{NAME}-0", "--", "sh", "-c", f"{script}; echo .")
        return told.removesuffix(".")

    def volumes(self) -> dict[str, dict[str, Any]]:
        """Those of its claims, by the claim's name."""
        found = self.gateway.get("persistentvolumes")["items"]
        claims = {f"{name}-{NAME}-0": name for name in CLAIMS}
        by_claim = {each["spec"]["claimRef"]["name"]: each for each in found}
        return {name: by_claim[full] for full, name in claims.items()}

    def _newer_life(self) -> str:
        pod = running(self.gateway, NAME)
        if pod is None:
            return ""
        begun = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        return begun if begun > self.life else ""

    def _classes(self) -> list[Any]:
        """What the provisioner is told, without what each write changes."""
        found = self.gateway.get("storageclasses")["items"]
        config = self.gateway.get("configmap", "local-path-config", "-n", "kube-system")["data"]
        for each in found:
            meta = each.pop("metadata")
            each["marks"] = [meta["name"], *(meta["annotations"].get(mark) for mark in MARKS)]
        return [found, config]


def late_writer(name: str) -> list[dict[str, Any]]:
    """A claim, and a pod that is not root and writes to it."""
    spec = pod_spec(name, "echo done >/late/file && exec sleep 100000", ready="[ -s /late/file ]")
    spec["containers"][0]["volumeMounts"].append({"name": "late", "mountPath": "/late"})
    spec["volumes"].append({"name": "late", "persistentVolumeClaim": {"claimName": name}})
    spec["securityContext"] = {"runAsUser": USER, "runAsNonRoot": True}
    meta = {"name": name, "labels": {"app": name}}
    return [
        claim(name, WORKSPACE),
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec},
    ]


def read_from_volume(gateway: Gateway, path: str, image: str) -> str:
    """A file of the data volume as the engine has it, with no node between."""
    assert path.startswith(f"{DATA}/")
    mount = f"{gateway.container}:/volume:ro"
    inside = path.replace(DATA, "/volume", 1)
    return docker("run", "--rm", "--network=none", f"--volume={mount}", image, "cat", inside)
