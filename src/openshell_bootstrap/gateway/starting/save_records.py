"""What is written down once a gateway is up: its record on the volume and this host's copies."""

from dataclasses import dataclass, field, replace

from openshell_bootstrap.cluster.kubeconfig import build_kubeconfig, server_url
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import EngineError
from openshell_bootstrap.gateway.inside.readiness import Readiness
from openshell_bootstrap.gateway.record import (
    GatewayRecord,
    read_cluster_id,
    read_record,
    write_record,
)
from openshell_bootstrap.models import GatewaySpec
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord

NODE_KUBECONFIG = "/etc/rancher/k3s/k3s.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was read of a gateway that this run left as it was; what is None is read when needed.

    Attributes:
        record: The volume's record.
        kubeconfig: The node's own kubeconfig.
    """

    record: GatewayRecord | None = None
    kubeconfig: bytes | None = field(default=None, repr=False)


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
    before = found.record or read_record(node.engine, node.container_id)
    known = before if isinstance(before, GatewayRecord) else GatewayRecord(spec=spec)
    record, notices = _complete(node, store, known, readiness, is_read=found.record is not None)
    if record != before:
        try:
            write_record(node, record)
        except EngineError as error:
            notices.append(f"{error.brief}; the next start completes it.")
    _save_host_record(node.engine, store, record)
    kubeconfig = found.kubeconfig or _read_kubeconfig(node)
    return _save_kubeconfig(store, spec, kubeconfig), tuple(notices)


def _complete(
    node: ContainerNode,
    store: Store,
    known: GatewayRecord,
    readiness: Readiness,
    *,
    is_read: bool,
) -> tuple[GatewayRecord, list[str]]:
    """The record with what only a running cluster can tell, and what the user should know.

    Args:
        node: The gateway's node.
        store: This host's copies.
        known: The record so far.
        readiness: What was seen of the node.
        is_read: The record was read in this life, so that its cluster is the one that runs.
    """
    recorded = known.cluster_id if is_read else ""
    host = store.records.find(known.name)
    of_host = host.cluster_id if isinstance(host, HostRecord) else ""
    # That no authority is found in a node that is ready says nothing of which cluster it is.
    seen = recorded or read_cluster_id(node.engine, node.container_id)
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
    return record, notices


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
