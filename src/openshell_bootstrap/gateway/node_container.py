"""From a gateway's settings to its container, and back. Pure."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, takewhile

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

_RESERVED_TARGETS = (*SCRATCH_PATHS.values(), "/etc/rancher", KERNEL_MODULES)
"""Nothing of a user's may be mounted on these or above them."""
_RESERVED_TREES = (DATA_PATH, bundle.BUNDLE_PATH, "/etc/rancher/node")
"""Nor on these, above them or below them: a mount there would hide what must not be lost."""
_OPEN_TREE = f"{DATA_PATH}/agent/images"
"""But this is made for it: k3s imports the images that it finds there."""

_VOLUME_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_IMAGE_VARIABLES = {"PATH", "CRI_CONFIG_FILE"}
"""What a container's environment has from a k3s image."""


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
        labels=_node_labels(spec),
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


def _node_labels(spec: GatewaySpec) -> dict[str, str]:
    return {
        **object_labels(spec.name, "node"),
        LABEL_SPEC_DIGEST: spec_digest(spec),
        LABEL_BUNDLE_DIGEST: bundle.digest(),
    }


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
    return tuple(mount.source for mount in container.mounts if _is_scratch(mount, gateway))


def _is_scratch(mount: Mount, gateway: str) -> bool:
    prefix = f"openshell-scratch-{gateway}-"
    return (
        mount.kind == "volume"
        and mount.source.startswith(prefix)
        and mount.target in (SCRATCH_PATHS.values())
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
    is_folder = source.startswith("/")
    if not is_folder and not _VOLUME_NAME.fullmatch(source):
        raise ConfigError(
            f"{source!r} is neither a folder of the host nor a volume's name",
            remedies=["Write a folder with its whole path, from / on."],
        )
    target = "/" + posixpath.normpath(target).lstrip("/")
    if hidden := _hidden_by(target):
        raise ConfigError(
            f"{text!r} would hide {hidden}, where the gateway keeps its own files",
            remedies=["Mount it somewhere else in the node."],
        )
    return Mount(
        kind="bind" if is_folder else "volume",
        source=source,
        target=target,
        read_only=option == "ro",
    )


def _hidden_by(target: str) -> str:
    """Which of the gateway's own places a mount at ``target`` would hide, or nothing."""
    for reserved in (*_RESERVED_TREES, *_RESERVED_TARGETS):
        if _is_within(reserved, target):
            return reserved
    for tree in _RESERVED_TREES:
        if _is_within(target, tree) and not _is_within(target, _OPEN_TREE):
            return tree
    return ""


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _modules() -> Mount:
    return Mount(kind="bind", source=KERNEL_MODULES, target=KERNEL_MODULES, read_only=True)


def spec_of_retired(
    name: str, node_name: str, container: Container, api_port: PublishedPort
) -> GatewaySpec:
    """Settings of a gateway of a retired release, whose only witness is its container.

    Kept: image, published ports, and which addons are off, because turning an addon off deletes
    its objects. Not kept: its environment, which held secrets in retired releases.

    Args:
        name: The gateway.
        node_name: The node name it has from now on.
        container: Its container.
        api_port: Where to publish the API.
    """
    return GatewaySpec(
        name=name,
        node_name=node_name,
        image=container.image,
        api_port=api_port,
        ports=tuple(port for port in container.ports if port.container_port != API_PORT),
        environment={
            key.upper(): value
            for key, value in container.environment.items()
            if key.upper() in PROXY_VARIABLES
        },
        disabled_addons=disabled_addons(container.command),
        tls_sans=tuple(
            san for san in _values(container.command, "--tls-san") if san not in _own_sans(name)
        ),
    )


def spec_of_own(name: str, container: Container, api_port: PublishedPort) -> GatewaySpec:
    """Settings that :func:`build_container` made this container of, where the record is lost.

    Whether it was given GPUs, or its network a range, cannot be seen.
    """
    names = GatewayNames(name)
    arguments = list(dropwhile(lambda word: word != "server", container.command))[1:]
    addons = list(takewhile(lambda word: word.startswith("--disable="), arguments))
    sans = list(takewhile(lambda word: word.startswith("--tls-san="), arguments[len(addons) :]))
    own_sans = {*_own_sans(name), api_port.address}
    return GatewaySpec(
        name=name,
        node_name=container.hostname,
        image=container.image,
        api_port=api_port,
        ports=tuple(port for port in container.ports if port.container_port != API_PORT),
        volumes=tuple(
            f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"
            for mount in container.mounts
            if mount.source != names.volume and not _is_scratch(mount, name) and mount != _modules()
        ),
        environment={
            key: value
            for key, value in container.environment.items()
            if key not in {NODE_NAME_ENV, *_IMAGE_VARIABLES}
        },
        k3s_args=tuple(arguments[len(addons) + len(sans) :]),
        tls_sans=tuple(san for san in _values(sans, "--tls-san") if san not in own_sans),
        disabled_addons=_values(addons, "--disable"),
    )


def find_api_port(container: Container) -> PublishedPort | None:
    """Where a container publishes the Kubernetes API; None where it does not, or anywhere."""
    for port in container.ports:
        if port.container_port == API_PORT and port.host_port:
            return port
    return None


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
    changed = []
    for key in GatewaySpec.__dataclass_fields__:
        before, after = getattr(old, key), getattr(new, key)
        if key == "environment":
            changed += _changed_variables(before, after)
        elif before != after:
            changed.append(f"{key.replace('_', ' ')}: {_show(before)} -> {_show(after)}")
    return tuple(changed)


def _changed_variables(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Names alone: a proxy's address may hold a password."""
    changed = []
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            how = "no longer set" if name not in new else "changed" if name in old else "set"
            changed.append(f"environment: {name} {how}")
    return changed


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value) or "none"
    return str(value) or "none"
