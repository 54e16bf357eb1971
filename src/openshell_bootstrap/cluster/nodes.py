"""Nodes, their leases and the pods bound to them, as frozen snapshots."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import msgspec

from openshell_bootstrap.cluster.kubectl import build_url
from openshell_bootstrap.cluster.objects import ObjectMeta, Resource, parse

HOSTNAME_LABEL = "kubernetes.io/hostname"
CORDON_TAINT = "node.kubernetes.io/unschedulable"
UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized"
"""On a node until k3s's own cloud controller has seen it: Ready, but nothing is scheduled to it."""

LEASE_NAMESPACE = "kube-node-lease"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node object.

    Attributes:
        hostname: Its host-name label, by which volumes name it.
        ready: Status of its condition Ready; empty if there is none yet.
        heartbeat: When its kubelet last said so, in whole seconds.
        detail: What the condition's message says.
        pressures: Its conditions that say that it runs short: ``DiskPressure`` and the like.
        taints: Keys of its taints.
        is_terminating: It is deleted already and waits for a finalizer.
    """

    name: str
    uid: str
    resource_version: str
    hostname: str
    ready: Literal["True", "False", "Unknown", ""] = ""
    heartbeat: datetime | None = None
    detail: str = ""
    pressures: tuple[str, ...] = ()
    taints: frozenset[str] = frozenset()
    is_terminating: bool = False
    version: str = ""
    address: str = ""

    @property
    def url(self) -> str:
        """Its path on the API server."""
        return build_url("nodes", self.name)

    @property
    def is_initialized(self) -> bool:
        """Its cloud controller has seen it, so pods may be scheduled to it."""
        return UNINITIALIZED_TAINT not in self.taints

    @property
    def is_cordoned(self) -> bool:
        """Somebody ran ``kubectl cordon`` or ``drain``: it takes no new pods until uncordoned."""
        return CORDON_TAINT in self.taints

    def is_fresh(self, started_s: int) -> bool:
        """Its Ready condition was written in this life of k3s.

        After a restart the object still tells of the last life, for up to 50 seconds.

        Args:
            started_s: Epoch second of this start of k3s.
        """
        return self.heartbeat is not None and self.heartbeat.timestamp() >= started_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A node's lease: its kubelet renews it every 10 seconds, and nobody else does."""

    node_name: str
    renewed: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod.

    Attributes:
        node_name: The node it is bound to; empty if it is not.
        has_controller: Something makes it again when it is gone.
        claims: Names of the claims of its namespace that it mounts.
        raw: The whole object as JSON, without its managed fields.
    """

    namespace: str
    name: str
    uid: str
    node_name: str
    has_controller: bool
    claims: tuple[str, ...] = ()
    raw: bytes = field(default=b"", repr=False)

    @property
    def url(self) -> str:
        """Its path on the API server."""
        return build_url("pods", self.name, namespace=self.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str
    status: Literal["True", "False", "Unknown"]
    last_heartbeat_time: datetime | None = None
    message: str = ""


class _Taint(msgspec.Struct, frozen=True):
    key: str


class _Address(msgspec.Struct, frozen=True):
    type: str
    address: str


class _NodeInfo(msgspec.Struct, frozen=True, rename="camel"):
    kubelet_version: str = ""


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: list[_Taint] | None = None


class _NodeStatus(msgspec.Struct, frozen=True, rename="camel"):
    conditions: list[_Condition] | None = None
    addresses: list[_Address] | None = None
    node_info: _NodeInfo = _NodeInfo()


class _NodeObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    renew_time: datetime | None = None


class _LeaseObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _LeaseSpec = _LeaseSpec()


class _ClaimSource(msgspec.Struct, frozen=True, rename="camel"):
    claim_name: str


class _PodVolume(msgspec.Struct, frozen=True, rename="camel"):
    persistent_volume_claim: _ClaimSource | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    volumes: list[_PodVolume] | None = None


class _PodObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _PodSpec = _PodSpec()


_NO_CONDITION = _Condition(type="Ready", status="Unknown")


def parse_nodes(resources: Sequence[Resource]) -> tuple[Node, ...]:
    """The nodes among these objects."""
    return tuple(_parse_node(each.raw) for each in resources if each.kind == "Node")


def parse_leases(resources: Sequence[Resource]) -> tuple[Lease, ...]:
    """The nodes' leases among these objects; other leases are elections and the like."""
    leases = (parse(each.raw, _LeaseObject) for each in resources if each.kind == "Lease")
    return tuple(
        Lease(node_name=lease.metadata.name, renewed=lease.spec.renew_time)
        for lease in leases
        if lease.metadata.namespace == LEASE_NAMESPACE
    )


def parse_pods(resources: Sequence[Resource]) -> tuple[Pod, ...]:
    """The pods among these objects."""
    return tuple(_parse_pod(each.raw) for each in resources if each.kind == "Pod")


def _parse_node(raw: bytes) -> Node:
    node = parse(raw, _NodeObject)
    meta = node.metadata
    conditions = {each.type: each for each in node.status.conditions or ()}
    ready = conditions.get("Ready")
    addresses = {each.type: each.address for each in node.status.addresses or ()}
    return Node(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        hostname=(meta.labels or {}).get(HOSTNAME_LABEL, meta.name),
        ready=ready.status if ready else "",
        heartbeat=(ready or _NO_CONDITION).last_heartbeat_time,
        detail=(ready or _NO_CONDITION).message,
        pressures=tuple(
            sorted(
                each.type
                for each in conditions.values()
                if each.type.endswith("Pressure") and each.status == "True"
            )
        ),
        taints=frozenset(taint.key for taint in node.spec.taints or ()),
        is_terminating=meta.deletion_timestamp is not None,
        version=node.status.node_info.kubelet_version,
        address=addresses.get("InternalIP", ""),
    )


def _parse_pod(raw: bytes) -> Pod:
    pod = parse(raw, _PodObject)
    return Pod(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        node_name=pod.spec.node_name,
        has_controller=any(each.controller for each in pod.metadata.owner_references or ()),
        claims=tuple(
            each.persistent_volume_claim.claim_name
            for each in pod.spec.volumes or ()
            if each.persistent_volume_claim
        ),
        raw=raw,
    )
