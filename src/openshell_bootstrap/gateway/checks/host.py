"""What this host says of itself, where the engine's host is this one. Read only."""

import errno
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.gateway.checks.kernel import Kernel, read_kernel
from openshell_bootstrap.gateway.node_container import KERNEL_MODULES
from openshell_bootstrap.models import EngineInfo, PublishedPort

_INOTIFY = Path("/proc/sys/fs/inotify")
_MEMORY = Path("/proc/meminfo")
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_DEFAULT_EPHEMERAL = (32768, 60999)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Facts about the engine's host; None where it is another host or nobody could say.

    Attributes:
        inotify_instances: How many inotify instances one user may have.
        inotify_watches: How many watches one user may have.
        free_bytes: Free space below the engine's data folder.
        size_bytes: Of that disk, what the superuser keeps for itself left out.
        free_inodes: Files that can still be made there; None where the disk does not count them.
        available_memory: Bytes that new processes can have without others being pushed out.
        has_modules: There are kernel modules to show to the node.
        ephemeral_ports: First and last port that the kernel hands out by itself.
    """

    inotify_instances: int | None = None
    inotify_watches: int | None = None
    free_bytes: int | None = None
    size_bytes: int | None = None
    free_inodes: int | None = None
    available_memory: int | None = None
    has_modules: bool = True
    ephemeral_ports: tuple[int, int] = _DEFAULT_EPHEMERAL


class Host:
    """This host: facts, whether a port of it can be bound and a folder written."""

    def facts(self, engine: EngineInfo) -> HostFacts:
        """Read the facts that matter to a gateway on this engine."""
        if not engine.is_local:
            return HostFacts()
        disk = _disk(engine.data_root)
        return HostFacts(
            inotify_instances=_number(_INOTIFY / "max_user_instances"),
            inotify_watches=_number(_INOTIFY / "max_user_watches"),
            free_bytes=disk and disk.f_bavail * disk.f_frsize,
            size_bytes=disk and (disk.f_blocks - disk.f_bfree + disk.f_bavail) * disk.f_frsize,
            free_inodes=disk.f_favail if disk and disk.f_files else None,
            available_memory=_available_memory(),
            has_modules=Path(KERNEL_MODULES).is_dir(),
            ephemeral_ports=_ephemeral_ports(),
        )

    def now(self) -> float:
        """This host's clock, in epoch seconds."""
        return time.time()

    def kernel(self, engine: EngineInfo) -> Kernel:
        """What the kernel of the engine's host can; nothing is known of another host's."""
        return read_kernel() if engine.is_local else {}

    def unwritable(self, folder: Path) -> str | None:
        """Why this user cannot write below a folder, whether it is there yet or not; or None."""
        place = folder
        # Path.exists raises where a folder above may not be looked into.
        while not os.path.exists(place) and place != place.parent:  # noqa: PTH110
            place = place.parent
        if not place.is_dir():
            return f"{place} is no folder"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"{place} cannot be written"
        return None

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


def _disk(folder: str) -> os.statvfs_result | None:
    try:
        return os.statvfs(folder)
    except OSError:
        return None


def _available_memory() -> int | None:
    try:
        lines = _MEMORY.read_text().splitlines()
        (words,) = (line.split() for line in lines if line.startswith("MemAvailable:"))
        return int(words[1]) * 1024
    except (OSError, ValueError):
        return None


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
