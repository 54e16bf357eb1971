"""Persistent volumes and claims as frozen snapshots, and rebinding volumes to another node name.

A volume of the local-path provisioner is a folder below the data volume and names the node that
has it. When the gateway's node has another name than the one before, the folder is still there:
only the name in the volume is wrong. An API server with the feature gate MutablePVNodeAffinity
(settable from Kubernetes 1.35 on) lets it be corrected in place, so that the volume keeps its uid
and its claim stays bound throughout.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from openshell_bootstrap.cluster.kubectl import Kubectl, Outcome
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import HOSTNAME_LABEL, Node
from openshell_bootstrap.cluster.objects import ObjectMeta, Resource, parse
from openshell_bootstrap.cluster.usage import parse_quantity
from openshell_bootstrap.errors import ClusterError
from openshell_bootstrap.models import DATA_PATH

SELECTED_NODE = "local.path.provisioner/selected-node"
"""Annotation by which the local-path provisioner remembers the node of a volume."""

NAME_FIELD = "metadata.name"

FOLDERS_SCRIPT = """\
while IFS= read -r path; do
    (cd -P -- "$path" 2>/dev/null && pwd -P) || echo
done
"""
"""For each path of stdin one line: where its folder really is, or nothing if it is none."""

VolumeKind = Literal["local", "hostPath", "other"]


@dataclass(frozen=True, slots=True)
class Affinity:
    """Which nodes can reach a volume.

    ``free``: no node is named. ``pinned``: exactly the nodes in ``names``, which are host-name
    labels or node names. ``unknown``: a shape that cannot be put down to a list of names;
    ``names`` are those that it mentions.
    """

    shape: Literal["free", "pinned", "unknown"]
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A persistent volume.

    Attributes:
        path: The folder on the node; empty for a kind that has none.
        reclaim_policy: What happens to the data when the claim is gone.
        claim: ``namespace/name`` it is or was bound to, empty if never.
        claim_uid: Of that claim.
        is_terminating: It is deleted already and waits for a finalizer.
        raw: The whole object as JSON.
    """

    name: str
    uid: str
    kind: VolumeKind
    path: str = ""
    affinity: Affinity = Affinity("free")
    reclaim_policy: str = "Delete"
    claim: str = ""
    claim_uid: str = ""
    is_terminating: bool = False
    raw: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A persistent volume claim.

    Attributes:
        volume: The volume that it is bound to, empty if to none.
        requested: Bytes that it asks for, 0 where that cannot be read.
    """

    namespace: str
    name: str
    uid: str
    volume: str = ""
    requested: int = 0
    is_terminating: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Requirement(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(msgspec.Struct, frozen=True, rename="camel"):
    match_expressions: list[_Requirement] | None = None
    match_fields: list[_Requirement] | None = None


class _NodeSelector(msgspec.Struct, frozen=True, rename="camel"):
    node_selector_terms: list[_Term]


class _NodeAffinity(msgspec.Struct, frozen=True):
    required: _NodeSelector | None = None


class _Path(msgspec.Struct, frozen=True):
    path: str


class _ObjectReference(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _VolumeSpec(msgspec.Struct, frozen=True, rename="camel"):
    local: _Path | None = None
    host_path: _Path | None = None
    node_affinity: _NodeAffinity | None = None
    claim_ref: _ObjectReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"


class _VolumeObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _VolumeSpec


class _Requested(msgspec.Struct, frozen=True):
    requests: dict[str, str] | None = None


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel"):
    volume_name: str = ""
    resources: _Requested = _Requested()


class _ClaimObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _ClaimSpec = _ClaimSpec()


def parse_volumes(resources: Sequence[Resource]) -> tuple[Volume, ...]:
    """The persistent volumes among these objects."""
    return tuple(_parse_volume(each.raw) for each in resources if each.kind == "PersistentVolume")


def parse_claims(resources: Sequence[Resource]) -> tuple[Claim, ...]:
    """The persistent volume claims among these objects."""
    claims = (
        parse(each.raw, _ClaimObject) for each in resources if each.kind == "PersistentVolumeClaim"
    )
    return tuple(
        Claim(
            namespace=claim.metadata.namespace,
            name=claim.metadata.name,
            uid=claim.metadata.uid,
            volume=claim.spec.volume_name,
            requested=parse_quantity((claim.spec.resources.requests or {}).get("storage", "")),
            is_terminating=claim.metadata.deletion_timestamp is not None,
        )
        for claim in claims
    )


def is_below_data(path: str) -> bool:
    """Whether a path, as it is written, lies below the data volume's mount."""
    plain = posixpath.normpath(path)
    is_plain = path.isprintable() and plain == path.rstrip("/")
    return is_plain and plain.startswith(f"{DATA_PATH}/")


