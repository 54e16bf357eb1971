"""One look at a gateway that was left as it is: is there anything to wait for, or to clean up?"""

from dataclasses import dataclass, field

from openshell_bootstrap.cluster.kubectl import Kubectl, SinceStart
from openshell_bootstrap.cluster.node_exec import ReadingAlong
from openshell_bootstrap.cluster.workloads import KINDS as WORKLOAD_KINDS
from openshell_bootstrap.cluster.workloads import parse_workloads
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import ClusterError, EngineError
from openshell_bootstrap.gateway.inside.readiness import Readiness, is_ready
from openshell_bootstrap.gateway.inside.stale_nodes import KINDS as NODE_KINDS
from openshell_bootstrap.gateway.inside.stale_nodes import parse_state
from openshell_bootstrap.gateway.inside.stale_plan import Identity, list_departed
from openshell_bootstrap.gateway.inside.workloads import expected_workloads, missing_workloads
from openshell_bootstrap.gateway.starting.after_start import begin_of_life
from openshell_bootstrap.gateway.starting.save_records import NODE_KUBECONFIG
from openshell_bootstrap.models import GatewaySpec

KINDS = tuple(dict.fromkeys((*NODE_KINDS, *WORKLOAD_KINDS)))


@dataclass(frozen=True, slots=True)
class Healthy:
    """A gateway that is well, and its node's kubeconfig, which was read in the same command."""

    readiness: Readiness
    kubeconfig: bytes | None = field(repr=False)


def find_healthy(
    engine: Engine, container_id: str, spec: GatewaySpec, identity: Identity
) -> Healthy | None:
    """What was seen, if all is well: one command instead of one for each question.

    Returns:
        None where anything is not as it is to be, or could not be seen: the waits and the
        clean-up look again, with their own patience.
    """
    node = ReadingAlong(ContainerNode(engine, container_id), NODE_KUBECONFIG)
    try:
        container = engine.containers.find(container_id)
        seen = Kubectl(node).get_json_since_start(*KINDS)
    except (ClusterError, EngineError):
        return None
    if container is None or seen is None:
        return None
    state = parse_state(seen)
    readiness = Readiness(
        node_name=spec.node_name,
        container=container,
        started_s=seen.started_s,
        nodes=state.nodes,
    )
    if not is_ready(readiness) or list_departed(state, identity):
        return None
    if _missing(seen, readiness, spec):
        return None
    return Healthy(readiness, node.content)


def _missing(seen: SinceStart, readiness: Readiness, spec: GatewaySpec) -> tuple[str, ...]:
    workloads = parse_workloads(seen.resources, begin_of_life(readiness))
    return missing_workloads(workloads, expected_workloads(spec))
