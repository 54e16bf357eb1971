"""Workloads for a node's cluster, all of the sandbox image that the node brings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.integration.gateway.driver import Gateway

IMAGE = "openshell/sandbox:latest"
WORK_FOLDER = "/var/lib/rancher/k3s/storage/work"
"""A folder of the data volume that pods see as /work: it can be read while no node runs."""


def pod_spec(
    name: str, script: str, *, policy: str = "Always", ready: str = "", grace_s: int = 10
) -> dict[str, Any]:
    """The script sees its name as ``$0``."""
    container: dict[str, Any] = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script, name],
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    if ready:
        container["readinessProbe"] = {
            "exec": {"command": ["sh", "-c", ready]},
            "periodSeconds": 1,
        }
    folder = {"path": WORK_FOLDER, "type": "DirectoryOrCreate"}
    return {
        "restartPolicy": policy,
        "terminationGracePeriodSeconds": grace_s,
        "containers": [container],
        "volumes": [{"name": "work", "hostPath": folder}],
    }


def pod(name: str, script: str, **options: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": {"app": name}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": pod_spec(name, script, **options),
    }


def job(name: str, script: str, **options: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(name, script, **options)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {"template": template},
    }


def stateful_set(
    name: str,
    script: str,
    *,
    ready: str,
    claims: Mapping[str, str] = MappingProxyType({"data": ""}),
    user: int | None = None,
) -> dict[str, Any]:
    """One pod with claims of 1Gi.

    Args:
        claims: Storage classes by the claim's name, which is the folder too; empty: the default.
        user: The uid of the pod's processes; None: what the image says.
    """
    labels = {"app": name}
    spec = pod_spec(name, script, ready=ready)
    mounts = spec["containers"][0]["volumeMounts"]
    mounts += [{"name": claim, "mountPath": f"/{claim}"} for claim in claims]
    if user is not None:
        spec["securityContext"] = {"runAsUser": user, "runAsNonRoot": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "serviceName": name,
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "volumeClaimTemplates": [claim(*each) for each in claims.items()],
        },
    }


def claim(name: str, storage_class: str = "") -> dict[str, Any]:
    """A claim of 1Gi; without a class, of the default one."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": spec,
    }


def is_running(pod: dict[str, Any]) -> bool:
    """It runs in this life of the node: a pod's status outlives its processes."""
    containers = pod["status"].get("containerStatuses", [])
    return bool(containers) and all(
        one["ready"] and "running" in one["state"] for one in containers
    )


def running(gateway: Gateway, app: str, *, since: str = "") -> dict[str, Any] | None:
    """The one pod of that label, if its containers run and were started at ``since`` or later.

    ``since`` is RFC 3339 and compared in whole seconds, which is what Kubernetes keeps.
    """
    found = gateway.get("pods", "-l", f"app={app}")["items"]
    assert len(found) == 1, f"pods of {app}: {[one['metadata']['name'] for one in found]}"
    if not is_running(found[0]):
        return None
    started = found[0]["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    return found[0] if started[:19] >= since[:19] else None
