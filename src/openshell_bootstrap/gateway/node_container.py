"""From a gateway's settings to its container, and back. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from openshell_bootstrap import bundle
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.gateway.record import spec_digest
from openshell_bootstrap.models import (
    DATA_PATH,
    SCRATCH_PATHS,
    Container,
    ContainerSpec,
    EngineInfo,
    GatewaySpec,
    Mount,
    PublishedPort,
)
from openshell_bootstrap.names import (
    LABEL_BUNDLE_DIGEST,
    LABEL_GATEWAY,
    LABEL_MANAGED_BY,
    LABEL_ROLE,
    LABEL_SCHEMA,
    LABEL_SPEC_DIGEST,
    MANAGED_BY,
    NODE_NAME_ENV,
    SCHEMA,
    GatewayNames,
)
from openshell_bootstrap.settings import PROXY_VARIABLES, STOP_GRACE_S

API_PORT = 6443
"""Where k3s serves the Kubernetes API in the node."""

KERNEL_MODULES = "/lib/modules"
HOST_ALIASES = ("host.docker.internal", "host.openshell.internal")

_RESERVED_TARGETS = (DATA_PATH, *SCRATCH_PATHS.values(), bundle.BUNDLE_PATH, "/etc/rancher")


def object_labels(gateway: str, role: str) -> dict[str, str]:
    """Labels by which an object of a gateway is known: never a look at a part of its name."""
    return {
        LABEL_GATEWAY: gateway,
        LABEL_MANAGED_BY: MANAGED_BY,
        LABEL_SCHEMA: SCHEMA,
        LABEL_ROLE: role,
    }


def build_container(
    spec: GatewaySpec, engine: EngineInfo, *, generation: str, has_modules: bool
) -> ContainerSpec:
    """The container of a gateway.

    Args:
        spec: The gateway's settings.
        engine: Decides the cgroup namespace: on cgroup v2 a private one, which the entrypoint
            empties, keeps pods inside the container's own cgroup; on v1 they are there anyway.
        generation: Tells this container's scratch volumes from its predecessor's.
        has_modules: The engine's host has kernel modules to show to the node.
    """
    names = GatewayNames(spec.name)
    return ContainerSpec(
        name=names.container,
        image=spec.image,
        hostname=spec.node_name,
        entrypoint=(bundle.ENTRYPOINT,),
        command=k3s_command(spec),
        environment={**spec.environment, NODE_NAME_ENV: spec.node_name},
        labels={
            **object_labels(spec.name, "node"),
            LABEL_SPEC_DIGEST: spec_digest(spec),
            LABEL_BUNDLE_DIGEST: bundle.digest(),
        },
        mounts=(
            Mount(kind="volume", source=names.volume, target=DATA_PATH),
            *scratch_mounts(names, generation),
            *((_modules(),) if has_modules else ()),
            *(parse_volume(text) for text in spec.volumes),
        ),
        ports=(spec.api_port, *spec.ports),
        network=names.network,
        extra_hosts=dict.fromkeys(HOST_ALIASES, "host-gateway"),
        health_command=(bundle.HEALTH_CHECK,),
        restart_policy="unless-stopped",
        stop_timeout_s=STOP_GRACE_S,
        privileged=True,
        cgroup_namespace="private" if engine.cgroup_version == "2" else "host",
        userns_mode="host",
        gpus=spec.gpus,
    )


def k3s_command(spec: GatewaySpec) -> tuple[str, ...]:
    """Arguments of ``k3s``; the node's name comes from the entrypoint."""
    sans = ["127.0.0.1", "localhost", "host.docker.internal", GatewayNames(spec.name).container]
    if spec.api_port.address not in {"127.0.0.1", "0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        sans.append(spec.api_port.address)
    sans += [san for san in spec.tls_sans if san not in sans]
    return (
        "server",
        *(f"--disable={addon}" for addon in spec.disabled_addons),
        *(f"--tls-san={san}" for san in sans),
        *spec.k3s_args,
    )


def scratch_mounts(names: GatewayNames, generation: str) -> tuple[Mount, ...]:
    """Named volumes for the other paths that the image declares, so that none is anonymous."""
    return tuple(
        Mount(kind="volume", source=names.scratch(generation, part), target=path)
        for part, path in SCRATCH_PATHS.items()
    )


def scratch_volumes(gateway: str, container: Container) -> tuple[str, ...]:
    """Names of the scratch volumes that live and die with this container."""
    prefix = f"openshell-scratch-{gateway}-"
    return tuple(
        mount.source
        for mount in container.mounts
        if mount.kind == "volume"
        and mount.source.startswith(prefix)
        and mount.target in SCRATCH_PATHS.values()
    )


def mounts_data_volume(container: Container, gateway: str) -> bool:
    """Whether the gateway's data volume is where k3s keeps its data in this container."""
    volume = GatewayNames(gateway).volume
    return any(
        mount.kind == "volume" and mount.source == volume and mount.target == DATA_PATH
        for mount in container.mounts
    )


def parse_volume(text: str) -> Mount:
    """Read ``SOURCE:TARGET[:ro]``; a source with a slash in front is a folder of the host.

    Raises:
        ConfigError: It has another form, or would hide what the gateway keeps.
    """
    source, _, rest = text.partition(":")
    target, _, option = rest.partition(":")
    if not source or not target.startswith("/") or option not in {"", "ro", "rw"}:
        raise ConfigError(
            f"{text!r} is not a volume of the form SOURCE:TARGET[:ro]",
            remedies=["Use `-v /a/host/folder:/a/node/folder` or `-v a-volume:/a/node/folder:ro`."],
        )
    for reserved in _RESERVED_TARGETS:
        if _covers(target.rstrip("/"), reserved):
            raise ConfigError(
                f"{text!r} would hide {reserved}, where the gateway keeps its own files",
                remedies=["Mount it somewhere else in the node."],
            )
    kind = "bind" if source.startswith("/") else "volume"
    return Mount(
        kind="bind" if kind == "bind" else "volume",
        source=source,
        target=target,
        read_only=option == "ro",
    )


def _covers(target: str, reserved: str) -> bool:
    return target in {"", reserved} or reserved.startswith(f"{target}/")


def _modules() -> Mount:
    return Mount(kind="bind", source=KERNEL_MODULES, target=KERNEL_MODULES, read_only=True)


def spec_of_retired(
    name: str, node_name: str, container: Container, api_port: PublishedPort
) -> GatewaySpec:
    """Settings of a gateway whose only witness is its container.

    Kept: image, published ports, and which addons are off, because turning an addon off deletes
    its objects. Not kept: its environment, which held secrets in retired releases.

    Args:
        name: The gateway.
        node_name: The node name it has from now on.
        container: Its container, of a retired release or with a record that was lost.
        api_port: Where to publish the API if the container does not publish it.
    """
    published = [port for port in container.ports if port.container_port == API_PORT]
    return GatewaySpec(
        name=name,
        node_name=node_name,
        image=container.image,
        api_port=published[0] if published else api_port,
        ports=tuple(port for port in container.ports if port.container_port != API_PORT),
        environment={
            key: value
            for key, value in container.environment.items()
            if key.upper() in PROXY_VARIABLES
        },
        disabled_addons=disabled_addons(container.command),
        tls_sans=tuple(
            san for san in _values(container.command, "--tls-san") if san not in _own_sans(name)
        ),
    )


def disabled_addons(command: Iterable[str]) -> tuple[str, ...]:
    """The addons that a ``k3s server`` command line turns off."""
    return _values(command, "--disable")


def _own_sans(name: str) -> Sequence[str]:
    return ("127.0.0.1", "localhost", "host.docker.internal", GatewayNames(name).container)


def _values(command: Iterable[str], flag: str) -> tuple[str, ...]:
    """Values of a repeatable flag, written ``--flag=a,b`` or ``--flag a``."""
    found: list[str] = []
    words = iter(command)
    for word in words:
        if word == flag:
            found += next(words, "").split(",")
        elif word.startswith(f"{flag}="):
            found += word.removeprefix(f"{flag}=").split(",")
    return tuple(value for value in found if value)


def describe_changes(old: GatewaySpec, new: GatewaySpec) -> tuple[str, ...]:
    """One line per setting that differs: ``image: A -> B``."""
    if old == new:
        return ()
    changed = []
    for key in GatewaySpec.__dataclass_fields__:
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            changed.append(f"{key.replace('_', ' ')}: {_show(before)} -> {_show(after)}")
    return tuple(changed)


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value) or "none"
    if isinstance(value, dict):
        return ", ".join(sorted(value)) or "none"
    return str(value) or "none"


def with_image(spec: GatewaySpec, image: str) -> GatewaySpec:
    """The same gateway on another node image."""
    return replace(spec, image=image)
