"""Which nodes of a gateway's cluster are left over, and what is to become of what names them.

Pure. A name is *departed* when nobody can be behind it: a node object other than the gateway's
own whose lease did not move, or a name that volumes or pods bear though it has no node object (a
clean-up was interrupted, or another tool removed the object).

The order that the plan stands for: volumes are rebound first, then node objects go, then the pods
bound to them. With the node object gone first, the provisioner would take the deletion of one of
its volumes for done and leave the files behind. Claims and volumes are never deleted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from openshell_bootstrap.cluster.nodes import Node, Pod
from openshell_bootstrap.cluster.volumes import Claim, Volume, is_below_data


@dataclass(frozen=True, slots=True)
class Identity:
    """The names that are the gateway's own.

    Attributes:
        node_name: The name that its node must have.
        host_name: Its container's host name: the name of the node of an image that does not
            know of node names. Never stale.
    """

    node_name: str
    host_name: str

    @property
    def names(self) -> frozenset[str]:
        """Both."""
        return frozenset({self.node_name, self.host_name})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What one look at the cluster showed.

    Attributes:
        started_s: Epoch second of the start of the k3s that said so.
        leases: When each node's lease was renewed last, by the node's name.
    """

    started_s: int
    nodes: tuple[Node, ...] = ()
    volumes: tuple[Volume, ...] = ()
    claims: tuple[Claim, ...] = ()
    pods: tuple[Pod, ...] = ()
    leases: Mapping[str, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUpPlan:
    """What is to be done, in this order, and what is left alone.

    Attributes:
        rebind: Volumes to pin to the gateway's node.
        nodes: Node objects to delete after that.
        pods: Pods to delete after that.
        reported: Sentences about what is left alone, and what to do.
    """

    rebind: tuple[Volume, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    reported: tuple[str, ...] = ()

    def without(self, names: Collection[str]) -> "CleanUpPlan":
        """The plan without the removal of these nodes and of the pods bound to them."""
        return replace(
            self,
            nodes=tuple(node for node in self.nodes if node.name not in names),
            pods=tuple(pod for pod in self.pods if pod.node_name not in names),
        )


def find_own_node(state: ClusterState, identity: Identity) -> Node | None:
    """The gateway's own node, if it is freshly ready: nothing is done without it."""
    for node in state.nodes:
        if node.name == identity.node_name:
            return node if node.ready == "True" and node.is_fresh(state.started_s) else None
    return None


def list_departed(state: ClusterState, identity: Identity) -> frozenset[str]:
    """Names of nodes that may have departed: to be watched if they have a lease or an object."""
    named = {node.name for node in state.nodes}
    named.update(*(list_nodes_of(state, volume) for volume in state.volumes))
    named.update(pod.node_name for pod in state.pods)
    return frozenset(named) - identity.names - {""}


def list_nodes_of(state: ClusterState, volume: Volume) -> frozenset[str]:
    """Names of the nodes that a volume mentions, by name or by host-name label."""
    by_hostname = {node.hostname: node.name for node in state.nodes}
    return frozenset(by_hostname.get(name, name) for name in volume.affinity.names)


def list_suspects(state: ClusterState, identity: Identity) -> frozenset[str]:
    """Those of the departed names behind which somebody may still live."""
    known = {node.name for node in state.nodes} | state.leases.keys()
    return list_departed(state, identity) & known


def list_alive(before: ClusterState, after: ClusterState) -> frozenset[str]:
    """Names whose lease was renewed between two looks."""
    return frozenset(
        name
        for name, renewed in after.leases.items()
        if renewed is not None and renewed != before.leases.get(name)
    )


def list_movable(state: ClusterState, departed: Collection[str]) -> tuple[Volume, ...]:
    """Volumes that are to be rebound if their folders are where they should be."""
    alive = _list_alive_claims(state)
    return tuple(
        volume
        for volume in state.volumes
        if _is_pinned_to(state, volume, departed) and not _find_obstacle(volume, alive)
    )


def plan_clean_up(
    state: ClusterState,
    identity: Identity,
    departed: Collection[str],
    folders: Mapping[str, str | None],
) -> CleanUpPlan:
    """Decide what becomes of nodes, volumes and pods.

    Args:
        state: What is there now. Unless it shows the own node freshly ready, nothing is planned.
        identity: The gateway's own names.
        departed: Names that were watched, or that nothing could be behind.
        folders: Where the folders of :func:`list_movable` really are; None where there is none.
    """
    gone = frozenset(departed) - identity.names
    if find_own_node(state, identity) is None or not gone:
        return CleanUpPlan()
    movable = list_movable(state, gone)
    rebind = tuple(each for each in movable if is_below_data(folders.get(each.path) or ""))
    held = frozenset[str]().union(
        *(list_nodes_of(state, each) for each in state.volumes if each.affinity.shape == "unknown")
    )
    plan = CleanUpPlan(
        rebind=rebind,
        nodes=tuple(each for each in state.nodes if each.name in gone and not each.is_terminating),
        pods=tuple(pod for pod in state.pods if pod.node_name in gone),
        reported=(*_report_volumes(state, gone, rebind), *_report_nodes(state, gone)),
    )
    return plan.without(held & gone)


def _is_pinned_to(state: ClusterState, volume: Volume, departed: Collection[str]) -> bool:
    return volume.affinity.shape == "pinned" and list_nodes_of(state, volume) <= frozenset(departed)


def _list_alive_claims(state: ClusterState) -> frozenset[str]:
    return frozenset(claim.uid for claim in state.claims if not claim.is_terminating)


def _find_obstacle(volume: Volume, alive: frozenset[str]) -> str:
    """Why a volume is not to be rebound, wherever its folder is; empty if nothing is against it."""
    if volume.is_terminating:
        return f"it is being deleted, and its files, if any, stay in {volume.path}"
    if volume.kind == "other":
        return "its data is not a folder of this node"
    if not is_below_data(volume.path):
        return f"its folder {volume.path!r} is not on the gateway's data volume"
    if volume.reclaim_policy == "Delete" and volume.claim and volume.claim_uid not in alive:
        # A provisioner that finds the node again would at once erase the folder.
        return (
            f"its claim {volume.claim} is gone or being deleted, so that rebinding would erase "
            f"{volume.path}; to keep the files, set the volume's reclaim policy to Retain and "
            "start again"
        )
    return ""


def _report_volumes(
    state: ClusterState, gone: frozenset[str], rebind: Collection[Volume]
) -> tuple[str, ...]:
    sentences = []
    alive = _list_alive_claims(state)
    rebound = {volume.name for volume in rebind}
    for volume in state.volumes:
        mentioned = ", ".join(sorted(list_nodes_of(state, volume) & gone))
        if not mentioned or volume.name in rebound:
            continue
        if volume.affinity.shape == "unknown":
            reason = "its node affinity has a shape that is not understood, so the node stays too"
        elif not _is_pinned_to(state, volume, gone):
            continue
        else:
            reason = _find_obstacle(volume, alive) or (
                f"its folder {volume.path} is not there; if it comes back, start again"
            )
        sentences.append(f"Volume {volume.name} is left on node {mentioned}: {reason}.")
    return tuple(sentences)


def _report_nodes(state: ClusterState, gone: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        f"Node {node.name} is deleted already and waits for k3s to let it go; nothing to do."
        for node in state.nodes
        if node.name in gone and node.is_terminating
    )
