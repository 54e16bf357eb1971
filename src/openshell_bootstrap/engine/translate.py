"""Between the product's models and the engine's JSON. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast, get_args

from openshell_bootstrap.engine.wire import (
    BindingAnswer,
    Bindings,
    ContainerAnswer,
    HealthAnswer,
    ImageAnswer,
    InfoAnswer,
    MountAnswer,
    NetworkAnswer,
    NetworkSettingsAnswer,
    VolumeAnswer,
)
from openshell_bootstrap.models import (
    Attachment,
    Container,
    ContainerSpec,
    ContainerStatus,
    Health,
    HealthProbe,
    Image,
    Mount,
    Network,
    PublishedPort,
    Volume,
)

_NEVER = "0001-01-01T00:00:00Z"
_NS_PER_S = 1_000_000_000
_ALL_GPUS = -1


def container_body(spec: ContainerSpec) -> dict[str, Any]:
    """The body of ``POST /containers/create``."""
    body: dict[str, Any] = {
        "Image": spec.image,
        "Hostname": spec.hostname,
        "Entrypoint": list(spec.entrypoint),
        "Cmd": list(spec.command),
        "Env": [f"{name}={value}" for name, value in spec.environment.items()],
        "Labels": dict(spec.labels),
        "StopTimeout": spec.stop_timeout_s,
        "ExposedPorts": {_port_key(port): {} for port in spec.ports},
        "HostConfig": _host_config(spec),
    }
    if spec.health_command:
        interval = int(spec.health_interval_s * _NS_PER_S)
        body["Healthcheck"] = {"Test": ["CMD", *spec.health_command], "Interval": interval}
    if spec.network:
        body["NetworkingConfig"] = {"EndpointsConfig": {spec.network: {}}}
    return body


def _host_config(spec: ContainerSpec) -> dict[str, Any]:
    return {
        "Privileged": spec.privileged,
        # An init of the engine's would be PID 1 in the place of the node's own.
        "Init": False,
        "CgroupnsMode": spec.cgroup_namespace,
        "UsernsMode": spec.userns_mode,
        "NetworkMode": spec.network or "none",
        "RestartPolicy": {"Name": spec.restart_policy},
        "ExtraHosts": [f"{host}:{address}" for host, address in spec.extra_hosts.items()],
        "Mounts": [_mount_body(mount) for mount in spec.mounts],
        "PortBindings": _port_bindings(spec.ports),
        "DeviceRequests": _device_requests(spec.gpus),
    }


def _mount_body(mount: Mount) -> dict[str, Any]:
    return {
        "Type": mount.kind,
        "Source": mount.source,
        "Target": mount.target,
        "ReadOnly": mount.read_only,
    }


def _port_key(port: PublishedPort) -> str:
    return f"{port.container_port}/tcp"


def _port_bindings(ports: tuple[PublishedPort, ...]) -> dict[str, list[dict[str, str]]]:
    bindings: dict[str, list[dict[str, str]]] = {}
    for port in ports:
        binding = {"HostIp": port.address, "HostPort": str(port.host_port)}
        bindings.setdefault(_port_key(port), []).append(binding)
    return bindings


def _device_requests(gpus: str) -> list[dict[str, Any]]:
    if not gpus:
        return []
    count = _ALL_GPUS if gpus == "all" else int(gpus)
    return [{"Count": count, "Capabilities": [["gpu"]]}]


def container(answer: ContainerAnswer) -> Container:
    """A container as it was inspected."""
    state, config = answer.state, answer.config
    return Container(
        id=answer.id,
        name=answer.name.removeprefix("/"),
        image=config.image,
        image_id=answer.image,
        status=_status(state.status),
        hostname=config.hostname,
        labels=config.labels or {},
        command=(answer.path, *answer.args) if answer.path else tuple(answer.args),
        environment=_environment(config.env or []),
        mounts=tuple(_mount(mount) for mount in answer.mounts if mount.type in {"volume", "bind"}),
        ports=published_ports(answer.host_config.port_bindings, answer.network_settings.ports),
        attachments=_attachments(answer.network_settings),
        health=_health(state.health),
        exit_code=state.exit_code,
        started_at="" if state.started_at == _NEVER else state.started_at,
        finished_at="" if state.finished_at == _NEVER else state.finished_at,
        oom_killed=state.oom_killed,
        restart_count=answer.restart_count,
        error=state.error,
    )


def _status(word: str) -> ContainerStatus:
    """An engine's word that is not known is taken for a container that cannot be used."""
    return cast("ContainerStatus", word) if word in get_args(ContainerStatus) else "dead"


