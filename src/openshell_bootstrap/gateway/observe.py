"""All that a plan needs to know, as one frozen snapshot.

What the engine could not say raises, because nothing may be planned on it. What the volume could
not say is :class:`Unknown` and says why.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.bundle_changes import read_bundle_changes
from openshell_bootstrap.gateway.checks.host import Host, HostFacts
from openshell_bootstrap.gateway.journal import JOURNAL_PATH, Journal, decode_journal
from openshell_bootstrap.gateway.node_container import mounts_data_volume, object_labels
from openshell_bootstrap.gateway.record import (
    OWN_FOLDER,
    RECORD_PATH,
    GatewayRecord,
    decode_record,
    read_cluster_id,
)
from openshell_bootstrap.models import (
    DATA_PATH,
    Container,
    ContainerSpec,
    EngineInfo,
    FileEntry,
    Mount,
    Network,
    Unknown,
    Volume,
)
from openshell_bootstrap.names import LABEL_GATEWAY, LABEL_ROLE, GatewayNames
from openshell_bootstrap.store.metadata import HostRecord

RETIRED_NODE_FOLDER = "/etc/rancher/node"
NODE_FOLDER = f"{OWN_FOLDER}/node"
KEPT_REGISTRIES = f"{OWN_FOLDER}/registries.yaml"
KEPT_TOKEN = f"{DATA_PATH}/server/token"
_MANIFESTS = f"{DATA_PATH}/server/manifests"
_ADDON_MANIFESTS = {
    "traefik": f"{_MANIFESTS}/traefik.yaml",
    "metrics-server": f"{_MANIFESTS}/metrics-server/metrics-server-deployment.yaml",
}
"""A file that k3s keeps only while the addon is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnVolume:
    """What the data volume holds for us.

    Attributes:
        record: The gateway's record; None where no release of ours ever ran on it.
        cluster_id: SHA-256 of the server authority's certificate; empty where there is none, or
            where the record knows of no cluster yet.
        has_password: The node's password is kept on it.
        registries: The registries file the gateway was given, for its next container.
        token: The cluster's join token, which k3s keeps there; None before its first start, or
            where nobody asked for it.
        live_addons: Addons that k3s has on in this cluster, of those that we turn off.
        journal: Work that was begun and not finished.
    """

    record: GatewayRecord | Unknown | None = None
    cluster_id: str = ""
    has_password: bool = False
    registries: bytes | None = field(default=None, repr=False)
    token: bytes | None = field(default=None, repr=False)
    live_addons: frozenset[str] = frozenset()
    journal: Journal | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A gateway as it stands, with what stands beside it.

    Attributes:
        container: Of exactly the gateway's name, whoever made it.
        aside: A replaced container that was set aside and not removed yet.
        networks: All of exactly the gateway's name: Docker allows twins.
        others: Every other container of the engine.
        on_volume: Read through a container; None where the volume is absent.
        host_copy: What this host has of a record that a release of ours wrote.
        bundle_changes: Files in the container that are not those of this release, one line each.
    """

    names: GatewayNames
    engine: EngineInfo
    host: HostFacts
    container: Container | None
    aside: Container | None
    volume: Volume | None
    networks: tuple[Network, ...]
    others: tuple[Container, ...]
    on_volume: OnVolume | Unknown | None
    host_copy: HostRecord | None = None
    bundle_changes: tuple[str, ...] = ()

    @property
    def record(self) -> GatewayRecord | Unknown | None:
        """The record on the volume."""
        return self.on_volume.record if isinstance(self.on_volume, OnVolume) else self.on_volume

    @property
    def exists(self) -> bool:
        """Something of this gateway is there."""
        return self.container is not None or self.volume is not None or self.aside is not None

    @property
    def node_container_id(self) -> str:
        """Id of the gateway's container; empty where there is none."""
        return "" if self.container is None else self.container.id

    @property
    def is_retired(self) -> bool:
        """The container was made by a retired release: it bears no label of ours."""
        return self.container is not None and LABEL_GATEWAY not in self.container.labels

    @property
    def volume_users(self) -> tuple[Container, ...]:
        """Other containers on the data volume."""
        return tuple(
            other
            for other in self.others
            if any(mount.source == self.names.volume for mount in other.mounts)
        )

    @property
    def taken_node_names(self) -> frozenset[str]:
        """Node names of the engine's other gateways."""
        return frozenset(
            other.hostname for other in self.others if other.labels.get(LABEL_ROLE) == "node"
        )


def is_helper(container: Container) -> bool:
    """It is one of our never-started containers that only open a volume's files."""
    return container.labels.get(LABEL_ROLE) == "helper"


