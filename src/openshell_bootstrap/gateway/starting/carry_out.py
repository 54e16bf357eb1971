"""Carry out a plan's steps, one by one, each safe to repeat.

Nothing here removes a data volume but :meth:`Acting.undo_first_start`, and that only takes a
volume which this very run made and on which no node ever ran.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass, field

from openshell_bootstrap import bundle
from openshell_bootstrap.engine.api import Engine, Progress
from openshell_bootstrap.errors import (
    EngineError,
    GatewayStateError,
    NameConflictError,
    PullError,
)
from openshell_bootstrap.events import Reporter, Transfer, step
from openshell_bootstrap.gateway.checks.preflight import image_absent
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
from openshell_bootstrap.gateway.record import GatewayRecord, record_entry
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import (
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
from openshell_bootstrap.models import Container, FileEntry, GatewaySpec
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE


@dataclass(slots=True)
class Acting:
    """One run's work on a gateway, and what it made so far."""

    engine: Engine
    request: StartRequest
    spec: GatewaySpec
    seen: Seen
    report: Reporter
    generation: str = field(default_factory=lambda: secrets.token_hex(4))
    made_volume: bool = False
    made_network_id: str = ""
    node_id: str = ""
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
        try:
            self.made_network_id = self.engine.networks.create(
                names.network,
                object_labels(names.gateway, "network"),
                subnet=self.spec.subnet,
            )
        except NameConflictError:  # a command on another host was faster: the network is there
            return
        self._agree_on_network()

    def _agree_on_network(self) -> None:
        """Of networks that hosts made at one moment the one with the least id stays."""
        name = self.seen.names.network
        present = [network.id for network in self.engine.networks.list_named(name)]
        if not present:
            raise EngineError(
                f"The engine said that it made the network {name}, and it is not there",
                remedies=["Look at the engine's own log: `journalctl -u docker`.", "Try again."],
            )
        if min(present) != self.made_network_id:
            made, self.made_network_id = self.made_network_id, ""
            self.engine.networks.remove(made)

    def _make_volume(self) -> None:
        names = self.seen.names
        if self.engine.volumes.find(names.volume) is None:
            self.made_volume = True  # also if the engine's answer gets lost
            self.engine.volumes.create(names.volume, object_labels(names.gateway, "data"))

    def _set_aside(self, container: Container) -> None:
        self.identity = read_retired_identity(self.engine, container)
        self.engine.containers.set_restart_policy(container.id, "no")
        self.engine.containers.rename(container.id, self.seen.names.aside(container.id))

    def _create(self) -> None:
        names, spec = self.seen.names, self.spec
        with step(self.report, "Preparing the node"):
            if self.made_network_id:  # another host's may have come after the first look
                self._agree_on_network()
            for mount in scratch_mounts(names, self.generation):
                self.engine.volumes.create(mount.source, object_labels(spec.name, "scratch"))
            made = build_container(
                spec,
                self.seen.engine,
                generation=self.generation,
                has_modules=self.seen.host.has_modules,
            )
            try:
                self.node_id = self.engine.containers.create(made)
            except NameConflictError:  # a command on another host was faster
                self._remove_own_scratch()
                raise
            # Only now: another host may be as far as having made its own, and gives way here.
            remove_leftover_scratch(self.engine, spec.name)
            self.engine.containers.put_files(self.node_id, self._files())

    def _remove_own_scratch(self) -> None:
        for mount in scratch_mounts(self.seen.names, self.generation):
            self.engine.volumes.remove(mount.source)

    def _files(self) -> tuple[FileEntry, ...]:
        """What the new container gets, the entrypoint last of all."""
        on_volume = self.seen.on_volume
        known = on_volume if isinstance(on_volume, OnVolume) else OnVolume()
        given = self.request.registries
        registries = known.registries if given is None else given
        record = self._record(known)
        kept = [] if registries is None else [FileEntry(KEPT_REGISTRIES, registries, 0o600)]
        identity = () if known.has_password else self._identity()
        files = bundle.files(token=self.request.token, registries=registries)
        return (record_entry(record), *kept, *identity, *files)

    def _identity(self) -> tuple[FileEntry, ...]:
        if self.identity or self.seen.aside is None:
            return self.identity
        return read_retired_identity(self.engine, self.seen.aside)

    def _record(self, known: OnVolume) -> GatewayRecord:
        before = known.record if isinstance(known.record, GatewayRecord) else None
        if before is None:
            return GatewayRecord(spec=self.spec)
        return GatewayRecord(
            spec=self.spec,
            cluster_id=before.cluster_id,
            kube_system_uid=before.kube_system_uid,
            k3s_version=before.k3s_version,
        )

    def _start(self) -> None:
        self.node_id = self.node_id or self.seen.node_container_id
        with step(self.report, "Starting the node"):
            self.engine.containers.start(self.node_id)

    def undo_first_start(self) -> tuple[str, ...]:
        """Remove what this run made of a gateway that never came up; says what it removed.

        The data volume goes only if this run made it and the engine says that no node was ever
        started on it: then it holds nothing but our own record. A container that another host
        made meanwhile needs the network and the volume.
        """
        removed = []
        found = self.engine.containers.find(self.seen.names.container)
        made = found if found is not None and self._is_own(found) else None
        if found is not None and made is None:
            return ()
        if made is not None:
            if made.is_up:
                self.engine.containers.stop(made.id, self.request.grace_s)
            remove_container(self.engine, self.spec.name, made)
            removed.append(f"container {made.name}")
        remove_leftover_scratch(self.engine, self.spec.name)
        never_ran = not made.has_started if made is not None else not self.node_id
        if self.made_volume and never_ran:
            self.engine.volumes.remove(self.seen.names.volume)
            removed.append(f"volume {self.seen.names.volume}")
        if self.made_network_id:
            self.engine.networks.remove(self.made_network_id)
            removed.append(f"network {self.seen.names.network}")
        return tuple(removed)

    def _is_own(self, container: Container) -> bool:
        """This run made it; known by its scratch volumes, whether or not the answer was lost."""
        own = {mount.source for mount in scratch_mounts(self.seen.names, self.generation)}
        return any(mount.source in own for mount in container.mounts)


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
            with suppress(EngineError):  # the next start or destroy finds it by its label
                engine.volumes.remove(name)


def remove_leftover_scratch(engine: Engine, gateway: str) -> None:
    """Remove scratch volumes whose container is gone: pruned, or never made."""
    used = {mount.source for container in engine.containers.list() for mount in container.mounts}
    for volume in engine.volumes.list({LABEL_GATEWAY: gateway, LABEL_ROLE: "scratch"}):
        if volume.name not in used:
            engine.volumes.remove(volume.name)