def _environment(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def _mount(answer: MountAnswer) -> Mount:
    return Mount(
        kind="volume" if answer.type == "volume" else "bind",
        source=answer.name if answer.type == "volume" else answer.source,
        target=answer.destination,
        read_only=not answer.rw,
    )


def published_ports(wanted: Bindings, bound: Bindings) -> tuple[PublishedPort, ...]:
    """TCP ports, from what the container was made of, so that a stopped one tells them too.

    Where the engine was to choose the host's port, the one that is bound now; 0 while none is.
    """
    ports = []
    for key, bindings in (wanted or {}).items():
        number, _, protocol = key.partition("/")
        if protocol != "tcp":
            continue
        now = [one.host_port for one in (bound or {}).get(key) or []]
        for place, binding in enumerate(bindings or []):
            chosen = now[place] if place < len(now) else ""
            ports.append(
                PublishedPort(
                    binding.host_ip or "0.0.0.0",  # noqa: S104  # what the engine makes of none
                    _host_port(binding, chosen),
                    int(number),
                )
            )
    return tuple(ports)


def _host_port(binding: BindingAnswer, bound: str) -> int:
    """The port that was asked for; the bound one where a range, 0 or nothing was."""
    if binding.host_port.isdecimal() and int(binding.host_port):
        return int(binding.host_port)
    return int(bound) if bound.isdecimal() else 0


def _attachments(settings: NetworkSettingsAnswer) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(network=name, network_id=one.network_id, address=one.ip_address)
        for name, one in (settings.networks or {}).items()
        if name != "none"
    )


def _health(answer: HealthAnswer | None) -> Health:
    if answer is None:
        return Health(status="none")
    probes = tuple(
        HealthProbe(started_at=one.start, exit_code=one.exit_code, output=one.output.strip())
        for one in answer.log or ()
    )
    output = probes[-1].output if probes else ""
    match answer.status:
        case "starting" | "healthy" | "unhealthy":
            return Health(status=answer.status, output=output, probes=probes)
        case _:
            return Health(status="none", output=output, probes=probes)


def image(answer: ImageAnswer) -> Image:
    """An image as it was inspected."""
    config = answer.config
    return Image(
        id=answer.id,
        tags=tuple(answer.repo_tags or ()),
        digests=tuple(answer.repo_digests or ()),
        architecture=answer.architecture,
        labels=(config.labels if config else None) or {},
        declared_volumes=tuple(sorted((config.volumes if config else None) or ())),
        size=answer.size,
    )


def network(answer: NetworkAnswer) -> Network:
    """A network as it was inspected; a list's answers tell no containers."""
    ranges = (answer.addresses.config if answer.addresses else None) or ()
    return Network(
        id=answer.id,
        name=answer.name,
        labels=answer.labels or {},
        containers=tuple(answer.containers or ()),
        subnets=tuple(one.subnet for one in ranges if one.subnet),
    )


def volume(answer: VolumeAnswer) -> Volume:
    """A volume as it was inspected."""
    return Volume(
        name=answer.name,
        labels=answer.labels or {},
        mountpoint=answer.mountpoint,
        created_at=answer.created_at,
    )


def is_rootless(answer: InfoAnswer) -> bool:
    """Whether the engine runs without root's rights on its host."""
    return any("rootless" in option for option in answer.security_options or [])


def missing_controllers(answer: InfoAnswer) -> tuple[str, ...]:
    """The cgroup controllers that a kubelet wants and this engine cannot use."""
    usable = {
        "cpu": answer.cpu_cfs_quota,
        "cpuset": answer.cpu_set,
        "memory": answer.memory_limit,
        "pids": answer.pids_limit,
    }
    return tuple(name for name, is_usable in usable.items() if not is_usable)


def clock_offset(answer: InfoAnswer, asked_at: float, answered_at: float) -> float | None:
    """Seconds by which the engine's clock is ahead of this host's; None where it tells no time.

    Args:
        answer: Tells the engine's time at some moment between the two others.
        asked_at: This host's clock before the call, in epoch seconds.
        answered_at: And after it.
    """
    try:
        theirs = datetime.fromisoformat(answer.system_time).timestamp()
    except ValueError:
        return None
    return theirs - min(max(theirs, asked_at), answered_at)


def label_filters(labels: Mapping[str, str] | None) -> dict[str, list[str]]:
    """The engine's filter for objects that bear these labels (an empty value: any)."""
    wanted = [f"{key}={value}" if value else key for key, value in (labels or {}).items()]
    return {"label": wanted} if wanted else {}
