"""Frozen data shared by the layers. No behaviour beyond what follows from the fields, no I/O.

Two kinds: what is wanted (``…Spec``) and what was seen. A seen thing is a value, ``None`` where
an authority said that there is none, or :class:`Unknown` where nobody could say: the three are
never confused, because creating or removing on an unknown is how data gets lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DATA_PATH = "/var/lib/rancher/k3s"
"""Where the data volume is mounted: everything that k3s keeps."""

SCRATCH_PATHS = {"kubelet": "/var/lib/kubelet", "cni": "/var/lib/cni", "log": "/var/log"}
"""The other paths that the k3s image declares as volumes, by the part's name in the volume's."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody could say: a time-out, a server's failure, an answer that cannot be read."""

    cause: str


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait altogether and how often to look, in seconds."""

    timeout_s: float
    interval_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ran to its end, as ``subprocess.CompletedProcess`` tells it."""

    argv: tuple[str, ...]
    exit_status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or folder to be put into a container, or one that was read from it.

    Attributes:
        path: Absolute, inside the container.
        mode: Permission bits. A folder has ``content`` None.
    """

    path: str
    content: bytes | None
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class PublishedPort:
    """A port of the node that the host answers for.

    Attributes:
        address: The host's address it is bound to.
        host_port: On the host; 0 lets the engine choose.
        container_port: In the node.
    """

    address: str
    host_port: int
    container_port: int

    def __str__(self) -> str:
        return f"{self.address}:{self.host_port}:{self.container_port}"


ContainerStatus = Literal[
    "created", "running", "paused", "restarting", "exited", "dead", "removing"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A volume or host folder in a container."""

    kind: Literal["volume", "bind"]
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthProbe:
    """One run of a container's health check. ``started_at`` is RFC 3339."""

    started_at: str
    exit_code: int
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What the container's health check said last; ``probes`` are the runs that are remembered."""

    status: Literal["starting", "healthy", "unhealthy", "none"]
    output: str = ""
    probes: tuple[HealthProbe, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A container's place on a network. The id tells a network from its successor."""

    network: str
    network_id: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container as the engine tells it.

    Attributes:
        exit_code: Of the last end; 0 while it never ended.
        started_at: RFC 3339, empty if it never started.
        finished_at: RFC 3339, of the last end; empty if it never ended.
        oom_killed: The kernel killed it, or something in it, for want of memory.
        restart_count: Restarts by the engine's restart policy since the last explicit start.
    """

    id: str
    name: str
    image: str
    image_id: str
    status: ContainerStatus
    hostname: str
    labels: Mapping[str, str]
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    health: Health = field(default_factory=lambda: Health(status="none"))
    exit_code: int = 0
    started_at: str = ""
    finished_at: str = ""
    oom_killed: bool = False
    restart_count: int = 0
    error: str = ""

    @property
    def is_up(self) -> bool:
        """Processes of it exist: removing or replacing it needs a stop first."""
        return self.status in {"running", "paused", "restarting"}

    @property
    def has_started(self) -> bool:
        """It ran at least once, so its files may be worth something."""
        return bool(self.started_at)

    def __str__(self) -> str:
        return f"container {self.name} is {self.status}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to be made; the engine layer translates it."""

    name: str
    image: str
    hostname: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    mounts: tuple[Mount, ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    network: str = ""
    """Name of the network; empty for none at all."""
    extra_hosts: Mapping[str, str] = field(default_factory=dict)
    health_command: tuple[str, ...] = ()
    health_interval_s: float = 30.0
    restart_policy: Literal["no", "unless-stopped"] = "no"
    stop_timeout_s: int = 60
    privileged: bool = False
    cgroup_namespace: Literal["host", "private"] = "private"
    userns_mode: Literal["", "host"] = ""
    gpus: str = ""
    """``all`` or a number; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A Docker network.

    Attributes:
        containers: Ids of those attached and running.
        subnets: Its ranges of addresses, ``172.18.0.0/16``.
    """

    id: str
    name: str
    labels: Mapping[str, str]
    containers: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A Docker volume. ``mountpoint`` is a path on the engine's host."""

    name: str
    labels: Mapping[str, str]
    mountpoint: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that the engine has. ``declared_volumes`` are paths, ``size`` is in bytes."""

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    architecture: str
    labels: Mapping[str, str]
    declared_volumes: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """The engine itself.

    Attributes:
        id: Names the engine in locks.
        endpoint: How it was reached, ``unix:///var/run/docker.sock``.
        endpoint_source: Where that came from: ``DOCKER_HOST``, ``context NAME`` or ``default``.
        is_local: Its paths and ports are those of this host.
        data_root: Its folder, on its own host.
        prunes_named_volumes: ``docker system prune --volumes`` takes named volumes (API < 1.42).
        os_type: What its containers run on, ``linux`` or ``windows``.
        kernel: Its host's kernel release; empty where it does not say.
        missing_controllers: cgroup controllers that a kubelet wants and it cannot use.
        has_proxy: It pulls images through a proxy.
        clock_offset_s: How far its clock is ahead of this host's, in seconds; None if untold.
    """

    id: str
    version: str
    api_version: str
    architecture: str
    endpoint: str
    endpoint_source: str
    is_local: bool
    is_rootless: bool
    cgroup_version: Literal["1", "2"]
    data_root: str
    memory_bytes: int
    cpus: int
    prunes_named_volumes: bool = False
    os_type: str = "linux"
    kernel: str = ""
    missing_controllers: tuple[str, ...] = ()
    has_proxy: bool = False
    clock_offset_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySpec:
    """What a gateway is to be: all that its container is made of, and no secret.

    Attributes:
        node_name: The Kubernetes node name and the container's host name.
        image: Reference of the node image as the user or the release gave it.
        api_port: Where the Kubernetes API is published.
        ports: Further published ports.
        volumes: ``-v`` values, ``SOURCE:TARGET[:ro]``.
        environment: Proxy settings and the user's own variables for the node.
        k3s_args: Further arguments of ``k3s server``.
        tls_sans: Further names in the API server's certificate.
        disabled_addons: k3s addons that are not to run.
        gpus: ``all`` or a number; empty for none.
        subnet: The range of addresses of its network; empty where the engine chooses.
    """

    name: str
    node_name: str
    image: str
    api_port: PublishedPort
    ports: tuple[PublishedPort, ...] = ()
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    k3s_args: tuple[str, ...] = ()
    tls_sans: tuple[str, ...] = ()
    disabled_addons: tuple[str, ...] = ("traefik", "servicelb", "metrics-server")
    gpus: str = ""
    subnet: str = ""
