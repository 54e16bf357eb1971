"""Whether the gateway's node is ready, judged by what this life of it said.

After a restart the node object still says Ready from its last life, and so do log lines; what
counts is a Ready condition that was written after this start of k3s.
"""

from dataclasses import dataclass

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.nodes import Node, parse_nodes
from openshell_bootstrap.diagnosis import Diagnosis
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    BootstrapError,
    ClusterError,
    ContainerNotRunningError,
    NodeRefusedError,
)
from openshell_bootstrap.models import Container, Unknown

_ENDED = frozenset({"exited", "dead", "removing", "restarting"})


@dataclass(frozen=True, slots=True)
class Refused(Unknown):
    """The node runs and refuses to start k3s: there is no cluster to be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """One look at the gateway's container and at the nodes of its cluster.

    Attributes:
        node_name: The node that is to be ready.
        container: None: the engine says that it is gone.
        started_s: Epoch second of the present start of k3s; None while it was not started.
        nodes: All node objects, or why they could not be seen.
        sign: What the log of this life says about a failure; None where nobody looked.
    """

    node_name: str
    container: Container | None
    started_s: int | None
    nodes: tuple[Node, ...] | Unknown
    sign: Diagnosis | None = None

    @property
    def node(self) -> Node | None:
        """The gateway's own node object, if it was seen."""
        if isinstance(self.nodes, Unknown):
            return None
        return next((node for node in self.nodes if node.name == self.node_name), None)

    def __str__(self) -> str:
        container = "no container" if self.container is None else str(self.container)
        return f"{container}; {find_hindrance(self) or f'node {self.node_name} is ready'}"


def observe_readiness(engine: Engine, container_id: str, node_name: str) -> Readiness:
    """Look once; a node that does not answer yet is a look, not an error.

    Raises:
        EngineUnavailableError: The engine did not answer (transient).
    """
    container = engine.containers.find(container_id)
    started_s: int | None = None
    nodes: tuple[Node, ...] | Unknown
    if container is None or container.status != "running":
        nodes = Unknown("the container does not run")
    else:
        try:
            seen = Kubectl(ContainerNode(engine, container_id)).get_json_since_start("nodes")
        except NodeRefusedError as error:
            nodes = refused(error)
        except (ClusterError, ContainerNotRunningError) as error:
            nodes = unseen(error)
        else:
            started_s = seen.started_s if seen else None
            nodes = parse_nodes(seen.resources) if seen else Unknown("k3s was not started yet")
    return Readiness(node_name=node_name, container=container, started_s=started_s, nodes=nodes)


def refused(error: NodeRefusedError) -> Refused:
    """The refusal, in the words that the node's log has for it."""
    return Refused(f"it refuses to start k3s (openshell: refused: {error.details})")


def unseen(error: BootstrapError) -> Unknown:
    """What could not be seen, with the evidence."""
    return Unknown(f"{error.brief}: {error.details}" if error.details else error.brief)


def is_ready(seen: Readiness) -> bool:
    """The node is ready in this life, and pods can be scheduled to it."""
    return not find_hindrance(seen)


def find_hindrance(seen: Readiness) -> str:
    """Why the node is not ready yet; empty if it is."""
    node = seen.node
    if isinstance(seen.nodes, Unknown):
        return seen.nodes.cause
    if node is None:
        return f"node {seen.node_name} has not registered yet"
    if seen.started_s is None or not node.is_fresh(seen.started_s):
        return f"node {node.name} has not reported since this start of k3s"
    if node.ready != "True":
        return f"node {node.name} is not ready: {node.detail or 'no reason given'}"
    if not node.is_initialized:
        return f"node {node.name} waits for its cloud controller, nothing can be scheduled to it"
    return ""


def find_shortage(seen: Readiness) -> str:
    """What a node that is ready runs short of, and what that does; empty if nothing."""
    node = seen.node
    if node is None or not node.pressures:
        return ""
    pressures = ", ".join(node.pressures)
    return f"node {node.name} runs short ({pressures}): it takes no new pods and may evict some"


def find_cordon(seen: Readiness) -> str:
    """That a node that is ready was told to take no pods; empty if it was not."""
    node = seen.node
    if node is None or not node.is_cordoned:
        return ""
    return f"node {node.name} is cordoned: it takes no new pods"


def find_failure(seen: Readiness) -> str | None:
    """Why the node cannot become ready by waiting; None while it may."""
    container = seen.container
    if container is None:
        return "its container is gone"
    if container.status == "paused":
        return "its container is paused"
    if container.status in _ENDED:
        again = ", and the engine starts it again" if container.status == "restarting" else ""
        why = f": {container.error}" if container.error else ""
        return f"its container ended with exit code {container.exit_code}{why}{again}"
    if isinstance(seen.nodes, Refused):
        return seen.nodes.cause
    if seen.sign is not None and seen.sign.refused:
        return seen.sign.brief
    return None
