"""Destroy a gateway: the one operation that removes a data volume, and only when it was asked to.

Everything is looked at before anything is removed; the order is container, scratch, volume,
network; and each removal is bound to the object that was looked at.
"""

from collections.abc import Sequence

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.volumes import parse_claims
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    BootstrapError,
    EngineError,
    EngineUnavailableError,
    GatewayStateError,
)
from openshell_bootstrap.events import Notice, Reporter, silent, step
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.journal import Destruction, JournalFile
from openshell_bootstrap.gateway.lock import hold_lock
from openshell_bootstrap.gateway.observe import opens
from openshell_bootstrap.gateway.results import Destroyed, Losses
from openshell_bootstrap.gateway.starting.carry_out import remove_container
from openshell_bootstrap.gateway.starting.resume import find_pending
from openshell_bootstrap.gateway.starting.settle import check_container
from openshell_bootstrap.models import Container, Network, Volume
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE, GatewayNames, check_adopted_name
from openshell_bootstrap.settings import CLAIMS_LOOK_S
from openshell_bootstrap.store.host import Store

_KILL_AT_ONCE_S = 0


def losses(name: str, *, engine: Engine, store: Store) -> Losses:
    """What ``destroy`` would remove. Changes nothing.

    Raises:
        GatewayExistsError: The container of that name is no gateway.
    """
    names = _names(name)
    container = engine.containers.find(names.container)
    if container is not None:
        check_container(container, name)
    volume = engine.volumes.find(names.volume)
    networks = engine.networks.list_named(names.network)
    return Losses(
        name=name,
        container=container.name if container else "",
        volume=volume.name if volume else "",
        network=names.network if networks else "",
        claims=_claims(engine, container),
        volume_created_at=volume.created_at if volume else "",
        recorded=store.records.find(name) is not None,
    )


def destroy(name: str, *, engine: Engine, store: Store, report: Reporter = silent) -> Destroyed:
    """Remove the gateway with its data. Fine if parts of it, or all, are gone already.

    The caller has asked the user. Pods are not given a grace: their data goes anyway.

    Raises:
        GatewayExistsError: The container of that name is no gateway.
        GatewayStateError: Another container is on the volume; nothing was removed.
        LockedError: Another command works on it.
        EngineError: A removal failed; what comes after it in the order was not touched.
    """
    names = _names(name)
    with hold_lock(name, engine=engine.info(), store=store, report=report):
        everything = engine.containers.list()
        ours = _own_containers(everything, names)
        _refuse_foreign_users(engine, names, ours)
        if pending := find_pending(name, engine=engine, store=store):
            report(Notice(pending))
        volume = engine.volumes.find(names.volume)
        if volume is not None:
            _announce(names, ours, engine, store, report)
        evidence = Evidence(
            name=name, operation="destroy", engine=engine, store=store, report=report
        )
        with evidence.kept():
            removed = [_remove_node(engine, name, container, report) for container in ours]
            _remove_scratch(engine, name)
            if volume is not None:
                removed.append(_remove_volume(engine, volume, report))
            gone, kept = _remove_networks(engine, names, report)
        _forget(name, store)
    return Destroyed(name=name, removed=(*removed, *gone), kept=kept)


def _announce(
    names: GatewayNames, ours: list[Container], engine: Engine, store: Store, report: Reporter
) -> None:
    """Begin a journal, where containers go before the volume does.

    A disk that is full is a reason to destroy, so that it is no reason not to.
    """
    opener = next((container for container in ours if opens(container, names)), None)
    if opener is None:
        return
    try:
        JournalFile(name=names.gateway, engine=engine, container_id=opener.id, store=store).begin(
            Destruction()
        )
    except EngineUnavailableError:
        raise
    except EngineError as error:
        report(
            Notice(f"Should this be interrupted, no later command will know of it: {error.brief}.")
        )


