"""The engine's answers, as far as they are read. An answer of another shape raises.

Field names are those of the Docker Engine API, docs.docker.com/reference/api/engine.
"""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def convert(answer: Any, shape: type[T]) -> T:
    """Read a decoded answer.

    Raises:
        msgspec.ValidationError: It has another shape.
    """
    return msgspec.convert(answer, shape)


class _Answer(msgspec.Struct, rename="pascal"):
    """Part of an answer; fields that are not listed are passed over."""


class VersionAnswer(_Answer):
    """``GET /version``."""

    version: str
    api_version: str
    min_api_version: str = msgspec.field(name="MinAPIVersion", default="1.12")


class InfoAnswer(_Answer):
    """``GET /info``."""

    id: str = msgspec.field(name="ID")
    name: str
    architecture: str
    docker_root_dir: str
    mem_total: int
    ncpu: int = msgspec.field(name="NCPU")
    cgroup_version: str = "1"
    security_options: list[str] | None = None
    os_type: str = msgspec.field(name="OSType", default="linux")
    kernel_version: str = ""
    system_time: str = ""
    memory_limit: bool = True
    cpu_cfs_quota: bool = True
    cpu_set: bool = msgspec.field(name="CPUSet", default=True)
    pids_limit: bool = True
    http_proxy: str = ""
    https_proxy: str = ""


class BindingAnswer(_Answer):
    """A published port of a container."""

    host_ip: str = ""
    host_port: str = ""


Bindings = dict[str, list[BindingAnswer] | None] | None


class HealthProbeAnswer(_Answer):
    """One run of a health check."""

    start: str = ""
    exit_code: int = 0
    output: str = ""


class HealthAnswer(_Answer):
    """What a container's health check said."""

    status: str
    log: list[HealthProbeAnswer] | None = None


class StateAnswer(_Answer):
    """A container's state."""

    status: str
    exit_code: int
    started_at: str
    finished_at: str = ""
    oom_killed: bool = msgspec.field(name="OOMKilled", default=False)
    error: str = ""
    health: HealthAnswer | None = None


class ConfigAnswer(_Answer):
    """What a container was made of."""

    image: str
    hostname: str = ""
    labels: dict[str, str] | None = None
    env: list[str] | None = None


class HostConfigAnswer(_Answer):
    """What a container was made of, as far as the host is concerned."""

    port_bindings: Bindings = None


class MountAnswer(_Answer):
    """A mount of a container."""

    type: str
    destination: str
    source: str = ""
    name: str = ""
    rw: bool = msgspec.field(name="RW", default=True)


class AttachmentAnswer(_Answer):
    """A container's place on a network."""

    network_id: str = msgspec.field(name="NetworkID", default="")
    ip_address: str = msgspec.field(name="IPAddress", default="")


class NetworkSettingsAnswer(_Answer):
    """A container's networks and the ports as they are bound now."""

    networks: dict[str, AttachmentAnswer] | None = None
    ports: Bindings = None


class ContainerAnswer(_Answer):
    """``GET /containers/ID/json``."""

    id: str
    name: str
    image: str
    path: str
    args: list[str]
    state: StateAnswer
    config: ConfigAnswer
    host_config: HostConfigAnswer
    network_settings: NetworkSettingsAnswer
    mounts: list[MountAnswer]
    restart_count: int = 0


class SummaryAnswer(_Answer):
    """One of ``GET /containers/json`` and of ``GET /networks``."""

    id: str


class ImageConfigAnswer(_Answer):
    """What an image says to containers."""

    labels: dict[str, str] | None = None
    volumes: dict[str, Any] | None = None


class ImageAnswer(_Answer):
    """``GET /images/NAME/json``."""

    id: str
    architecture: str
    size: int
    repo_tags: list[str] | None = None
    repo_digests: list[str] | None = None
    config: ImageConfigAnswer | None = None


class RangeAnswer(_Answer):
    """One range of addresses of a network."""

    subnet: str = ""


class AddressesAnswer(_Answer):
    """The addresses of a network."""

    config: list[RangeAnswer] | None = None


class NetworkAnswer(_Answer):
    """``GET /networks/ID``."""

    id: str
    name: str
    labels: dict[str, str] | None = None
    containers: dict[str, Any] | None = None
    addresses: AddressesAnswer | None = msgspec.field(name="IPAM", default=None)


class VolumeAnswer(_Answer):
    """``GET /volumes/NAME``."""

    name: str
    mountpoint: str
    labels: dict[str, str] | None = None
    created_at: str = ""


class VolumesAnswer(_Answer):
    """``GET /volumes``."""

    volumes: list[VolumeAnswer] | None


class ExecAnswer(_Answer):
    """``GET /exec/ID/json``."""

    running: bool
    exit_code: int | None = None


class IdAnswer(_Answer):
    """The answer to a create."""

    id: str


class PathAnswer(msgspec.Struct, rename="camel"):
    """The header ``X-Docker-Container-Path-Stat``; ``mode`` is of Go's ``os.FileMode``."""

    mode: int
    size: int
    link_target: str = ""


class PullDetail(msgspec.Struct):
    """How far one layer is, in bytes."""

    current: int = 0
    total: int = 0


class PullLine(msgspec.Struct):
    """One line of ``POST /images/create``."""

    status: str = ""
    id: str = ""
    error: str = ""
    detail: PullDetail = msgspec.field(name="progressDetail", default_factory=PullDetail)
