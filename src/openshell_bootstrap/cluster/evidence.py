"""What a cluster says of itself when something failed: its objects, cut to what tells a cause.

Secrets and config maps are never asked for, and of a pod's settings only its images are kept: what
a user gave to a pod is nobody else's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.objects import Resource

KINDS = ("nodes", "pv", "pvc", "pods", "events", "deployments.apps", "daemonsets.apps")
MAX_EVENTS = 300
_WELL_PHASES = frozenset({"Running", "Succeeded"})

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvidence:
    """Objects by the part of the evidence that they belong to, in JSON's own types.

    Attributes:
        objects: Nodes, volumes, claims and the node's own workloads.
        events: Of all objects, the latest at the end.
        pods: A line for each.
        unwell: Those that do not run as they should, with their containers' states.
        log_folders: Where the kubelet keeps the logs of the unwell ones, below ``/var/log/pods``.
    """

    objects: tuple[Object, ...]
    events: tuple[Object, ...]
    pods: tuple[str, ...]
    unwell: tuple[Object, ...]
    log_folders: tuple[str, ...]


def observe_evidence(kubectl: Kubectl) -> ClusterEvidence:
    """Read everything in one command.

    Raises:
        ClusterError: As all of kubectl.
    """
    return build_evidence(kubectl.get_json(*KINDS))


def build_evidence(resources: Sequence[Resource]) -> ClusterEvidence:
    """Sort and cut what was read. Pure."""
    read = [_strip(msgspec.json.decode(each.raw)) for each in resources]
    pods = [each for each in read if each.get("kind") == "Pod"]
    events = [each for each in read if each.get("kind") == "Event"]
    unwell = [pod for pod in pods if not is_well(pod)]
    others = [each for each in read if each.get("kind") not in {"Pod", "Event"}]
    return ClusterEvidence(
        objects=tuple(others),
        events=tuple(sorted(map(_cut_event, events), key=_moment)[-MAX_EVENTS:]),
        pods=tuple(map(_line, pods)),
        unwell=tuple(map(_cut_pod, unwell)),
        log_folders=tuple(map(_log_folder, unwell)),
    )


def describe_unwell(seen: ClusterEvidence) -> tuple[str, ...]:
    """Lines about pods that do not run as they should: their containers' states, then warnings."""
    told = []
    for pod in seen.unwell:
        name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata'].get('name', '')}"
        status = pod["status"] or {}
        told += [f"{name}: {said}" for said in (*_said(status), *_waiting(status))]
    warnings = [event for event in seen.events if event["type"] == "Warning"]
    told += [f"{each['about']}: {each['reason']}: {each['message']}" for each in warnings]
    return tuple(dict.fromkeys(told))


def _said(status: Object) -> list[str]:
    parts = [status.get("reason"), status.get("message")]
    return [": ".join(part for part in parts if part)] if any(parts) else []


def _waiting(status: Object) -> list[str]:
    states = (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )
    found = []
    for each in states:
        for state in (each.get("state") or {}), (each.get("lastState") or {}):
            stopped = state.get("waiting") or state.get("terminated") or {}
            parts = [each.get("name"), stopped.get("reason"), stopped.get("message")]
            if stopped:
                found.append(": ".join(str(part) for part in parts if part))
    return found


def is_well(pod: Mapping[str, Any]) -> bool:
    """It ended well, or all its containers are ready; and nobody waits for it to go."""
    status = pod.get("status") or {}
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return False
    if status.get("phase") == "Succeeded":
        return True
    states = status.get("containerStatuses") or []
    return (
        status.get("phase") in _WELL_PHASES
        and bool(states)
        and all(each.get("ready") for each in states)
    )


def _strip(found: Object) -> Object:
    """Without what says nothing or repeats the rest."""
    metadata = {
        key: value for key, value in (found.get("metadata") or {}).items() if key != "managedFields"
    }
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.endswith("last-applied-configuration")
    }
    return {**found, "metadata": {**metadata, "annotations": annotations}}


def _cut_pod(pod: Object) -> Object:
    spec = pod.get("spec") or {}
    containers = [
        {"name": each.get("name"), "image": each.get("image")}
        for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    ]
    claims = [
        each["persistentVolumeClaim"].get("claimName")
        for each in spec.get("volumes") or ()
        if each.get("persistentVolumeClaim")
    ]
    kept = {"nodeName": spec.get("nodeName"), "containers": containers, "claims": claims}
    return {"metadata": pod["metadata"], "spec": kept, "status": pod.get("status")}


def _cut_event(event: Object) -> Object:
    about = event.get("involvedObject") or {}
    return {
        "at": _said_at(event),
        "count": event.get("count", 1),
        "type": event.get("type"),
        "about": "/".join(
            str(about[key]) for key in ("kind", "namespace", "name") if about.get(key)
        ),
        "reason": event.get("reason"),
        "message": event.get("message"),
    }


def _said_at(event: Object) -> str:
    """An event has been told of in three ways over the years."""
    series = (event.get("series") or {}).get("lastObservedTime")
    created = (event.get("metadata") or {}).get("creationTimestamp")
    return str(series or event.get("lastTimestamp") or event.get("eventTime") or created or "")


def _moment(event: Object) -> str:
    return str(event["at"])


def _line(pod: Object) -> str:
    status, metadata = pod.get("status") or {}, pod["metadata"]
    states = status.get("containerStatuses") or []
    ready = sum(bool(each.get("ready")) for each in states)
    restarts = sum(int(each.get("restartCount") or 0) for each in states)
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    node = (pod.get("spec") or {}).get("nodeName", "no node")
    return f"{name}: {status.get('phase')}, {ready} ready, {restarts} restarts, {node}"


def _log_folder(pod: Object) -> str:
    """``NAMESPACE_NAME_UID``, as the kubelet names it."""
    metadata = pod["metadata"]
    return "_".join(str(metadata.get(key, "")) for key in ("namespace", "name", "uid"))