def observe_folders(node: NodeExec, paths: Sequence[str]) -> dict[str, str | None]:
    """Where these folders of the node really are, links resolved; None: there is no such folder.

    Args:
        node: Where to look.
        paths: Absolute and printable.

    Raises:
        ClusterError: The look failed, or its answer cannot be read.
    """
    lines = "".join(f"{path}\n" for path in paths)
    completed = node.run(["sh", "-c", FOLDERS_SCRIPT], stdin=lines.encode())
    found = completed.stdout.decode(errors="replace").split("\n")
    if completed.exit_status != 0 or len(found) != len(paths) + 1:
        raise ClusterError(
            "The node's folders could not be looked at",
            details=completed.stderr.decode(errors="replace")[:500],
        )
    return {path: where or None for path, where in zip(paths, found[:-1], strict=True)}


def rebind_volumes(kubectl: Kubectl, volumes: Sequence[Volume], node: Node) -> dict[str, Outcome]:
    """Pin volumes to a node, all in one command; outcomes by the volume's name.

    A volume that changed since it was read is left alone (``conflict``). ``refused`` means that
    the API server does not let the affinity of a volume be changed.
    """
    return kubectl.replace({each.name: build_rebound(each, node) for each in volumes})


def build_rebound(volume: Volume, node: Node) -> bytes:
    """The volume's object with the node in place of those it is pinned to; nothing else changes.

    Every term names the node by its label: one release of the provisioner used the name field,
    which later ones cannot read.
    """
    changed: dict[str, Any] = msgspec.json.decode(volume.raw)
    selector = changed["spec"]["nodeAffinity"]["required"]
    terms = [_rebind_term(term, node.hostname) for term in selector["nodeSelectorTerms"]]
    selector["nodeSelectorTerms"] = [
        term for place, term in enumerate(terms) if term not in terms[:place]
    ]
    annotations = changed["metadata"].get("annotations") or {}
    if SELECTED_NODE in annotations:
        annotations[SELECTED_NODE] = node.name
    return msgspec.json.encode(changed)


def _rebind_term(term: dict[str, Any], hostname: str) -> dict[str, Any]:
    others = [each for each in term.get("matchExpressions") or () if each["key"] != HOSTNAME_LABEL]
    here = {"key": HOSTNAME_LABEL, "operator": "In", "values": [hostname]}
    return {"matchExpressions": [*others, here]}


def _parse_volume(raw: bytes) -> Volume:
    volume = parse(raw, _VolumeObject)
    spec = volume.spec
    claim = spec.claim_ref
    kind: VolumeKind = "local" if spec.local else "hostPath" if spec.host_path else "other"
    return Volume(
        name=volume.metadata.name,
        uid=volume.metadata.uid,
        kind=kind,
        path=(spec.local or spec.host_path or _Path("")).path,
        affinity=_parse_affinity(spec.node_affinity),
        reclaim_policy=spec.persistent_volume_reclaim_policy,
        claim=f"{claim.namespace}/{claim.name}" if claim else "",
        claim_uid=claim.uid if claim else "",
        is_terminating=volume.metadata.deletion_timestamp is not None,
        raw=raw,
    )


def _parse_affinity(affinity: _NodeAffinity | None) -> Affinity:
    if affinity is None or affinity.required is None:
        return Affinity("free")
    terms = [_parse_term(term) for term in affinity.required.node_selector_terms]
    names = frozenset[str]().union(*(term.names for term in terms))
    shapes = {term.shape for term in terms}
    return Affinity(shapes.pop() if len(shapes) == 1 else "unknown", names)


def _parse_term(term: _Term) -> Affinity:
    """One of several alternatives: all of its requirements must be met."""
    expressions = term.match_expressions or []
    fields = term.match_fields or []
    pins = [each for each in expressions if each.key == HOSTNAME_LABEL] + fields
    names = frozenset(value for pin in pins for value in pin.values or ())
    if not pins:
        # A term without any requirement matches no node at all.
        return Affinity("free" if expressions else "unknown")
    is_list = all(pin.operator == "In" and pin.values for pin in pins)
    is_name = all(each.key == NAME_FIELD for each in fields)
    agrees = all(frozenset(pin.values or ()) == names for pin in pins)
    return Affinity("pinned" if is_list and is_name and agrees else "unknown", names)
