"""The fake engine's containers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    EngineError,
    NameConflictError,
    NoSuchImageError,
    NoSuchNetworkError,
    PortConflictError,
)
from openshell_bootstrap.models import (
    Attachment,
    Completed,
    Container,
    ContainerSpec,
    FileEntry,
    Health,
    Mount,
    PublishedPort,
)
from tests.fakes.engine_state import FIRST_DYNAMIC_PORT, Box, State


def bears(labels: Mapping[str, str], wanted: Mapping[str, str] | None) -> bool:
    """Whether the labels hold all that is wanted; an empty value means any."""
    return all(
        key in labels and value in {"", labels[key]} for key, value in (wanted or {}).items()
    )


@dataclass(frozen=True, slots=True)
class FakeContainers:
    """Satisfies ``engine.api.Containers``."""

    state: State

    def find(self, name: str) -> Container | None:
        with self.state.call("containers.find", name):
            box = self.state.find_box(name)
            return None if box is None else box.seen()

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Container]:
        with self.state.call("containers.list", labels):
            boxes = self.state.boxes.values()
            return [box.seen() for box in boxes if bears(box.spec.labels, labels)]

    def using_volume(self, volume: str) -> Sequence[Container]:
        with self.state.call("containers.using_volume", volume):
            return [box.seen() for box in self.state.users(volume)]

    def create(self, spec: ContainerSpec) -> str:
        with self.state.call("containers.create", spec.name):
            if self.state.find_box(spec.name) is not None:
                raise NameConflictError(f"There is a container {spec.name} already")
            image = self.state.images.get(spec.image)
            if image is None:
                raise NoSuchImageError(f"There is no image {spec.image}")
            for mount in spec.mounts:
                if mount.kind == "volume":
                    self.state.make_disk(mount.source, {})
            own = self._anonymous(spec, image.declared_volumes)
            box = Box(
                id=self.state.new_id(),
                name=spec.name,
                spec=spec,
                image_id=image.id,
                mounts=(*spec.mounts, *own),
                anonymous=tuple(mount.source for mount in own),
                restart_policy=spec.restart_policy,
                ports=spec.ports,
                attachments=(Attachment(network=spec.network, network_id=""),)
                if spec.network
                else (),
            )
            self.state.boxes[box.id] = box
            return box.id

    def start(self, container_id: str) -> None:
        with self.state.call("containers.start", self.state.label(container_id)):
            box = self.state.box(container_id)
            if box.status == "paused":
                raise EngineError(f"{box.name} is paused: it cannot be started")
            if box.is_up:
                return
            self._attach(box)
            self._bind(box)
            box.status = "running"
            box.exit_code = box.restart_count = 0
            box.error = ""
            box.started_at = self.state.stamp()
            box.health = Health(status="starting" if box.spec.health_command else "none")
            for hook in self.state.start_hooks:
                hook(box.seen())

    def stop(self, container_id: str, grace_s: int) -> None:
        with self.state.call("containers.stop", self.state.label(container_id), grace_s):
            box = self.state.box(container_id)
            if not box.is_up:
                return
            for hook in self.state.stop_hooks:
                hook(box.seen())
            if box.is_up:
                self.state.end(box, "exited", 0)

    def pause(self, container_id: str) -> None:
        with self.state.call("containers.pause", self.state.label(container_id)):
            box = self.state.box(container_id)
            if box.status != "running":
                raise ContainerNotRunningError(f"{box.name} does not run: it is {box.status}")
            box.status = "paused"

    def unpause(self, container_id: str) -> None:
        with self.state.call("containers.unpause", self.state.label(container_id)):
            box = self.state.box(container_id)
            if box.status == "paused":
                box.status = "running"

    def rename(self, container_id: str, name: str) -> None:
        with self.state.call("containers.rename", self.state.label(container_id), name):
            box = self.state.box(container_id)
            other = self.state.find_box(name)
            if other is not None and other is not box:
                raise NameConflictError(f"There is a container {name} already")
            box.name = name

    def set_restart_policy(self, container_id: str, policy: str) -> None:
        label = self.state.label(container_id)
        with self.state.call("containers.set_restart_policy", label, policy):
            self.state.box(container_id).restart_policy = policy

    def remove(self, container_id: str, *, force: bool = False, volumes: bool = False) -> None:
        with self.state.call("containers.remove", self.state.label(container_id)):
            box = self.state.find_box(container_id)
            if box is None:
                return
            if box.is_up and not force:
                raise EngineError(f"{box.name} is {box.status}: it cannot be removed")
            self.state.end(box, "removing", box.exit_code)
            del self.state.boxes[box.id]
            for name in box.anonymous if volumes else ():
                if not self.state.users(name):
                    self.state.disks.pop(name, None)

    def logs(
        self, container_id: str, *, tail: int | None = None, follow: bool = False, since: float = 0
    ) -> Iterator[bytes]:
        with self.state.call("containers.logs", self.state.label(container_id)):
            lines = [line for at, line in self.state.box(container_id).log if at >= since]
        yield from lines if tail is None else lines[max(0, len(lines) - tail) :]

    def put_files(self, container_id: str, files: Sequence[FileEntry]) -> None:
        paths = tuple(file.path for file in files)
        with self.state.call("containers.put_files", self.state.label(container_id), *paths):
            view = self.state.view(self.state.box(container_id))
            for file in files:
                view.put(file)

    def get_file(self, container_id: str, path: str) -> FileEntry | None:
        with self.state.call("containers.get_file", self.state.label(container_id), path):
            return self.state.view(self.state.box(container_id)).file(path)

    def get_files(self, container_id: str, path: str) -> Sequence[FileEntry] | None:
        with self.state.call("containers.get_files", self.state.label(container_id), path):
            return self.state.view(self.state.box(container_id)).folder(path)

    def exec(
        self,
        container_id: str,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 60,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        with self.state.call("containers.exec", self.state.label(container_id), *argv):
            return self._run(container_id, tuple(argv), stdin)

    def attach_exec(self, container_id: str, argv: Sequence[str], *, tty: bool) -> int:
        with self.state.call("containers.attach_exec", self.state.label(container_id), *argv):
            return self._run(container_id, tuple(argv), b"").exit_status

    def _run(self, container_id: str, argv: tuple[str, ...], stdin: bytes) -> Completed:
        box = self.state.box(container_id)
        if box.status != "running":
            raise ContainerNotRunningError(f"{box.name} does not run: it is {box.status}")
        if self.state.exec_handler is None:
            raise AssertionError(f"exec of {argv} without a handler: give one to on_exec")
        return self.state.exec_handler(box.seen(), argv, stdin)

    def _anonymous(self, spec: ContainerSpec, declared: Sequence[str]) -> tuple[Mount, ...]:
        taken = {mount.target for mount in spec.mounts}
        mounts = []
        for target in declared:
            if target not in taken:
                name = self.state.new_id()
                self.state.make_disk(name, {})
                mounts.append(Mount(kind="volume", source=name, target=target))
        return tuple(mounts)

    def _attach(self, box: Box) -> None:
        """By the id that it was attached to; by the name only if it never was."""
        attachments = []
        for one in box.attachments:
            found = [
                network
                for network in self.state.networks.values()
                if network.id == one.network_id
                or (not one.network_id and network.name == one.network)
            ]
            if not found:
                box.error = f"network {one.network_id or one.network} not found"
                raise NoSuchNetworkError(f"{box.name} cannot start: {box.error}")
            network = found[0]
            here = (*network.containers, box.id)
            self.state.networks[network.id] = replace(network, containers=here)
            address = f"172.18.0.{len(here) + 1}"
            attachments.append(replace(one, network_id=network.id, address=address))
        box.attachments = tuple(attachments)

    def _bind(self, box: Box) -> None:
        held = set(self.state.busy_ports)
        for other in self.state.boxes.values():
            if other.is_up:
                held |= {(port.address, port.host_port) for port in other.ports}
        bound: list[PublishedPort] = []
        for port in box.spec.ports:
            number = port.host_port or FIRST_DYNAMIC_PORT
            while not port.host_port and (port.address, number) in held:
                number += 1
            if any(number == taken and _overlap(port.address, at) for at, taken in held):
                self.state.end(box, box.status, box.exit_code)
                box.error = f"{port.address}:{number}: address already in use"
                raise PortConflictError(f"{box.name} cannot start: {box.error}")
            held.add((port.address, number))
            bound.append(replace(port, host_port=number))
        box.ports = tuple(bound)


def _overlap(one: str, other: str) -> bool:
    anywhere = {"", "0.0.0.0", "::"}
    return one == other or one in anywhere or other in anywhere
