"""The node's own workloads (DNS, storage) as frozen snapshots.

A workload's status tells of the last life of its node until controllers and kubelet have caught
up, so what counts here are pods whose containers run since this life began.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

import msgspec

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.objects import ObjectMeta, Resource, parse

NAMESPACE = "kube-system"
KINDS = ("deployments.apps", "daemonsets.apps", "pods")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A Deployment or DaemonSet.

    Attributes:
        wanted: How many pods it is to have; None while its controller has not seen it yet.
        ready: How many of its pods are ready and run since this life of the node began.
    """

    kind: Literal["Deployment", "DaemonSet"]
    name: str
    wanted: int | None
    ready: int

    @property
    def is_available(self) -> bool:
        """It has all the pods that it is to have."""
        return self.wanted is not None and self.ready >= self.wanted

    def __str__(self) -> str:
        wanted = "?" if self.wanted is None else self.wanted
        return f"{self.kind} {self.name}: {self.ready} of {wanted} ready"


class _Expression(msgspec.Struct, frozen=True):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return labels.get(self.key) in (self.values or ())
            case "NotIn":
                return labels.get(self.key) not in (self.values or ())
            case "Exists":
                return self.key in labels
            case _:  # DoesNotExist
                return self.key not in labels


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        return (self.match_labels or {}).items() <= labels.items() and all(
            each.matches(labels) for each in self.match_expressions or ()
        )


class _WorkloadSpec(msgspec.Struct, frozen=True):
    selector: _Selector
    replicas: int = 1


class _WorkloadStatus(msgspec.Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    desired_number_scheduled: int = 0


class _WorkloadObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _WorkloadSpec
    status: _WorkloadStatus = _WorkloadStatus()


class _Running(msgspec.Struct, frozen=True, rename="camel"):
    started_at: datetime | None = None


class _State(msgspec.Struct, frozen=True):
    running: _Running | None = None


class _ContainerStatus(msgspec.Struct, frozen=True):
    ready: bool = False
    state: _State = _State()

    def is_ready_since(self, begun: datetime) -> bool:
        running = self.state.running
        started_at = None if running is None else running.started_at
        return self.ready and started_at is not None and started_at >= begun


class _PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    container_statuses: list[_ContainerStatus] | None = None


class _PodObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    status: _PodStatus = _PodStatus()

    def is_ready_since(self, begun: datetime) -> bool:
        containers = self.status.container_statuses
        return bool(containers) and all(each.is_ready_since(begun) for each in containers or ())


_Object = TypeVar("_Object", _WorkloadObject, _PodObject)


def observe_workloads(kubectl: Kubectl, begun: datetime) -> tuple[Workload, ...]:
    """The workloads of the node itself, by name.

    Args:
        kubectl: In the node.
        begun: When the node's container was started, with its time zone: pods outlive a k3s that
            is started again in it, and none outlives the container.

    Raises:
        ClusterError: As all of kubectl.
    """
    return parse_workloads(kubectl.get_json(*KINDS, namespace=NAMESPACE), begun)


def parse_workloads(resources: Sequence[Resource], begun: datetime) -> tuple[Workload, ...]:
    """The node's own workloads among these objects, with their pods among the same objects."""
    since = begun.replace(microsecond=0)  # Kubernetes tells whole seconds
    pods = _parse_own(resources, "Pod", _PodObject)
    up = [pod for pod in pods if pod.is_ready_since(since)]
    kinds: tuple[Literal["Deployment", "DaemonSet"], ...] = ("Deployment", "DaemonSet")
    found = [
        _read_workload(workload, kind, up)
        for kind in kinds
        for workload in _parse_own(resources, kind, _WorkloadObject)
    ]
    return tuple(sorted(found, key=lambda workload: workload.name))


def _parse_own(resources: Sequence[Resource], kind: str, shape: type[_Object]) -> list[_Object]:
    objects = (parse(each.raw, shape) for each in resources if each.kind == kind)
    return [each for each in objects if each.metadata.namespace == NAMESPACE]


def _read_workload(
    workload: _WorkloadObject, kind: Literal["Deployment", "DaemonSet"], up: Sequence[_PodObject]
) -> Workload:
    status = workload.status
    wanted = workload.spec.replicas if kind == "Deployment" else status.desired_number_scheduled
    return Workload(
        kind=kind,
        name=workload.metadata.name,
        wanted=wanted if status.observed_generation >= workload.metadata.generation else None,
        ready=sum(workload.spec.selector.matches(pod.metadata.labels or {}) for pod in up),
    )
