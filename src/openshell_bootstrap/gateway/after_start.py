"""What follows once the node's container runs: wait, explain a failure, keep records."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from openshell_bootstrap.cluster.kubeconfig import build_kubeconfig, server_url
from openshell_bootstrap.cluster.kubectl import Kubectl, await_kubelet
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.workloads import Workload, observe_workloads
from openshell_bootstrap.diagnosis import NODE_PASSWORD_REJECTED, diagnose, find_evidence
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    BootstrapError,
    EngineError,
    GatewayStateError,
    GatewayUnhealthyError,
    WaitFailedError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import NodeLog, Notice, Reporter, silent, step
from openshell_bootstrap.gateway.node_container import disabled_addons, k3s_command
from openshell_bootstrap.gateway.node_password import repair_rejected
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.gateway.readiness import (
    Readiness,
    find_failure,
    is_ready,
    observe_readiness,
)
from openshell_bootstrap.gateway.record import (
    GatewayRecord,
    read_cluster_id,
    read_record,
    write_record,
)
from openshell_bootstrap.models import Container, GatewaySpec, Patience
from openshell_bootstrap.names import GatewayNames
from openshell_bootstrap.settings import READY_PATIENCE, STOP_GRACE_S, WORKLOADS_PATIENCE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord
from openshell_bootstrap.waits import wait_until

NODE_KUBECONFIG = "/etc/rancher/k3s/k3s.yaml"
_LOG_LINES = 20
_SIGN_LINES = 200
"""A sign of trouble is not always among the very last lines."""

_ADDON_WORKLOADS = {"coredns": "coredns", "local-storage": "local-path-provisioner"}
"""Workloads by the addon that brings them; of k3s's addons these two are on in a gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was read of a gateway that this run left as it was; what is None is read when needed.

    Attributes:
        record: The volume's record.
        kubeconfig: The node's own kubeconfig.
    """

    record: GatewayRecord | None = None
    kubeconfig: bytes | None = field(default=None, repr=False)


def wait_for_node(
    engine: Engine, container_id: str, spec: GatewaySpec, timeout_s: float, report: Reporter
) -> Readiness:
    """Wait until the node of this life is ready and schedulable.

    Raises:
        GatewayStateError: The node refuses to start; it was stopped, so that it does not loop.
        GatewayUnhealthyError: It ended, or cannot become ready.
        WaitTimeoutError: It did not become ready in time; it still runs.
    """
    begun = engine.containers.find(container_id)
    with step(report, "Waiting for the node"):
        try:
            return wait_until_ready(engine, container_id, spec.node_name, timeout_s, report)
        except (WaitFailedError, WaitTimeoutError) as error:
            # The engine may have started it again since: its own log begins where we began.
            lines = () if begun is None else last_log_lines(engine, begun, _SIGN_LINES)
            raise _explain(engine, container_id, error, lines, report) from error


def wait_until_ready(
    engine: Engine, container_id: str, node_name: str, timeout_s: float, report: Reporter = silent
) -> Readiness:
    """The bare wait, in which a rejected node password is repaired; raises as ``wait_until``."""
    begun = time.monotonic()
    node = ContainerNode(engine, container_id)
    await_kubelet(node, timeout_s)

    def wait(ready: Callable[[Readiness], bool]) -> Readiness:
        left = timeout_s - (time.monotonic() - begun)
        return wait_until(
            lambda: _with_sign(engine, observe_readiness(engine, container_id, node_name)),
            ready,
            failed=find_failure,
            patience=Patience(timeout_s=left, interval_s=READY_PATIENCE.interval_s),
            what=f"the node {node_name}",
        )

    seen = wait(lambda seen: is_ready(seen) or seen.sign is NODE_PASSWORD_REJECTED)
    if is_ready(seen):
        return seen
    repair_rejected(node, node_name, report)
    return wait(is_ready)


def _with_sign(engine: Engine, seen: Readiness) -> Readiness:
    """What the log of this life of k3s says, of which a node that is not ready may know nothing."""
    container = seen.container
    if container is None or not container.is_up:
        return seen
    try:
        lines = last_log_lines(engine, container, _SIGN_LINES, since_s=seen.started_s or 0)
    except EngineError:  # not every log driver can be read, and the next look may be luckier
        return seen
    return replace(seen, sign=diagnose(lines))


def _explain(
    engine: Engine,
    container_id: str,
    error: BootstrapError,
    lines: Sequence[str],
    report: Reporter,
) -> BootstrapError:
    """Show the node's last lines and say what they mean; stop a node that refuses."""
    for line in lines[-_LOG_LINES:]:
        report(NodeLog(line))
    known = diagnose(lines)
    if known is not None and known.refused:
        engine.containers.stop(container_id, STOP_GRACE_S)
        evidence = find_evidence(lines, known)
        return GatewayStateError(known.brief, details=evidence, remedies=known.remedies)
    details = "\n".join(part for part in (error.details, *lines[-3:]) if part)
    remedies = (*(known.remedies if known else ()), "`openshell gateway logs` shows the whole log.")
    brief = f"{error.brief}: {known.brief}" if known else error.brief
    kind = WaitTimeoutError if isinstance(error, WaitTimeoutError) else GatewayUnhealthyError
    return kind(brief, details=details, remedies=remedies)


