"""Carry out a plan's steps, one by one, each safe to repeat.

Nothing here removes a data volume but :meth:`Acting.undo_first_start`, and that only takes a
volume which this very run made and on which no node ever ran.
"""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import dataclass, field

from openshell_bootstrap import bundle
from openshell_bootstrap.engine.api import Engine, Progress
from openshell_bootstrap.errors import (
    EngineError,
    GatewayStateError,
    NameConflictError,
    NoSuchContainerError,
    PullError,
)
from openshell_bootstrap.events import Reporter, Transfer, step
from openshell_bootstrap.gateway.node_container import (
    build_container,
    object_labels,
    scratch_mounts,
    scratch_volumes,
)
from openshell_bootstrap.gateway.observe import (
    KEPT_REGISTRIES,
    OnVolume,
    Seen,
    read_retired_identity,
)
from openshell_bootstrap.gateway.plan import (
    Action,
    CreateNode,
    MakeNetwork,
    MakeVolume,
    Pull,
    RemoveNode,
    RemoveTwinNetwork,
    SetAside,
    StartNode,
    StopNode,
    Unpause,
)
from openshell_bootstrap.gateway.preflight import image_absent
from openshell_bootstrap.gateway.record import GatewayRecord, record_entry
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import Container, FileEntry, GatewaySpec
from openshell_bootstrap.names import LABEL_ROLE


@dataclass(slots=True)
class Acting:
    """One run's work on a gateway, and what it made so far."""

    engine: Engine
    request: StartRequest
    spec: GatewaySpec
    seen: Seen
    report: Reporter
    made_volume: bool = False
    made_network_id: str = ""
    node_id: str = ""
    started_node: bool = False
    identity: tuple[FileEntry, ...] = field(default_factory=tuple)

    def do(self, action: Action) -> None:  # noqa: C901 - one line per action
        """Carry out one step."""
        match action:
            case Pull():
                self._pull(action.image)
            case MakeNetwork():
                self._make_network()
            case RemoveTwinNetwork():
                self.engine.networks.remove(action.network_id)
            case MakeVolume():
                self._make_volume()
            case StopNode():
                stop_container(
                    self.engine, action.container, grace_s=self.request.grace_s, report=self.report
                )
            case SetAside():
                self._set_aside(action.container)
            case RemoveNode():
                remove_container(self.engine, self.spec.name, action.container)
            case CreateNode():
                self._create()
            case StartNode():
                self._start()
            case Unpause():
                self.engine.containers.unpause(action.container.id)

    def _pull(self, image: str) -> None:
        def progress(item: str, done: int, total: int) -> None:
            self.report(Transfer(item, done, total))

        with step(self.report, f"Pulling {image}"):
            pull_image(self.engine, image, progress)

    def _make_network(self) -> None:
        names = self.seen.names
        with suppress(NameConflictError):  # another command was faster: the network is there
            self.made_network_id = self.engine.networks.create(
                names.network, object_labels(names.gateway, "network")
            )

    def _make_volume(self) -> None:
        names = self.seen.names
        if self.engine.volumes.find(names.volume) is None:
            self.engine.volumes.create(names.volume, object_labels(names.gateway, "data"))
            self.made_volume = True

    def _set_aside(self, container: Container) -> None:
        self.identity = read_retired_identity(self.engine, container)
        self.engine.containers.set_restart_policy(container.id, "no")
        self.engine.containers.rename(container.id, self.seen.names.aside(container.id))

    def _create(self) -> None:
        names, spec = self.seen.names, self.spec
        generation = secrets.token_hex(4)
        with step(self.report, "Preparing the node"):
            for mount in scratch_mounts(names, generation):
                self.engine.volumes.create(mount.source, object_labels(spec.name, "scratch"))
            self.node_id = self.engine.containers.create(
                build_container(
                    spec,
                    self.seen.engine,
                    generation=generation,
                    has_modules=self.seen.host.has_modules,
                )
            )
            self.engine.containers.put_files(self.node_id, self._files())

    def _files(self) -> tuple[FileEntry, ...]:
        """What the new container gets, the entrypoint last of all."""
        on_volume = self.seen.on_volume
        known = on_volume if isinstance(on_volume, OnVolume) else OnVolume()
        registries = self.request.registries or known.registries
        record = self._record(known, registries)
        kept = [FileEntry(KEPT_REGISTRIES, registries, 0o600)] if registries else []
        identity = () if known.has_password else self._identity()
        files = bundle.files(token=self.request.token, registries=registries)
        return (record_entry(record), *kept, *identity, *files)

    def _identity(self) -> tuple[FileEntry, ...]:
        if self.identity or self.seen.aside is None:
            return self.identity
        return read_retired_identity(self.engine, self.seen.aside)

    def _record(self, known: OnVolume, registries: bytes | None) -> GatewayRecord:
        before = known.record if isinstance(known.record, GatewayRecord) else None
        digest = hashlib.sha256(registries).hexdigest() if registries else ""
        if before is None:
            return GatewayRecord(spec=self.spec, registries_digest=digest)
        return GatewayRecord(
            spec=self.spec,
            cluster_id=before.cluster_id,
            kube_system_uid=before.kube_system_uid,
            k3s_version=before.k3s_version,
            registries_digest=digest,
        )

    def _start(self) -> None:
        self.node_id = self.node_id or self._present().id
        with step(self.report, "Starting the node"):
            self.engine.containers.start(self.node_id)
        self.started_node = True

    def _present(self) -> Container:
        if self.seen.container is None:
            raise NoSuchContainerError(f"There is no container {self.seen.names.container}")
        return self.seen.container

    def undo_first_start(self) -> tuple[str, ...]:
        """Remove what this run made of a gateway that never came up; says what it removed.

        The data volume goes only if this run made it and the node was never started: then it
        holds nothing but our own record.
        """
        removed = []
        if self.node_id:
            made = self.engine.containers.find(self.node_id)
            if made is not None:
                if made.is_up:
                    self.engine.containers.stop(made.id, self.request.grace_s)
                remove_container(self.engine, self.spec.name, made)
                removed.append(f"container {made.name}")
        if self.made_volume and not self.started_node:
            self.engine.volumes.remove(self.seen.names.volume)
            removed.append(f"volume {self.seen.names.volume}")
        if self.made_network_id:
            self.engine.networks.remove(self.made_network_id)
            removed.append(f"network {self.seen.names.network}")
        return tuple(removed)


