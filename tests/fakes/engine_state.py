"""What the fake engine keeps: its objects, what was called and what is to fail."""

import datetime as dt
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from openshell_bootstrap.errors import NoSuchContainerError
from openshell_bootstrap.models import (
    Attachment,
    Completed,
    Container,
    ContainerSpec,
    ContainerStatus,
    EngineInfo,
    Health,
    Image,
    Mount,
    Network,
    PublishedPort,
    Volume,
)
from tests.fakes.files import Tree, View

ExecHandler = Callable[[Container, tuple[str, ...], bytes], Completed]
Hook = Callable[[Container], None]

FIRST_DYNAMIC_PORT = 49153

INFO = EngineInfo(
    id="FAKE:ENGINE",
    version="20.10.24",
    api_version="1.41",
    architecture="x86_64",
    endpoint="unix:///var/run/docker.sock",
    endpoint_source="default",
    is_local=True,
    is_rootless=False,
    cgroup_version="1",
    data_root="/var/lib/docker",
    memory_bytes=8 << 30,
    cpus=2,
    prunes_named_volumes=True,
)


@dataclass(slots=True)
class Box:
    """A container with all that the engine knows of it. Tests may change any of it."""

    id: str
    name: str
    spec: ContainerSpec
    image_id: str
    mounts: tuple[Mount, ...]
    files: Tree = field(default_factory=Tree)
    anonymous: tuple[str, ...] = ()
    status: ContainerStatus = "created"
    restart_policy: str = "no"
    attachments: tuple[Attachment, ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    health: Health = field(default_factory=lambda: Health(status="none"))
    exit_code: int = 0
    started_at: str = ""
    oom_killed: bool = False
    restart_count: int = 0
    error: str = ""
    log: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def is_up(self) -> bool:
        return self.status in {"running", "paused", "restarting"}

    def seen(self) -> Container:
        """As the protocol tells it."""
        spec = self.spec
        return Container(
            id=self.id,
            name=self.name,
            image=spec.image,
            image_id=self.image_id,
            status=self.status,
            hostname=spec.hostname or self.id[:12],
            labels=dict(spec.labels),
            command=(*spec.entrypoint, *spec.command),
            environment=dict(spec.environment),
            mounts=self.mounts,
            ports=self.ports,
            attachments=self.attachments,
            health=self.health,
            exit_code=self.exit_code,
            started_at=self.started_at,
            oom_killed=self.oom_killed,
            restart_count=self.restart_count,
            error=self.error,
        )


@dataclass(slots=True)
class Disk:
    """A volume with its files."""

    volume: Volume
    tree: Tree = field(default_factory=Tree)


@dataclass(slots=True)
class _Failure:
    method: str
    error: BaseException
    after: int
    times: int | None
    too_late: bool

    def is_due(self) -> bool:
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


@dataclass(slots=True)
class State:
    """All of one fake engine, shared by its nouns.

    Attributes:
        calls: ``(method, *arguments)`` of every call in order, such as
            ``("containers.stop", "openshell-cluster-a", 60)``; containers by name.
        busy_ports: Host addresses and ports that a process of the host holds.
        registry: Images that a pull finds.
        host: Host folders of bind mounts, by path.
    """

    now: Callable[[], float] = time.time
    info: EngineInfo = INFO
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    boxes: dict[str, Box] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)
    disks: dict[str, Disk] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    registry: dict[str, Image] = field(default_factory=dict)
    host: dict[str, Tree] = field(default_factory=dict)
    busy_ports: set[tuple[str, int]] = field(default_factory=set)
    exec_handler: ExecHandler | None = None
    start_hooks: list[Hook] = field(default_factory=list)
    stop_hooks: list[Hook] = field(default_factory=list)
    failures: list[_Failure] = field(default_factory=list)
    made: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock: an engine can be copied and put away."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "lock"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        for name, value in kept.items():
            setattr(self, name, value)
        self.lock = threading.RLock()

    def fail(
        self,
        method: str,
        error: BaseException,
        *,
        after: int = 0,
        times: int | None = 1,
        too_late: bool = False,
    ) -> None:
        """See :meth:`tests.fakes.engine.FakeEngine.fail`."""
        self.failures.append(_Failure(method, error, after, times, too_late))

    @contextmanager
    def call(self, method: str, *arguments: object) -> Iterator[None]:
        """Note a call and raise what is to be raised, before its effect or after it."""
        with self.lock:
            self.calls.append((method, *arguments))
            due = [one for one in self.failures if one.method in {method, "*"} and one.is_due()]
            for one in due:
                if not one.too_late:
                    raise one.error
            yield
            for one in due:
                raise one.error

    def new_id(self) -> str:
        """Sixty-four hexadecimal digits, as the engine's ids are."""
        self.made += 1
        return hashlib.sha256(f"fake {self.made}".encode()).hexdigest()

    def stamp(self) -> str:
        """This moment in RFC 3339."""
        moment = dt.datetime.fromtimestamp(self.now(), dt.UTC)
        return moment.isoformat().replace("+00:00", "Z")

    def find_box(self, ref: str) -> Box | None:
        """The container of exactly this name or id."""
        for box in self.boxes.values():
            if ref in {box.id, box.name}:
                return box
        return None

    def box(self, ref: str) -> Box:
        """The container of exactly this name or id, which must be there."""
        box = self.find_box(ref)
        if box is None:
            raise NoSuchContainerError(f"There is no container {ref}")
        return box

    def label(self, ref: str) -> str:
        """A container's name for the call log; the reference itself where there is none."""
        box = self.find_box(ref)
        return ref if box is None else box.name

    def make_disk(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume unless it is there."""
        volume = Volume(
            name=name,
            labels=dict(labels),
            mountpoint=f"{self.info.data_root}/volumes/{name}/_data",
            created_at=self.stamp(),
        )
        self.disks.setdefault(name, Disk(volume))

    def users(self, volume: str) -> Sequence[Box]:
        """The containers that mount a volume."""
        return [
            box
            for box in self.boxes.values()
            if any(mount.kind == "volume" and mount.source == volume for mount in box.mounts)
        ]

    def view(self, box: Box) -> View:
        """The files as that container sees them."""
        trees = {
            mount.target: self.disks[mount.source].tree
            if mount.kind == "volume"
            else self.host.setdefault(mount.source, Tree())
            for mount in box.mounts
        }
        return View(box.files, trees)

    def end(self, box: Box, status: ContainerStatus, exit_code: int) -> None:
        """A container's processes are gone."""
        box.status = status
        box.exit_code = exit_code
        if box.health.status != "none":
            box.health = replace(box.health, status="unhealthy")
        box.attachments = tuple(replace(one, address="") for one in box.attachments)
        for network in self.networks.values():
            left = tuple(one for one in network.containers if one != box.id)
            self.networks[network.id] = replace(network, containers=left)