def last_log_lines(
    engine: Engine, container: Container, count: int = _LOG_LINES, *, since_s: float = 0
) -> tuple[str, ...]:
    """The last lines since the container's start that was seen: earlier ones prove nothing."""
    begun = parse_moment(container.started_at).timestamp() if container.started_at else 0.0
    since = max(begun, since_s)
    return tuple(
        line.decode(errors="replace")
        for line in engine.containers.logs(container.id, tail=count, since=since)
    )


def parse_moment(moment: str) -> datetime:
    """The engine's RFC 3339 moment, UTC with up to nine decimals, to the microsecond."""
    whole, _, decimals = moment.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{decimals[:6]:0<6}+00:00")


def wait_for_workloads(
    node: NodeExec, spec: GatewaySpec, begun: datetime, report: Reporter
) -> None:
    """Wait until the node's own workloads (DNS, storage) are available.

    Args:
        node: The gateway's node.
        spec: Says which addons are off.
        begun: When the node's container was started.
        report: Told of the phase.

    Raises:
        WaitTimeoutError: Not all of them became available in time; the gateway runs on. That
            the engine let nobody look is only reported: the node was seen ready before.
    """
    expected = expected_workloads(spec)
    with step(report, "Waiting for the node's workloads"):
        try:
            wait_until(
                lambda: observe_workloads(Kubectl(node), begun),
                lambda seen: missing_workloads(seen, expected) == (),
                patience=WORKLOADS_PATIENCE,
                what="the node's own workloads",
            )
        except WaitTimeoutError as error:
            if not isinstance(error.__cause__, EngineError):
                raise
            report(Notice(f"The node's workloads could not be seen: {error.__cause__.brief}."))


def begin_of_life(readiness: Readiness) -> datetime:
    """When the node's container was started: no pod outlives it."""
    if readiness.container is None:
        raise GatewayUnhealthyError("The node's container is gone")
    return parse_moment(readiness.container.started_at)


def expected_workloads(spec: GatewaySpec) -> frozenset[str]:
    """Workloads that k3s brings up for the addons that are not off.

    On a new cluster they come some seconds after the API, so their absence proves nothing.
    """
    off = disabled_addons(k3s_command(spec))
    return frozenset(name for addon, name in _ADDON_WORKLOADS.items() if addon not in off)


def missing_workloads(seen: Sequence[Workload], expected: frozenset[str]) -> tuple[str, ...]:
    """Names of workloads that are not there yet or not available."""
    absent = expected - {one.name for one in seen}
    return (*sorted(absent), *(one.name for one in seen if not one.is_available))


