"""One look into a running node: its node object, its workloads, its claims, its pods' names.

``status`` asks everything in one command, since each costs a start of kubectl; only the pods'
name server needs one of its own, and what the claims hold, where that is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from openshell_bootstrap.cluster.kubectl import Kubectl, SinceStart
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import parse_nodes, parse_pods
from openshell_bootstrap.cluster.pod_dns import PodDns, observe_pod_dns
from openshell_bootstrap.cluster.usage import observe_usage
from openshell_bootstrap.cluster.volumes import parse_claims, parse_volumes
from openshell_bootstrap.cluster.workloads import KINDS as WORKLOAD_KINDS
from openshell_bootstrap.cluster.workloads import parse_workloads
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    ClusterError,
    ClusterUnreachableError,
    ContainerNotRunningError,
    NodeRefusedError,
)
from openshell_bootstrap.gateway.evidence.node_log import begin_s, parse_moment
from openshell_bootstrap.gateway.inside.claims import Storage
from openshell_bootstrap.gateway.inside.readiness import (
    Readiness,
    Refused,
    find_cordon,
    find_hindrance,
    find_shortage,
    refused,
    unseen,
)
from openshell_bootstrap.gateway.inside.workloads import expected_workloads
from openshell_bootstrap.gateway.results import NodeStatus, WorkloadStatus
from openshell_bootstrap.gateway.state import Complaint, NodePart
from openshell_bootstrap.models import Container, GatewaySpec, Unknown
from openshell_bootstrap.settings import USAGE_TIMEOUT_S

KINDS = ("nodes", "pv", "pvc", *WORKLOAD_KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What one look into a node showed.

    Attributes:
        readiness: Of the node.
        dns: None where nothing was asked.
    """

    readiness: Readiness
    workloads: tuple[WorkloadStatus, ...] = ()
    storage: Storage = field(default_factory=Storage)
    dns: PodDns | None = None

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the node's own workloads that are not available."""
        return tuple(one.name for one in self.workloads if one.ready < one.wanted)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of node objects beside the gateway's own."""
        seen = self.readiness
        if isinstance(seen.nodes, Unknown):
            return ()
        return tuple(node.name for node in seen.nodes if node.name != seen.node_name)

    @property
    def part(self) -> NodePart:
        """The state of the node."""
        return find_node_part(self.readiness)

    @property
    def node(self) -> NodeStatus | None:
        """The node as a result tells it; None where the API did not answer."""
        seen = self.readiness
        if isinstance(seen.nodes, Unknown):
            return None
        own = seen.node
        hindrance = find_hindrance(seen)
        return NodeStatus(
            name=seen.node_name,
            ready=not hindrance,
            version=own.version if own else "",
            address=own.address if own else "",
            detail=hindrance,
            foreign=self.others,
            pressures=own.pressures if own and not hindrance else (),
        )

    @property
    def said(self) -> str:
        """The state of the node in words."""
        if self.others and not find_hindrance(self.readiness):
            return f"other nodes are in its cluster: {', '.join(self.others)}"
        return find_hindrance(self.readiness)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Where to look, and at what."""

    node: NodeExec
    node_name: str
    container: Container
    spec: GatewaySpec | None
    usage: bool


def find_node_part(seen: Readiness) -> NodePart:
    """The state of the gateway's own node."""
    if isinstance(seen.nodes, Refused):
        return "refused"
    if isinstance(seen.nodes, Unknown):
        return "unknown"
    node = seen.node
    if node is None:
        return "none"
    if seen.started_s is None or not node.is_fresh(seen.started_s):
        return "stale"
    if find_hindrance(seen):
        return "not-ready"
    return "foreign" if len(seen.nodes) > 1 else "fresh"


def look_inside(
    engine: Engine, container: Container, spec: GatewaySpec | None, *, is_retired: bool, usage: bool
) -> Inside:
    """Look into a container that runs.

    Args:
        engine: Where it runs.
        container: The gateway's.
        spec: Its settings, where they are known.
        is_retired: Its entrypoint does not tell when it started k3s.
        usage: Measure what the claims hold.

    Raises:
        EngineError: The engine could not say.
    """
    node = ContainerNode(engine, container.id)
    name = spec.node_name if spec else container.hostname
    look = _Look(node=node, node_name=name, container=container, spec=spec, usage=usage)
    try:
        return _complete(_ask(Kubectl(node), container, is_retired=is_retired), look)
    except NodeRefusedError as error:
        nodes: Unknown = refused(error)
    except (ClusterError, ContainerNotRunningError) as error:
        nodes = unseen(error)
    return Inside(
        readiness=Readiness(node_name=name, container=container, started_s=None, nodes=nodes)
    )


