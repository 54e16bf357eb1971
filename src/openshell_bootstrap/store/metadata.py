"""The host's record of a gateway, in the shape that the retired releases gave it.

It is a copy: whatever it says, the engine and the data volume say it first. So a record that
cannot be read stops nobody; it is told as :class:`Unknown`, stays where it is, and is set aside
under another name only when a new one takes its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.files import ensure_private_folder, explained, write_by_rename
from openshell_bootstrap.store.paths import ConfigPaths

_ALIASES = {"cf_team_domain": "edge_team_domain", "cf_auth_url": "edge_auth_url"}
"""Names that older releases gave to two of the fields."""

_MAX_BYTES = 1 << 20

EXTERNAL = "external"
"""The ``kind`` of a gateway that is a cluster made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """What this host knows of one gateway. None means: not said, so a rewrite keeps what is there.

    Attributes:
        gateway_endpoint: ``https://127.0.0.1:PORT``.
        is_remote: The engine runs on another host.
        gateway_port: The port of the endpoint.
        remote_host: The other host as the user gave it; with ``resolved_host`` and the edge
            fields written by retired releases only.
        container_image: The node image that the gateway was given last.
        node_name: Its node's name in Kubernetes.
        schema: Of our own fields.
        cluster_id: SHA-256 of the cluster's server authority.
        kind: ``external`` for a cluster that was made elsewhere and is reached by its kubeconfig;
            not said for one made here.
    """

    name: str
    gateway_endpoint: str
    is_remote: bool
    gateway_port: int
    remote_host: str | None = None
    resolved_host: str | None = None
    auth_mode: str | None = None
    edge_team_domain: str | None = None
    edge_auth_url: str | None = None
    container_image: str | None = None
    node_name: str | None = None
    schema: int | None = None
    cluster_id: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The records of this host's gateways."""

    paths: ConfigPaths

    def find(self, name: str) -> HostRecord | Unknown | None:
        """The record of one gateway; None if there is none, Unknown if it cannot be read.

        Raises:
            ConfigError: No gateway can have that name.
        """
        path = self.paths.metadata(name)
        stored = _read(path)
        return stored if stored is None or isinstance(stored, Unknown) else _record(stored, path)

    def list(self) -> dict[str, HostRecord | Unknown]:
        """All records, by gateway, in the order of their names.

        Raises:
            ConfigError: The folder cannot be read.
        """
        with explained("The records of gateways cannot be read", self.paths.gateways):
            try:
                folders = sorted(self.paths.gateways.iterdir())
            except (FileNotFoundError, NotADirectoryError):
                return {}
        found = {path.name: self.find(path.name) for path in folders if _is_name(path.name)}
        return {name: record for name, record in found.items() if record is not None}

    def write(self, record: HostRecord) -> None:
        """Write a record; fields of the present one that it does not speak of stay as they are.

        Raises:
            ConfigError: The folder cannot be written.
        """
        path = self.paths.metadata(record.name)
        with explained("The gateway's record cannot be written", path):
            ensure_private_folder(path.parent)
            present = _read(path)
            if isinstance(present, Unknown) or (
                present is not None and isinstance(_record(present, path), Unknown)
            ):
                _set_aside(path)
                present = None
            write_by_rename(path, _merged(present or {}, record))

    def remove(self, name: str) -> None:
        """Remove a record, and its folder if nothing else is in it; fine if there is none.

        A record that cannot be read is set aside: nobody knows what it holds.

        Raises:
            ConfigError: It cannot be removed.
        """
        path = self.paths.metadata(name)
        with explained("The gateway's record cannot be removed", path):
            if isinstance(_read(path), Unknown):
                _set_aside(path)
            path.unlink(missing_ok=True)
            remove_if_empty(path.parent)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that holds nothing; fine if it is not there or holds something."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _read(path: Path) -> dict[str, msgspec.Raw] | Unknown | None:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")
    try:
        # Decoding all of it finds damage inside fields that are otherwise only passed on.
        msgspec.json.decode(content)
        stored = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unknown(f"{path} is damaged: {error}")
    for alias, field in _ALIASES.items():
        if alias in stored:
            stored.setdefault(field, stored[alias])
            del stored[alias]
    return stored


def _record(stored: Mapping[str, msgspec.Raw], path: Path) -> HostRecord | Unknown:
    try:
        record = msgspec.json.decode(msgspec.json.encode(stored), type=HostRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Unknown(f"{path} is damaged: {error}")
    if record.name != path.parent.name:
        return Unknown(f"{path} is damaged: it is the record of {record.name!r}")
    return record


def _merged(present: Mapping[str, msgspec.Raw], record: HostRecord) -> bytes:
    said = {
        field.name: msgspec.Raw(msgspec.json.encode(value))
        for field in fields(record)
        if (value := getattr(record, field.name)) is not None
    }
    return msgspec.json.format(msgspec.json.encode({**present, **said})) + b"\n"


def _set_aside(path: Path) -> None:
    """Give a damaged record a name under which nothing is kept yet."""
    free = path.with_name(f"{path.name}.damaged")
    number = 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.damaged-{number}")
    path.replace(free)


def _is_name(name: str) -> bool:
    try:
        check_adopted_name(name)
    except ConfigError:
        return False
    return True