def save_records(
    node: ContainerNode,
    store: Store,
    *,
    spec: GatewaySpec,
    readiness: Readiness,
    found: Found,
) -> tuple[str, tuple[str, ...]]:
    """Complete the record on the volume and this host's copies.

    Args:
        node: The gateway's node.
        store: This host's copies.
        spec: The gateway's settings, where the volume has no record that can be used.
        readiness: What was seen of the node.
        found: What was read already.

    Returns:
        The kubeconfig's path, and what the user should know.
    """
    engine, container_id = node.engine, node.container_id
    before = found.record or read_record(engine, container_id)
    known = before if isinstance(before, GatewayRecord) else GatewayRecord(spec=spec)
    recorded = found.record.cluster_id if found.record else ""
    host = store.records.find(spec.name)
    of_host = host.cluster_id if isinstance(host, HostRecord) else ""
    # That no authority is found in a node that is ready says nothing of which cluster it is.
    seen = recorded or read_cluster_id(engine, container_id)
    cluster_id = seen or known.cluster_id or of_host or ""
    notices = []
    if any(one and one != cluster_id for one in (known.cluster_id, of_host)):
        notices.append(
            "This is a new cluster: its authority is not the recorded one, so what the old one "
            "held is not in it."
        )
    uid = known.kube_system_uid if known.cluster_id == cluster_id else ""
    record = replace(
        known,
        cluster_id=cluster_id,
        kube_system_uid=uid or _kube_system_uid(node),
        k3s_version=(readiness.node.version if readiness.node else "") or known.k3s_version,
    )
    if record != before:
        try:
            write_record(node, record)
        except EngineError as error:
            notices.append(f"{error.brief}; the next start completes it.")
    _save_host_record(engine, store, record)
    kubeconfig = found.kubeconfig or _read_kubeconfig(node)
    return _save_kubeconfig(store, spec, kubeconfig), tuple(notices)


def _kube_system_uid(node: NodeExec) -> str:
    """Empty where nobody could say: the next start asks again."""
    try:
        done = node.run(
            ["kubectl", "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]
        )
    except EngineError:
        return ""
    return done.stdout.decode().strip() if done.exit_status == 0 else ""


def _save_host_record(engine: Engine, store: Store, record: GatewayRecord) -> None:
    spec, port = record.spec, record.spec.api_port
    before = store.records.find(spec.name)
    retired = isinstance(before, HostRecord) and before.schema is None
    endpoint, number = server_url(reachable(port.address), port.host_port), port.host_port
    if isinstance(before, HostRecord) and retired:
        endpoint, number = before.gateway_endpoint, before.gateway_port
    after = HostRecord(
        name=spec.name,
        gateway_endpoint=endpoint,
        is_remote=not engine.info().is_local,
        gateway_port=number,
        container_image=spec.image,
        node_name=spec.node_name,
        schema=None if retired else record.schema,
        cluster_id=record.cluster_id,
    )
    if after != before:
        store.records.write(after)
    if store.active.find() is None:
        store.active.select(spec.name)


def _read_kubeconfig(node: ContainerNode) -> bytes:
    file = node.engine.containers.get_file(node.container_id, NODE_KUBECONFIG)
    if file is None or file.content is None:
        raise EngineError(
            f"The node has no kubeconfig at {NODE_KUBECONFIG} although it is ready",
            remedies=["Look into `openshell gateway logs`."],
        )
    return file.content


def _save_kubeconfig(store: Store, spec: GatewaySpec, of_node: bytes) -> str:
    server = server_url(reachable(spec.api_port.address), spec.api_port.host_port)
    content = build_kubeconfig(of_node, name=spec.name, server=server)
    if store.kubeconfigs.find(spec.name) != content:
        store.kubeconfigs.write(spec.name, content)
    return str(store.kubeconfigs.path(spec.name))


def reachable(address: str) -> str:
    """An address that a client of this host can use: a port open to all is on loopback too."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - compared


def finish_adoption(engine: Engine, names: GatewayNames, seen: Seen, report: Reporter) -> None:
    """Remove the container that was set aside, now that its successor is ready."""
    if seen.aside is None and not seen.is_retired:
        return
    for container in engine.containers.list():
        if container.name == names.aside(container.id) and not container.is_up:
            with step(report, "Removing the container that was set aside"):
                engine.containers.remove(container.id, volumes=True)
