"""What a gateway is made of: names, places and settings. No state of its cluster."""

from collections.abc import Iterable

from openshell_bootstrap import names as naming
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.list import api_endpoint
from openshell_bootstrap.gateway.record import GatewayRecord, read_record
from openshell_bootstrap.gateway.results import Info
from openshell_bootstrap.gateway.starting.settle import check_container
from openshell_bootstrap.gateway.stop import not_found
from openshell_bootstrap.models import Container, GatewaySpec
from openshell_bootstrap.names import GatewayNames, check_adopted_name
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord


def info(name: str, *, engine: Engine, store: Store) -> Info:
    """Tell what is known of a gateway, running or not.

    Where it has no container, its settings lie on a volume that a read does not open: then only
    this host's copy speaks.

    Raises:
        GatewayNotFoundError: Neither the engine nor a record knows it.
    """
    names = GatewayNames(check_adopted_name(name))
    container = engine.containers.find(names.container)
    if container is not None:
        check_container(container, name)
    volume = engine.volumes.find(names.volume)
    stored = store.records.find(name)
    if container is None and volume is None and stored is None:
        raise not_found(name)
    host = stored if isinstance(stored, HostRecord) else None
    record = _record_of(engine, container)
    has_kubeconfig = store.kubeconfigs.find(name) is not None
    return Info(
        name=name,
        node_name=_node_name(name, record, host, container),
        container=names.container if container else "",
        volume=names.volume if volume else "",
        network=names.network if engine.networks.list_named(names.network) else "",
        endpoint=_first(container and api_endpoint(container), host and host.gateway_endpoint),
        image=_first(container and container.image, host and host.container_image),
        kubeconfig=str(store.kubeconfigs.path(name)) if has_kubeconfig else "",
        data_mountpoint=volume.mountpoint if volume else "",
        cluster_id=_first(record and record.cluster_id, host and host.cluster_id),
        k3s_version=record.k3s_version if record else "",
        settings=_settings(record.spec) if record else {},
    )


def _record_of(engine: Engine, container: Container | None) -> GatewayRecord | None:
    found = None if container is None else read_record(engine, container.id)
    return found if isinstance(found, GatewayRecord) else None


def _node_name(
    name: str,
    record: GatewayRecord | None,
    host: HostRecord | None,
    container: Container | None,
) -> str:
    return _first(
        record and record.spec.node_name,
        host and host.node_name,
        container and container.environment.get(naming.NODE_NAME_ENV),
        naming.node_name(name),
    )


def _settings(spec: GatewaySpec) -> dict[str, str]:
    """Settings as text. Of the environment only the names: a user may keep a secret there."""
    return {
        "image": spec.image,
        "api-port": f"{spec.api_port.address}:{spec.api_port.host_port}",
        "ports": _joined(spec.ports),
        "volumes": _joined(spec.volumes),
        "environment": _joined(sorted(spec.environment)),
        "k3s-args": _joined(spec.k3s_args),
        "tls-sans": _joined(spec.tls_sans),
        "disabled-addons": _joined(spec.disabled_addons),
        "gpus": spec.gpus,
        "subnet": spec.subnet,
    }


def _joined(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values)


def _first(*candidates: str | GatewayRecord | HostRecord | Container | None) -> str:
    """The first that says something."""
    return next((one for one in candidates if isinstance(one, str) and one), "")
