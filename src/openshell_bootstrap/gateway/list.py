"""Which gateways there are: what the engine holds, and what this host recorded."""

from openshell_bootstrap.cluster.kubeconfig import server_url
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.gateway.node_container import API_PORT
from openshell_bootstrap.gateway.results import GatewayRow
from openshell_bootstrap.gateway.starting.save_records import reachable
from openshell_bootstrap.models import Container, Unknown, Volume
from openshell_bootstrap.names import LABEL_GATEWAY, GatewayNames, check_adopted_name
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord

_PREFIX = GatewayNames("").container


def list_gateways(*, engine: Engine, store: Store) -> tuple[GatewayRow, ...]:
    """All gateways, running or not, adopted or not, in the order of their names."""
    containers = {
        name: container
        for container in engine.containers.list()
        if (name := gateway_of(container)) is not None
    }
    volumes = {
        name: volume
        for volume in engine.volumes.list()
        if (name := _name_in(volume.name)) is not None
    }
    records = store.records.list()
    active = store.active.find()
    return tuple(
        _row(
            name,
            containers.get(name),
            volumes.get(name),
            records.get(name),
            active=name == active,
        )
        for name in sorted({*containers, *volumes, *records})
    )


def gateway_of(container: Container) -> str | None:
    """The gateway whose node this container is; None for any other, also one set aside."""
    name = _name_in(container.name)
    if name is None:
        return None
    labelled = container.labels.get(LABEL_GATEWAY)
    if labelled is not None:
        return name if labelled == name else None
    owner = name.rpartition("-aside-")[0]
    return None if owner and container.name == GatewayNames(owner).aside(container.id) else name


def api_endpoint(container: Container) -> str:
    """URL of the Kubernetes API that a container publishes; empty if it publishes none."""
    for port in container.ports:
        if port.container_port == API_PORT:
            return server_url(reachable(port.address), port.host_port)
    return ""


def _row(
    name: str,
    container: Container | None,
    volume: Volume | None,
    record: HostRecord | Unknown | None,
    *,
    active: bool,
) -> GatewayRow:
    known = record if isinstance(record, HostRecord) else None
    endpoint = api_endpoint(container) if container else ""
    image = container.image if container else ""
    return GatewayRow(
        name=name,
        active=active,
        container=container.status if container else "absent",
        endpoint=endpoint or (known.gateway_endpoint if known else ""),
        image=image or (known and known.container_image) or "",
        managed=_is_managed(container, volume, known),
    )


def _is_managed(
    container: Container | None, volume: Volume | None, record: HostRecord | None
) -> bool:
    """A container speaks for itself. An adopted volume has no label: its record says so then."""
    if container is not None:
        return LABEL_GATEWAY in container.labels
    if volume is not None and LABEL_GATEWAY in volume.labels:
        return True
    return record is not None and record.container_image is not None


def _name_in(docker_name: str) -> str | None:
    name = docker_name.removeprefix(_PREFIX)
    if name == docker_name:
        return None
    try:
        return check_adopted_name(name)
    except ConfigError:
        return None
