"""The gateway's record on its own data volume: what it is, so that a container can be rebuilt.

The record lies beside k3s's folders, written with the container that it describes and completed
once the cluster has said who it is. A record that cannot be read is :class:`Unknown`, which is
not the same as none: none means that a retired release, or nobody, made this volume.
"""

import hashlib
from dataclasses import dataclass

import msgspec

from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError, EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.checks.subnet import parse_subnet
from openshell_bootstrap.models import DATA_PATH, FileEntry, GatewaySpec, Unknown
from openshell_bootstrap.names import check_adopted_name, is_node_name

OWN_FOLDER = f"{DATA_PATH}/openshell"
"""Ours on the volume, beside k3s's own folders."""

RECORD_PATH = f"{OWN_FOLDER}/gateway.json"
AUTHORITY_PATH = f"{DATA_PATH}/server/tls/server-ca.crt"
SCHEMA = 1

WRITE_SCRIPT = """\
umask 077
cat >"$1.new" && [ "$(wc -c <"$1.new")" -eq "$2" ] && sync "$1.new" || exit
[ ! -d "$1" ] || rmdir "$1" || exit
mv "$1.new" "$1"
"""
"""Writes a file of the volume by rename, whole and on its disk before it bears its name.

To the script the end of its input looks the same where its sender was killed, so it is told how
many bytes there are. Into a folder ``mv`` would move the file and call that done: an empty one
makes way, another one is told.
"""

_SECRET = 0o600
LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class DamagedRecord(Unknown):
    """The record was read and is no record: nothing in it can be used, and it may be replaced."""


@dataclass(frozen=True, slots=True)
class NewerRecord(Unknown):
    """The record is a newer release's, which this one must neither use nor replace."""


@dataclass(frozen=True, slots=True)
class _Schema:
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRecord:
    """What a data volume says of its gateway.

    Attributes:
        cluster_id: SHA-256 of the server authority's certificate: the cluster's identity.
        kube_system_uid: UID of the namespace kube-system, once known.
        k3s_version: The version that ran on the volume last, ``v1.35.3+k3s1``.
    """

    spec: GatewaySpec
    schema: int = SCHEMA
    cluster_id: str = ""
    kube_system_uid: str = ""
    k3s_version: str = ""

    @property
    def name(self) -> str:
        """The gateway's name."""
        return self.spec.name


def encode_record(record: GatewayRecord) -> bytes:
    """The record as it lies on the volume."""
    return msgspec.json.format(msgspec.json.encode(record)) + b"\n"


def decode_record(content: bytes) -> GatewayRecord | DamagedRecord | NewerRecord:
    """Read a record, whoever wrote it; what could not be a gateway's settings is damage."""
    try:
        schema = msgspec.json.decode(content, type=_Schema).schema
        if schema > SCHEMA:
            return NewerRecord(
                f"{RECORD_PATH} on the volume has schema {schema}, and this release knows {SCHEMA} "
                "at most"
            )
        record = msgspec.json.decode(content, type=GatewayRecord)
        check_spec(record.spec)
    except (msgspec.DecodeError, RecursionError, ConfigError) as error:
        return DamagedRecord(f"{RECORD_PATH} on the volume is damaged: {error}")
    return record


def check_spec(spec: GatewaySpec) -> None:
    """Refuse what must not reach a path, a command or the engine, whoever wrote it.

    Raises:
        ConfigError: It could not be a gateway's settings.
    """
    check_adopted_name(spec.name)
    if not is_node_name(spec.node_name):
        raise ConfigError(f"{spec.node_name!r} cannot be a node's name")
    if not spec.image:
        raise ConfigError("it names no image")
    if spec.subnet:
        parse_subnet(spec.subnet)
    for port in (spec.api_port, *spec.ports):
        if not (0 <= port.host_port <= LAST_PORT and 0 < port.container_port <= LAST_PORT):
            raise ConfigError(f"{port} cannot be a published port")


def read_record(engine: Engine, container_id: str) -> GatewayRecord | Unknown | None:
    """Read the record through a container that mounts the volume, running or not.

    Raises:
        EngineUnavailableError: The engine did not answer, so that nothing may follow from it.
    """
    try:
        file = engine.containers.get_file(container_id, RECORD_PATH)
    except EngineUnavailableError:
        raise
    except EngineError as error:
        return Unknown(error.brief)
    if file is None or file.content is None:
        return None
    return decode_record(file.content)


def record_entry(record: GatewayRecord) -> FileEntry:
    """The record as a file to be put into a container that never started."""
    return FileEntry(RECORD_PATH, encode_record(record), _SECRET)


def write_record(node: NodeExec, record: GatewayRecord) -> None:
    """Replace the record of a running node by rename, so that no reader meets half of it."""
    content = encode_record(record)
    command = ["sh", "-c", WRITE_SCRIPT, "sh", RECORD_PATH, str(len(content))]
    done = node.run(command, stdin=content)
    if done.exit_status:
        raise EngineError(
            "The gateway's record could not be written to its volume",
            details=done.stderr.decode(errors="replace"),
        )


def read_cluster_id(engine: Engine, container_id: str) -> str:
    """SHA-256 of the server authority's certificate; empty while there is none."""
    file = engine.containers.get_file(container_id, AUTHORITY_PATH)
    return "" if file is None else hashlib.sha256(file.content or b"").hexdigest()


def spec_digest(spec: GatewaySpec) -> str:
    """SHA-256 over all settings, in a fixed order. A setting is never a secret.

    One that stands at its default is left out, so that a release with a new setting does not take
    every container for one that differs.
    """
    bare = GatewaySpec(
        name=spec.name, node_name=spec.node_name, image=spec.image, api_port=spec.api_port
    )
    always = {"name", "node_name", "image", "api_port"}
    said = {
        field: getattr(spec, field)
        for field in GatewaySpec.__dataclass_fields__
        if field in always or getattr(spec, field) != getattr(bare, field)
    }
    return hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()