def _forget(name: str, store: Store) -> None:
    """Remove what this host has of the gateway."""
    store.kubeconfigs.remove(name)
    store.records.remove(name)
    store.journals.remove(name)
    if store.active.find() == name:
        store.active.clear()


def _names(name: str) -> GatewayNames:
    return GatewayNames(check_adopted_name(name))


def _own_containers(everything: Sequence[Container], names: GatewayNames) -> list[Container]:
    """The gateway's containers: of its exact names, and nothing else."""
    found = []
    for container in everything:
        if container.name == names.container:
            check_container(container, names.gateway)
            found.append(container)
        elif container.name == names.aside(container.id) or (
            container.labels.get(LABEL_GATEWAY) == names.gateway
            and container.labels.get(LABEL_ROLE) in {"node", "helper"}
        ):
            found.append(container)
    return found


def _refuse_foreign_users(engine: Engine, names: GatewayNames, ours: list[Container]) -> None:
    own_ids = {container.id for container in ours}
    for user in engine.containers.using_volume(names.volume):
        if user.id not in own_ids:
            raise GatewayStateError(
                f"The container {user.name} is on the volume {names.volume}",
                details=f"container {user.id[:12]}, image {user.image}, {user.status}",
                remedies=[f"Remove it first: `docker rm {user.name}`. Nothing was removed."],
            )


def _remove_node(engine: Engine, name: str, container: Container, report: Reporter) -> str:
    with step(report, f"Removing the container {container.name}"):
        if container.is_up:
            if container.status == "paused":
                engine.containers.unpause(container.id)
            engine.containers.stop(container.id, _KILL_AT_ONCE_S)
        remove_container(engine, name, container)
        if engine.containers.find(container.id) is not None:
            raise _still_present(f"container {container.name}")
    return f"container {container.name}"


def _remove_scratch(engine: Engine, name: str) -> None:
    """Scratch volumes of containers that were pruned."""
    for volume in engine.volumes.list({LABEL_GATEWAY: name, LABEL_ROLE: "scratch"}):
        engine.volumes.remove(volume.name)


def _remove_volume(engine: Engine, volume: Volume, report: Reporter) -> str:
    with step(report, f"Removing the volume {volume.name}"):
        engine.volumes.remove(volume.name)
        if engine.volumes.find(volume.name) is not None:
            raise _still_present(f"volume {volume.name}")
    return f"volume {volume.name}"


def _still_present(what: str) -> EngineError:
    """The engine's yes is not believed: some releases say it and do nothing."""
    return EngineError(
        f"The {what} is still present although the engine removed it",
        remedies=["Look for what still uses it, then run `openshell gateway destroy` again."],
    )


def _remove_networks(
    engine: Engine, names: GatewayNames, report: Reporter
) -> tuple[list[str], tuple[str, ...]]:
    removed, kept = [], []
    for network in engine.networks.list_named(names.network):
        if network.containers:
            kept.append(_in_use(engine, network))
            continue
        with step(report, f"Removing the network {network.name}"):
            try:
                engine.networks.remove(network.id)
            except EngineUnavailableError:
                raise
            except EngineError as error:
                kept.append(f"network {network.name}: {error.details or error.brief}")
                continue
        removed.append(f"network {network.name}")
    return removed, tuple(kept)


def _in_use(engine: Engine, network: Network) -> str:
    names = []
    for container_id in network.containers:
        container = engine.containers.find(container_id)
        names.append(container.name if container else container_id[:12])
    return f"network {network.name}: still used by {', '.join(sorted(names))}"


def _claims(engine: Engine, container: Container | None) -> tuple[str, ...] | None:
    """Claims of a running gateway, or None where nobody can say."""
    if container is None or container.status != "running":
        return None
    node = ContainerNode(engine, container.id)
    try:
        claims = parse_claims(Kubectl(node, timeout_s=CLAIMS_LOOK_S).get_json("pvc"))
    except BootstrapError:
        return None
    return tuple(f"{one.namespace}/{one.name}" for one in claims)
