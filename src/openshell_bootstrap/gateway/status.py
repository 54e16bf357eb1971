"""What a gateway is doing: read, never changed, without the lock."""

import time

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.workloads import observe_workloads
from openshell_bootstrap.diagnosis import diagnose
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import ClusterError, ContainerNotRunningError, EngineError
from openshell_bootstrap.gateway.after_start import (
    expected_workloads,
    last_log_lines,
    parse_moment,
)
from openshell_bootstrap.gateway.list import api_endpoint
from openshell_bootstrap.gateway.plan import describe_drift, lost_network
from openshell_bootstrap.gateway.readiness import find_hindrance, observe_readiness, unseen
from openshell_bootstrap.gateway.record import GatewayRecord, read_record
from openshell_bootstrap.gateway.results import NodeStatus, Status, WorkloadStatus
from openshell_bootstrap.gateway.settle import Settled, check_container
from openshell_bootstrap.gateway.state import Evidence, judge
from openshell_bootstrap.models import Container, GatewaySpec, Unknown
from openshell_bootstrap.names import LABEL_GATEWAY, GatewayNames, check_adopted_name
from openshell_bootstrap.settings import READY_PATIENCE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord


def status(name: str, *, engine: Engine, store: Store) -> Status:
    """Look at a gateway as a whole; what cannot be seen is said to be unknown.

    Raises:
        ConfigError: No gateway can have that name.
        GatewayExistsError: The container of that name is no gateway.
    """
    names = GatewayNames(check_adopted_name(name))
    stored = store.records.find(name)
    try:
        return _look(names, stored, engine)
    except EngineError as error:
        host = stored if isinstance(stored, HostRecord) else None
        verdict = judge(Evidence(container=Unknown(error.brief)))
        return Status(
            name=name,
            word=verdict.word,
            cause=verdict.cause,
            next_step=verdict.next_step,
            exit_code=verdict.exit_code,
            container="unknown",
            container_name=names.container,
            endpoint=_endpoint(None, host),
            volume=names.volume,
            image=_image(None, host),
            notices=_notices(stored, None, None),
        )


def _look(names: GatewayNames, stored: HostRecord | Unknown | None, engine: Engine) -> Status:
    host = stored if isinstance(stored, HostRecord) else None
    container = engine.containers.find(names.container)
    volume = engine.volumes.find(names.volume)
    networks = engine.networks.list_named(names.network)
    record = _read_record(engine, container, names.gateway)
    spec = record.spec if isinstance(record, GatewayRecord) else None
    node, workloads = _look_inside(engine, container, spec)
    verdict = judge(
        Evidence(
            container=container,
            volume_present=volume is not None,
            recorded=stored is not None,
            lost_network=lost_network(networks, container) if container else "",
            age_s=_age_s(container),
            patience_s=READY_PATIENCE.timeout_s,
            node=node,
            workloads=workloads,
            diagnosis=_diagnosis(engine, container),
        )
    )
    return Status(
        name=names.gateway,
        word=verdict.word,
        cause=verdict.cause,
        next_step=verdict.next_step,
        exit_code=verdict.exit_code,
        container=container.status if container else "absent",
        container_name=names.container,
        health=_health(container),
        node=node if isinstance(node, NodeStatus) else None,
        workloads=workloads if isinstance(workloads, tuple) else (),
        endpoint=_endpoint(container, host),
        volume=names.volume,
        volume_present=volume is not None,
        network_present=bool(networks),
        image=_image(container, host),
        drift=_drift(spec, container),
        notices=_notices(stored, record, container),
    )


def _read_record(
    engine: Engine, container: Container | None, gateway: str
) -> GatewayRecord | Unknown | None:
    if container is None:
        return None
    check_container(container, gateway)
    return read_record(engine, container.id)


def _look_inside(
    engine: Engine, container: Container | None, spec: GatewaySpec | None
) -> tuple[NodeStatus | Unknown | None, tuple[WorkloadStatus, ...] | Unknown]:
    """What the cluster says; where its API does not answer, it is not asked a second time."""
    if container is None or container.status != "running":
        return None, ()
    node = _node(engine, container, spec)
    return node, node if isinstance(node, Unknown) else _workloads(engine, container, spec)


def _node(engine: Engine, container: Container, spec: GatewaySpec | None) -> NodeStatus | Unknown:
    name = spec.node_name if spec else container.hostname
    seen = observe_readiness(engine, container.id, name)
    if isinstance(seen.nodes, Unknown):
        return seen.nodes
    foreign = tuple(node.name for node in seen.nodes if node.name != name)
    own = seen.node
    hindrance = find_hindrance(seen)
    return NodeStatus(
        name=name,
        ready=not hindrance,
        version=own.version if own else "",
        address=own.address if own else "",
        detail=hindrance,
        foreign=foreign,
    )


def _workloads(
    engine: Engine, container: Container, spec: GatewaySpec | None
) -> tuple[WorkloadStatus, ...] | Unknown:
    kubectl = Kubectl(ContainerNode(engine, container.id))
    try:
        seen = observe_workloads(kubectl, parse_moment(container.started_at))
    except (ClusterError, ContainerNotRunningError) as error:
        return unseen(error)
    there = {one.name for one in seen}
    expected = expected_workloads(spec) if spec else frozenset[str]()
    return (
        *(WorkloadStatus(name=name, ready=0, wanted=1) for name in sorted(expected - there)),
        *(
            WorkloadStatus(
                name=one.name,
                ready=one.ready,
                wanted=one.ready + 1 if one.wanted is None else one.wanted,
            )
            for one in seen
        ),
    )


def _age_s(container: Container | None) -> float:
    if container is None or not container.started_at:
        return 0
    return time.time() - parse_moment(container.started_at).timestamp()


def _diagnosis(engine: Engine, container: Container | None) -> str:
    """What the log of a node that is not well means, where its signs are known."""
    if container is None or not _is_unwell(container):
        return ""
    known = diagnose(last_log_lines(engine, container))
    return known.brief if known else ""


def _is_unwell(container: Container) -> bool:
    if container.status == "running":
        return container.health.status == "unhealthy"
    if container.status == "exited":  # the log of one that was stopped in order means nothing
        return container.exit_code != 0 and not container.error
    return container.status == "restarting"


def _health(container: Container | None) -> str:
    if container is None or container.health.status == "none":
        return ""
    output = container.health.output.strip()
    return f"{container.health.status}: {output}" if output else container.health.status


def _endpoint(container: Container | None, host: HostRecord | None) -> str:
    published = api_endpoint(container) if container else ""
    return published or (host.gateway_endpoint if host else "")


def _image(container: Container | None, host: HostRecord | None) -> str:
    return container.image if container else (host and host.container_image) or ""


def _drift(spec: GatewaySpec | None, container: Container | None) -> tuple[str, ...]:
    if spec is None or container is None:
        return ()
    return describe_drift(Settled(spec=spec, base=spec), container)


def _notices(
    stored: HostRecord | Unknown | None,
    record: GatewayRecord | Unknown | None,
    container: Container | None,
) -> tuple[str, ...]:
    notices = [f"{one.cause}." for one in (stored, record) if isinstance(one, Unknown)]
    if container is not None and LABEL_GATEWAY not in container.labels:
        notices.append("It was made by a retired release; `openshell gateway start` adopts it.")
    return tuple(notices)
