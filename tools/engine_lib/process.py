"""Processes named by more than a number, locks, and the records that survive this command.

A process id is used again sooner or later, so a record also keeps the start time and the boot.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one boot; start_ticks is field 22 of /proc/PID/stat (proc(5))."""

    pid: int
    start_ticks: int
    boot_id: str


def parse_start_ticks(stat_text: str) -> int | None:
    """The start time in a /proc/PID/stat; None for a process that has ended (zombie)."""
    # The command's name may hold spaces and brackets: count from behind its last bracket.
    fields = stat_text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def find_identity(pid: int, proc: Path = PROC) -> ProcessIdentity | None:
    """The identity of the process that has this id now; None if there is none."""
    try:
        ticks = parse_start_ticks((proc / str(pid) / "stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    if ticks is None:
        return None
    boot_id = (proc / "sys/kernel/random/boot_id").read_text().strip()
    return ProcessIdentity(pid, ticks, boot_id)


def is_alive(identity: ProcessIdentity, proc: Path = PROC) -> bool:
    """Whether exactly this process still runs."""
    return find_identity(identity.pid, proc) == identity


def stop_process(identity: ProcessIdentity, timeout_s: float) -> bool:
    """Ask a process to end and wait for it. False if it still runs after the timeout."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return True
    try:
        # The descriptor is held before the identity is compared: from here on no other process
        # can take the number's place.
        if not is_alive(identity):
            return True
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        return bool(ended.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Record:
    """What this tool noted about an engine that it started, or is about to start."""

    made_folder: bool
    process: ProcessIdentity | None = None

    def is_alive(self) -> bool:
        """Whether the recorded daemon still runs."""
        return self.process is not None and is_alive(self.process)


def write_record(path: Path, record: Record) -> None:
    """Write by rename, so that a reader sees the old record or the new one."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(record)) + "\n")
    temporary.replace(path)


def find_record(path: Path) -> Record | None:
    """The record in a file; None if there is none or it cannot be read as one."""
    try:
        data = json.loads(path.read_text())
        process = data["process"] and ProcessIdentity(**data["process"])
        return Record(bool(data["made_folder"]), process)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold a folder for one command, made if absent; yields whether it was made here.

    The lock is on the folder itself, so nothing is left behind and a dead holder frees it. A
    holder may have removed the folder: then the one that stands now is locked instead.
    """
    while True:
        made = False
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True, mode=0o755)
            made = True
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"Another tools/engine is at work in {folder}; waiting for it.", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_same_file(descriptor, folder):
                yield made
                return
        finally:
            os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
