"""What this host says of itself, where the engine's host is this one. Read only."""

import errno
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.gateway.node_container import KERNEL_MODULES
from openshell_bootstrap.models import EngineInfo, PublishedPort

_INOTIFY = Path("/proc/sys/fs/inotify")
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_DEFAULT_EPHEMERAL = (32768, 60999)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Facts about the engine's host; None where it is another host or nobody could say.

    Attributes:
        inotify_instances: How many inotify instances one user may have.
        inotify_watches: How many watches one user may have.
        free_bytes: Free space below the engine's data folder.
        has_modules: There are kernel modules to show to the node.
        ephemeral_ports: First and last port that the kernel hands out by itself.
    """

    inotify_instances: int | None = None
    inotify_watches: int | None = None
    free_bytes: int | None = None
    has_modules: bool = True
    ephemeral_ports: tuple[int, int] = _DEFAULT_EPHEMERAL


class Host:
    """This host: facts, and whether a port of it can be bound."""

    def facts(self, engine: EngineInfo) -> HostFacts:
        """Read the facts that matter to a gateway on this engine."""
        if not engine.is_local:
            return HostFacts()
        return HostFacts(
            inotify_instances=_number(_INOTIFY / "max_user_instances"),
            inotify_watches=_number(_INOTIFY / "max_user_watches"),
            free_bytes=_free_bytes(engine.data_root),
            has_modules=Path(KERNEL_MODULES).is_dir(),
            ephemeral_ports=_ephemeral_ports(),
        )

    def port_holder(self, port: PublishedPort) -> str | None:
        """Why this host's port cannot be bound, and who has it as far as can be seen; or None.

        That only the superuser may bind it says nothing, because the engine is one.
        """
        family = socket.AF_INET6 if ":" in port.address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((port.address, port.host_port))
            except PermissionError:
                return None
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return f"{_listener(port.host_port)} has it"
                return str(error.strerror)
        return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _free_bytes(folder: str) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _ephemeral_ports() -> tuple[int, int]:
    try:
        first, last = _EPHEMERAL.read_text().split()
        return int(first), int(last)
    except (OSError, ValueError):
        return _DEFAULT_EPHEMERAL


def _listener(port: int) -> str:
    """Name the process that listens on a port, as far as this user may see it."""
    inodes = _listening_inodes(port)
    for process in Path("/proc").glob("[0-9]*"):
        if _open_files(process) & inodes:
            with suppress(OSError):  # it ended a moment ago
                return f"process {process.name} ({(process / 'comm').read_text().strip()})"
    return "a process that this user may not see"


def _open_files(process: Path) -> set[str]:
    """What a process has open, as far as this user may see it and it stays open."""
    found = set()
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _listening_inodes(port: int) -> set[str]:
    listening = "0A"
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            words = row.split()
            if words[3] == listening and int(words[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{words[9]}]")
    return found
