"""Clean up after nodes that are no more: rebind their volumes, drop their objects.

A gateway's cluster keeps a node object for every name that its node ever had, and its volumes
and pods go on naming it. Nothing here can lose data: volumes are corrected in place, claims and
volumes are never deleted, and every deletion is bound to the uid of what was looked at.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from openshell_bootstrap.cluster.kubectl import Deletion, Kubectl, Outcome, SinceStart
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import Node, Pod, parse_leases, parse_nodes, parse_pods
from openshell_bootstrap.cluster.volumes import (
    observe_folders,
    parse_claims,
    parse_volumes,
    rebind_volumes,
)
from openshell_bootstrap.errors import (
    ClusterError,
    ClusterUnreachableError,
    EngineError,
    GatewayStateError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import Notice, Reporter, silent, step
from openshell_bootstrap.gateway.inside.stale_plan import (
    CleanUpPlan,
    ClusterState,
    Identity,
    find_own_node,
    list_alive,
    list_departed,
    list_movable,
    list_nodes_of,
    list_suspects,
    plan_clean_up,
)
from openshell_bootstrap.gateway.results import CleanedNodes
from openshell_bootstrap.models import Patience
from openshell_bootstrap.settings import EXEC_PATIENCE, LEASE_WATCH_S
from openshell_bootstrap.waits import wait_until

T = TypeVar("T")

KINDS = ("nodes", "pv", "pvc", "pods", "leases.coordination.k8s.io")

MAX_ROUNDS = 5
"""How often the cluster is looked at again because something changed under the plan."""

_NOT_DONE = ("conflict", "refused")

_MESSAGE_LIMIT = 300

KeepPods = Callable[[Sequence[Pod]], None]
"""Puts away pods that nothing makes again, before they are deleted."""


def clean_stale_nodes(
    node: NodeExec,
    identity: Identity,
    *,
    keep_pods: KeepPods,
    report: Reporter = silent,
    patience: Patience = EXEC_PATIENCE,
) -> CleanedNodes:
    """Remove what earlier names of the gateway's node left behind. Safe to repeat.

    Acts only if the gateway's own node is freshly ready. A look at the cluster costs one command;
    only where another name is found does anything wait: for 25 seconds, in which a node that
    lives renews its lease at least twice.

    Args:
        node: The gateway's container.
        identity: The gateway's own names.
        keep_pods: Called with pods that nothing makes again, before they are deleted; what it
            raises ends the clean-up with those pods still there.
        report: Told of steps, and of those pods.
        patience: How long a failing command is tried again. After that ``postponed`` of the
            result says why, and nothing more was deleted.

    Raises:
        GatewayStateError: Another node is alive: a second owner of the volume.
    """
    work = _CleanUp(Kubectl(node), identity, keep_pods, report, patience)
    try:
        work.run()
    except WaitTimeoutError as error:
        work.postponed = error.details.removeprefix("last look: ") or error.brief
    return work.result()


@dataclass(slots=True)
class _CleanUp:
    kubectl: Kubectl
    identity: Identity
    keep_pods: KeepPods
    report: Reporter
    patience: Patience
    nodes: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)
    uncontrolled: list[str] = field(default_factory=list)
    reported: tuple[str, ...] = ()
    postponed: str = ""

    def run(self) -> None:
        first = self._look()
        departed = list_departed(first, self.identity)
        if find_own_node(first, self.identity) is None:
            self.postponed = f"Node {self.identity.node_name} is not ready"
            return
        if not departed:
            return
        with step(self.report, f"Cleaning up after {', '.join(sorted(departed))}"):
            state = self._watch(first, departed)
            for _ in range(MAX_ROUNDS):
                if self._act(state, departed):
                    return
                state = self._look_again(first, departed)
        self.postponed = "Nodes, volumes or pods kept changing meanwhile"

    def result(self) -> CleanedNodes:
        return CleanedNodes(
            removed_nodes=tuple(self.nodes),
            rebound_volumes=tuple(self.volumes),
            removed_pods=tuple(self.pods),
            uncontrolled_pods=tuple(self.uncontrolled),
            reported=self.reported,
            postponed=self.postponed,
        )

    def _watch(self, first: ClusterState, departed: frozenset[str]) -> ClusterState:
        """See that nobody is behind the departed names; the state after that."""
        if not list_suspects(first, self.identity):
            return first
        begun = time.monotonic()
        wait_until(
            time.monotonic,
            lambda now: now - begun >= LEASE_WATCH_S,
            patience=Patience(timeout_s=2 * LEASE_WATCH_S, interval_s=1),
            what="other nodes to renew their leases",
        )
        return self._look_again(first, departed)

    def _look_again(self, first: ClusterState, departed: frozenset[str]) -> ClusterState:
        state = self._look()
        if alive := ", ".join(sorted(list_alive(first, state) & departed)):
            raise GatewayStateError(
                f"Node {alive} is alive in this gateway's cluster",
                details="It renewed its lease while it was watched, so a second container works "
                "on the gateway's volume or cluster. Nothing was changed.",
                remedies=[
                    "Find that container with `docker ps`, stop it, and start the gateway again."
                ],
            )
        return state

    def _act(self, state: ClusterState, departed: frozenset[str]) -> bool:
        """Carry the plan out; False if something changed meanwhile and is to be looked at again."""
        own = find_own_node(state, self.identity)
        if own is None:
            self.postponed = f"Node {self.identity.node_name} is not ready any more"
            return True
        movable = [volume.path for volume in list_movable(state, departed)]
        folders = (
            self._patiently(lambda: observe_folders(self.kubectl.node, movable)) if movable else {}
        )
        plan = plan_clean_up(state, self.identity, departed, folders)
        self.reported = plan.reported
        rebound = self._rebind(plan, own)
        held = [volume for volume in plan.rebind if rebound[volume.name].kind in _NOT_DONE]
        plan = plan.without(set().union(*(list_nodes_of(state, volume) for volume in held)))
        removed = self._remove(plan)
        return not any(each.kind == "conflict" for each in (*rebound.values(), *removed))

    def _rebind(self, plan: CleanUpPlan, own: Node) -> dict[str, Outcome]:
        if not plan.rebind:
            return {}
        outcomes = self._patiently(lambda: rebind_volumes(self.kubectl, plan.rebind, own))
        self.volumes += [name for name, outcome in outcomes.items() if outcome.kind == "done"]
        self.reported += tuple(
            f"Volume {name} could not be rebound to node {own.name}, so its old node stays: "
            f"{outcome.message[:_MESSAGE_LIMIT]}. Choose a node image with Kubernetes 1.35 to "
            "1.37, where the API server allows it, and start again."
            for name, outcome in outcomes.items()
            if outcome.kind == "refused"
        )
        return outcomes

    def _remove(self, plan: CleanUpPlan) -> list[Outcome]:
        """Delete node objects, then pods; the outcomes of the node objects."""
        if not plan.nodes and not plan.pods:
            return []
        if last := [pod for pod in plan.pods if not pod.has_controller]:
            names = ", ".join(str(pod) for pod in last)
            self.keep_pods(last)
            self.report(Notice(f"Nothing makes these pods again, so they were saved: {names}"))
        outcomes = self._patiently(lambda: self.kubectl.delete(_list_deletions(plan)))
        self.nodes += [node.name for node in plan.nodes if outcomes[node.url].kind == "done"]
        gone = [pod for pod in plan.pods if outcomes[pod.url].kind == "done"]
        self.pods += [str(pod) for pod in gone]
        self.uncontrolled += [str(pod) for pod in gone if not pod.has_controller]
        self.reported += tuple(
            f"{url.rpartition('/')[2]} could not be deleted: {outcome.message[:_MESSAGE_LIMIT]}"
            for url, outcome in outcomes.items()
            if outcome.kind == "refused"
        )
        return [outcomes[node.url] for node in plan.nodes]

    def _look(self) -> ClusterState:
        def look() -> ClusterState:
            seen = self.kubectl.get_json_since_start(*KINDS)
            if seen is None:
                raise ClusterUnreachableError("k3s was not started yet")
            return parse_state(seen)

        return self._patiently(look)

    def _patiently(self, call: Callable[[], T]) -> T:
        """Whatever makes a command fail, try again: all of them are safe to repeat."""

        def attempt() -> T:
            try:
                return call()
            except (ClusterError, EngineError) as error:
                raise ClusterUnreachableError(error.brief, error.details) from error

        return wait_until(
            attempt, lambda _done: True, patience=self.patience, what="an answer of the node"
        )


def parse_state(seen: SinceStart) -> ClusterState:
    """What one look showed, as far as the plan needs it."""
    return ClusterState(
        started_s=seen.started_s,
        nodes=parse_nodes(seen.resources),
        volumes=parse_volumes(seen.resources),
        claims=parse_claims(seen.resources),
        pods=parse_pods(seen.resources),
        leases={each.node_name: each.renewed for each in parse_leases(seen.resources)},
    )


def _list_deletions(plan: CleanUpPlan) -> list[Deletion]:
    nodes = [
        Deletion(
            url=node.url, uid=node.uid, resource_version=node.resource_version, is_required=True
        )
        for node in plan.nodes
    ]
    return [*nodes, *(Deletion(url=pod.url, uid=pod.uid, grace_s=0) for pod in plan.pods)]