def _ask(kubectl: Kubectl, container: Container, *, is_retired: bool) -> SinceStart:
    if is_retired:  # what its node says was said in this life if it was after this start
        return SinceStart(int(begin_s(container)), kubectl.get_json(*KINDS))
    seen = kubectl.get_json_since_start(*KINDS)
    if seen is None:
        raise ClusterUnreachableError("k3s was not started yet")
    return seen


def _complete(seen: SinceStart, look: _Look) -> Inside:
    readiness = Readiness(
        node_name=look.node_name,
        container=look.container,
        started_s=seen.started_s,
        nodes=parse_nodes(seen.resources),
    )
    workloads = _workloads(seen, look.container, look.spec)
    own = None if find_hindrance(readiness) else readiness.node
    has_dns = any(one.name == "coredns" and one.ready >= one.wanted for one in workloads)
    storage = Storage(
        claims=parse_claims(seen.resources),
        volumes=parse_volumes(seen.resources),
        pods=parse_pods(seen.resources),
        own=own,
    )
    return Inside(
        readiness=readiness,
        workloads=workloads,
        storage=replace(storage, used=_used(look.node, storage.folders)) if look.usage else storage,
        dns=observe_pod_dns(look.node, look.container.name) if own and has_dns else None,
    )


def _workloads(
    seen: SinceStart, container: Container, spec: GatewaySpec | None
) -> tuple[WorkloadStatus, ...]:
    found = parse_workloads(seen.resources, parse_moment(container.started_at))
    there = {one.name for one in found}
    expected = expected_workloads(spec) if spec else frozenset[str]()
    return (
        *(WorkloadStatus(name=name, ready=0, wanted=1) for name in sorted(expected - there)),
        *(
            WorkloadStatus(
                name=one.name,
                ready=one.ready,
                wanted=one.ready + 1 if one.wanted is None else one.wanted,
            )
            for one in found
        ),
    )


def _used(node: NodeExec, folders: Sequence[str]) -> dict[str, int | None] | None:
    if not folders:
        return {}
    try:
        return observe_usage(node, folders, USAGE_TIMEOUT_S)
    except ClusterError:
        return None


def complain(inside: Inside, name: str) -> tuple[Complaint, ...]:
    """What is not well in a cluster whose node is ready, the gravest first.

    Args:
        inside: What was seen.
        name: The gateway, for the commands that are advised.
    """
    return tuple(
        complaint
        for complaint in (
            _of_claims(inside.storage.stranded, name),
            _of_node(inside.readiness),
            _of_cordon(inside.readiness, name),
            _of_dns(inside.dns, name),
        )
        if complaint is not None
    )


def _of_claims(stranded: dict[str, str], name: str) -> Complaint | None:
    if not stranded:
        return None
    claim, node = next(iter(sorted(stranded.items())))
    more = f", and {len(stranded) - 1} more" if len(stranded) > 1 else ""
    cause = f"claim {claim} waits for a volume on node {node}, which is not in the cluster{more}"
    return Complaint(cause, f"`openshell gateway start --name {name}` rebinds it; the data stays")


def _of_node(seen: Readiness) -> Complaint | None:
    cause = find_shortage(seen)
    if not cause:
        return None
    if "DiskPressure" in cause:
        step = "Free space on the engine's disk: `docker system df` shows what the engine holds"
    else:
        step = "Give the host more of it, or run fewer pods; the node recovers by itself"
    return Complaint(cause, step)


def _of_cordon(seen: Readiness, name: str) -> Complaint | None:
    cause = find_cordon(seen)
    if not cause:
        return None
    uncordon = f"`openshell gateway kubectl --name {name} uncordon {seen.node_name}`"
    return Complaint(cause, f"{uncordon} lets it take pods again")


def _of_dns(dns: PodDns | None, name: str) -> Complaint | None:
    if dns is None or "failed" not in {dns.cluster, dns.outside}:
        return None
    where = "of the cluster's services" if dns.cluster == "failed" else "outside of the cluster"
    step = f"`openshell gateway restart --name {name}` sets the name server of pods up anew"
    return Complaint(f"pods cannot resolve names {where}", step)