def pull_image(engine: Engine, image: str, progress: Progress) -> None:
    """Pull a node image.

    Raises:
        PullError: It could not be pulled; it says what else can be done.
    """
    try:
        engine.images.pull(image, progress)
    except PullError as error:
        raise image_absent(image, error.details or error.brief) from error


def stop_container(
    engine: Engine, container: Container, *, grace_s: int, report: Reporter
) -> Container:
    """Stop a node in order and return it as it is then; a paused one is let go first."""
    with step(report, "Stopping the node"):
        if container.status == "paused":
            engine.containers.unpause(container.id)
        engine.containers.stop(container.id, grace_s)
    stopped = engine.containers.find(container.id)
    if stopped is not None and stopped.is_up:
        raise GatewayStateError(
            f"The container {container.name} still runs although the engine stopped it",
            details=f"status {stopped.status}",
            remedies=["Look whether something starts it again, then try again."],
        )
    return stopped or container


def remove_container(engine: Engine, gateway: str, container: Container) -> None:
    """Remove a stopped container with the scratch volumes that are its own.

    Scratch volumes are found by this container's mounts and checked by their label, so that no
    volume with data can be meant.
    """
    engine.containers.remove(container.id, volumes=True)
    for name in scratch_volumes(gateway, container):
        volume = engine.volumes.find(name)
        if volume is not None and volume.labels.get(LABEL_ROLE) == "scratch":
            with suppress(EngineError):  # a leftover scratch volume is no reason to fail
                engine.volumes.remove(name)
