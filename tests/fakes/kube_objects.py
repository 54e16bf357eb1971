"""Kubernetes objects as an API server tells them, cut down to what anybody here reads."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from openshell_bootstrap.cluster.nodes import HOSTNAME_LABEL, LEASE_NAMESPACE, UNINITIALIZED_TAINT
from openshell_bootstrap.cluster.volumes import NAME_FIELD, SELECTED_NODE

Manifest = dict[str, Any]

KINDS = {
    "nodes": "Node",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "pods": "Pod",
    "leases.coordination.k8s.io": "Lease",
    "deployments.apps": "Deployment",
    "daemonsets.apps": "DaemonSet",
    "events": "Event",
}
PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Lease": "leases.coordination.k8s.io",
    "Deployment": "deployments.apps",
    "DaemonSet": "daemonsets.apps",
    "Secret": "secrets",
}

STORAGE = "/var/lib/rancher/k3s/storage"


def rfc3339(epoch_s: float, *, micro: bool = False) -> str:
    moment = datetime.fromtimestamp(epoch_s, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def node(
    name: str,
    *,
    heartbeat_s: float | None = None,
    ready: str = "True",
    message: str = "",
    uninitialized: bool = False,
    hostname: str = "",
    finalizers: Sequence[str] = (),
) -> Manifest:
    """A node; without a heartbeat it has no conditions at all."""
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME_LABEL: hostname or name}},
        "spec": {},
        "status": {},
    }
    if finalizers:
        made["metadata"]["finalizers"] = list(finalizers)
    if uninitialized:
        made["spec"]["taints"] = [{"key": UNINITIALIZED_TAINT, "effect": "NoSchedule"}]
    if heartbeat_s is not None:
        made["status"]["nodeInfo"] = {"kubeletVersion": "v1.36.3+k3s1"}
        made["status"]["addresses"] = [{"type": "InternalIP", "address": "172.18.0.2"}]
        made["status"]["conditions"] = [
            {"type": "MemoryPressure", "status": "False"},
            {
                "type": "Ready",
                "status": ready,
                "message": message,
                "lastHeartbeatTime": rfc3339(heartbeat_s),
            },
        ]
    return made


def lease(node_name: str, renewed_s: float) -> Manifest:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node_name, "namespace": LEASE_NAMESPACE},
        "spec": {"holderIdentity": node_name, "renewTime": rfc3339(renewed_s, micro=True)},
    }


def pod(
    name: str, node_name: str, *, controller: str = "", finalizers: Sequence[str] = ()
) -> Manifest:
    """A pod; ``controller`` is the kind of the object that makes it again."""
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node_name, "containers": [{"name": "c", "image": "none:none"}]},
    }
    if controller:
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": controller,
                "name": "owner",
                "uid": "00000000-0000-4000-8000-000000000001",
                "controller": True,
            }
        ]
    if finalizers:
        made["metadata"]["finalizers"] = list(finalizers)
    return made


def hostname_in(*names: str) -> Manifest:
    """The affinity that the local-path provisioner writes."""
    return affinity(term(requirement(HOSTNAME_LABEL, "In", *names)))


def name_field_in(*names: str) -> Manifest:
    """The affinity that one release of it wrote."""
    return affinity({"matchFields": [requirement(NAME_FIELD, "In", *names)]})


def affinity(*terms: Manifest) -> Manifest:
    return {"required": {"nodeSelectorTerms": list(terms)}}


def term(*requirements: Manifest) -> Manifest:
    return {"matchExpressions": list(requirements)}


def requirement(key: str, operator: str, *values: str) -> Manifest:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def volume(
    name: str,
    node_name: str = "",
    *,
    path: str = "",
    kind: str = "local",
    policy: str = "Delete",
    node_affinity: Manifest | None = None,
    claim_uid: str | None = None,
) -> Manifest:
    """A volume as the local-path provisioner makes it, pinned to ``node_name`` if given."""
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {
                "pv.kubernetes.io/provisioned-by": "rancher.io/local-path",
                SELECTED_NODE: node_name,
            },
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local-path",
            "persistentVolumeReclaimPolicy": policy,
            kind: {"path": path or f"{STORAGE}/{name}"},
        },
    }
    wanted = node_affinity or (hostname_in(node_name) if node_name else None)
    if wanted:
        made["spec"]["nodeAffinity"] = wanted
    if claim_uid is not None:
        made["spec"]["claimRef"] = _claim_ref(name, claim_uid)
    return made


def _claim_ref(volume_name: str, uid: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": f"claim-{volume_name}",
        "uid": uid,
    }


def claim(volume_name: str, *, uid: str = "") -> Manifest:
    """The claim that a volume is bound to."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"claim-{volume_name}", "namespace": "default", "uid": uid},
        "spec": {
            "volumeName": volume_name,
            "storageClassName": "local-path",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def node_password(node_name: str, password: str) -> Manifest:
    """The Secret by which a cluster knows its node; here it holds what it should hold a hash of."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{node_name}.node-password.k3s", "namespace": "kube-system"},
        "data": {"hash": password},
    }


def password_event(node_name: str, epoch_s: float, cause: str) -> Manifest:
    """What k3s records of a node password that it could not confirm."""
    told = (
        "Deferred node password secret validation failed: unable to verify password for node "
        f"{node_name}: {cause}"
    )
    moment = rfc3339(epoch_s)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node_name}.{epoch_s:.3f}", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": node_name},
        "reason": "NodePasswordValidationFailed",
        "message": told,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
    }


def running_workload(name: str, started_s: float) -> tuple[Manifest, Manifest]:
    """A deployment of one pod, and the pod, which runs since then."""
    place = {"namespace": "kube-system", "labels": {"app": name}}
    running = {"ready": True, "state": {"running": {"startedAt": rfc3339(started_s)}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "generation": 1, **place},
        "spec": {"selector": {"matchLabels": {"app": name}}, "replicas": 1},
        "status": {"observedGeneration": 1},
    }
    pod_of_it = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-0", **place},
        "spec": {},
        "status": {"containerStatuses": [running]},
    }
    return deployment, pod_of_it