def observe(
    name: str,
    *,
    engine: Engine,
    host: Host,
    helper_images: Sequence[str] = (),
    with_token: bool = False,
) -> Seen:
    """Look at everything once.

    Args:
        name: The gateway.
        engine: Where to look.
        host: This host.
        helper_images: Images of which the first present one opens the volume where there is no
            container; with none of them present the volume's content is Unknown.
        with_token: Read the cluster's token too.
    """
    names = GatewayNames(name)
    info = engine.info()
    everything = tuple(engine.containers.list())
    container = next((one for one in everything if one.name == names.container), None)
    others = tuple(one for one in everything if one.name != names.container)
    aside = next((one for one in others if one.name == names.aside(one.id)), None)
    volume = engine.volumes.find(names.volume)
    opener = next((one for one in (container, aside) if opens(one, names)), None)
    return Seen(
        names=names,
        engine=info,
        host=host.facts(info),
        container=container,
        aside=aside,
        volume=volume,
        networks=tuple(engine.networks.list_named(names.network)),
        others=others,
        on_volume=None
        if volume is None
        else _read_volume(engine, names, opener, helper_images, with_token=with_token),
        bundle_changes=read_bundle_changes(engine, container, name),
    )


def opens(container: Container | None, names: GatewayNames) -> bool:
    """The volume's files can be read through it; not so through one that is half removed."""
    return (
        container is not None
        and container.status not in {"dead", "removing"}
        and mounts_data_volume(container, names.gateway)
    )


def _read_volume(
    engine: Engine,
    names: GatewayNames,
    opener: Container | None,
    helper_images: Sequence[str],
    *,
    with_token: bool,
) -> OnVolume | Unknown:
    if opener is not None:
        return read_through(engine, opener.id, with_token=with_token)
    image = next((one for one in helper_images if engine.images.find(one) is not None), None)
    if image is None:
        return Unknown("the volume has no container, and no node image is present to open it with")
    with helper(engine, names, image) as container_id:
        return read_through(engine, container_id, with_token=with_token)


def read_through(engine: Engine, container_id: str, *, with_token: bool = False) -> OnVolume:
    """What the volume holds, read through a container that mounts it, running or not.

    Our own folder is read as a whole: each call to the engine for files of a container is slow.

    Raises:
        EngineUnavailableError: The engine did not answer, so that nothing may follow from it.
    """
    try:
        entries = engine.containers.get_files(container_id, OWN_FOLDER)
    except EngineUnavailableError:
        raise
    except EngineError as error:
        cause = ": ".join(part for part in (error.brief, error.details) if part)
        return OnVolume(record=Unknown(cause))
    own = {entry.path: entry.content for entry in entries or ()}
    content = own.get(RECORD_PATH)
    record = None if content is None else decode_record(content)
    token = engine.containers.get_file(container_id, KEPT_TOKEN) if with_token else None
    has_cluster = not isinstance(record, GatewayRecord) or bool(record.cluster_id)
    return OnVolume(
        record=record,
        cluster_id=read_cluster_id(engine, container_id) if has_cluster else "",
        has_password=own.get(f"{NODE_FOLDER}/password") is not None,
        registries=own.get(KEPT_REGISTRIES),
        journal=decode_journal(own.get(JOURNAL_PATH)),
        token=None if token is None else token.content,
        live_addons=frozenset()
        if isinstance(record, GatewayRecord)
        else _live_addons(engine, container_id),
    )


def _live_addons(engine: Engine, container_id: str) -> frozenset[str]:
    return frozenset(
        addon
        for addon, path in _ADDON_MANIFESTS.items()
        if engine.containers.get_file(container_id, path) is not None
    )


@contextmanager
def helper(engine: Engine, names: GatewayNames, image: str) -> Iterator[str]:
    """A labelled container that is never started and opens the volume's files; removed after."""
    left_over = engine.containers.find(names.helper)
    if left_over is not None and is_helper(left_over):
        engine.containers.remove(left_over.id, volumes=True)
    container_id = engine.containers.create(
        ContainerSpec(
            name=names.helper,
            image=image,
            hostname="helper",
            entrypoint=("/never-started",),
            command=(),
            environment={},
            labels=object_labels(names.gateway, "helper"),
            mounts=(Mount(kind="volume", source=names.volume, target=DATA_PATH),),
        )
    )
    try:
        yield container_id
    finally:
        engine.containers.remove(container_id, volumes=True)


def read_retired_identity(engine: Engine, container: Container) -> tuple[FileEntry, ...]:
    """The node's password and id that a retired release kept in its container alone."""
    files = []
    for name in ("password", "id"):
        file = engine.containers.get_file(container.id, f"{RETIRED_NODE_FOLDER}/{name}")
        if file is not None and file.content is not None:
            files.append(FileEntry(f"{NODE_FOLDER}/{name}", file.content, 0o600))
    return tuple(files)
