"""One gateway, one operation at a time: a lock that ends with the process that holds it.

It lies where all users of the host see it, because they share the engine. Whoever comes first
makes the file, and the next user must be able to lock it too: hence its open mode, and hence it is
opened without O_CREAT first, which Linux refuses in a shared folder for another owner's file
(``fs.protected_regular``). The same rule is why the library's own lock object is not used: it
turns down a file of another owner. Its ``lock_descriptor`` takes the one we opened.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from openshell_bootstrap.errors import ConfigError, LockedError, UnusableLockError, WaitTimeoutError
from openshell_bootstrap.settings import HOLDER_PATIENCE
from openshell_bootstrap.waits import wait_until

_SHARED_FOLDER = 0o1777
_PRIVATE_FOLDER = 0o700
_SHARED_FILE = 0o666
_HOLDER_BYTES = 512
_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
_IS_MOMENT = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}Z")
_FOLDER_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held.

    Attributes:
        path: The lock file.
        notice: What the user should know of it; empty when it covers the whole host.
    """

    path: Path
    notice: str = ""


@dataclass(frozen=True, slots=True)
class LockFolders:
    """Where locks go: the folder for all users, and the user's own where that cannot be used."""

    shared: Path
    user: Path


def lock_name(engine_id: str, gateway: str) -> str:
    """A file name for one gateway on one engine: readable, and no two are alike."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", gateway)[:40].strip("-")
    digest = hashlib.sha256(f"{engine_id}\0{gateway}".encode()).hexdigest()[:16]
    return f"{readable}-{digest}.lock"


@contextmanager
def hold(folders: LockFolders, name: str, *, gateway: str, command: str) -> Iterator[Held]:
    """Hold the lock while the body runs.

    Raises:
        LockedError: Another process holds it.
        UnusableLockError: Its file is not one that can be locked.
        ConfigError: Neither folder can be used.
    """
    descriptor, held = _open(folders, name)
    try:
        if not lock_descriptor(descriptor, blocking=False):
            raise _locked(gateway, held.path, descriptor)
        if not _is_named(descriptor, held.path):
            raise LockedError(
                f"The lock file {held.path} was removed by somebody just now",
                remedies=["Try again."],
            )
        with _named_in(descriptor, command):
            yield held
    finally:
        os.close(descriptor)


@contextmanager
def _named_in(descriptor: int, command: str) -> Iterator[None]:
    """Say in the file who holds it, and let go of it at the end, with nothing said any more.

    No space is no matter: the lock holds all the same, without a name in it.
    """
    since = datetime.now(UTC).strftime(_MOMENT)
    text = f"{os.getpid()}\n{command}\n{since}\n".encode()
    with suppress(OSError):  # in this order, so that no reader finds it empty
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        unlock_descriptor(descriptor)  # a child that is just being started may have this open file


def _open(folders: LockFolders, name: str) -> tuple[int, Held]:
    try:
        return _open_in(folders.shared, name, _SHARED_FOLDER), Held(folders.shared / name)
    except OSError as refused:
        if refused.errno not in _FOLDER_REFUSED:
            raise _unusable(folders.shared, refused) from refused
        reason = f"{folders.shared}: {refused.strerror}"
    try:
        folders.user.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _open_in(folders.user, name, _PRIVATE_FOLDER)
    except OSError as error:
        raise _unusable(folders.user, error) from error
    notice = (
        f"The lock covers this user's commands only, since the shared folder cannot be used "
        f"({reason}): let no other user work on this gateway meanwhile"
    )
    return descriptor, Held(folders.user / name, notice)


def _open_in(folder: Path, name: str, mode: int) -> int:
    with _no_umask(), suppress(FileExistsError):
        folder.mkdir(mode=mode)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        return _open_file(place, folder / name)
    finally:
        os.close(place)


def _open_file(place: int, path: Path) -> int:
    # O_NONBLOCK: a pipe that somebody put there must not make us wait.
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path.name, flags, dir_fd=place)
    except FileNotFoundError:
        descriptor = _create_file(place, path.name, flags)
    except OSError as error:
        raise _not_lockable(path, str(error.strerror)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_lockable(path, "it is no plain file")
    return descriptor


def _create_file(place: int, name: str, flags: int) -> int:
    with _no_umask():
        try:
            return os.open(name, flags | os.O_CREAT | os.O_EXCL, _SHARED_FILE, dir_fd=place)
        except FileExistsError:  # another process made it a moment ago
            return os.open(name, flags, dir_fd=place)


def _is_named(descriptor: int, path: Path) -> bool:
    """Whether the locked file still is the one that the next process will open."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _no_umask() -> Iterator[None]:
    """Let a mode be what it says from the first moment, so that no other user is turned away."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def _locked(gateway: str, path: Path, descriptor: int) -> LockedError:
    text = _read_holder(descriptor).decode(errors="replace")
    lines = "".join(c if c.isprintable() else "\n" for c in text).split("\n")
    pid, command, since = (*lines, "", "", "")[:3]
    holder = f"process {pid} ({command.strip() or 'unknown'})" if pid.isdigit() else "a process"
    moment = f" since {since}" if _IS_MOMENT.fullmatch(since) else ""
    return LockedError(
        f"Another command works on gateway {gateway!r}",
        details=f"{holder} holds {path}{moment}",
        remedies=[
            "Wait for it to end (`--wait-lock SECONDS` does that), or end it, and try again.",
        ],
    )


def _read_holder(descriptor: int) -> bytes:
    """What the holder wrote; it has the lock a moment before its name is in the file."""

    def read() -> bytes:
        return os.pread(descriptor, _HOLDER_BYTES, 0)

    try:
        return wait_until(read, bool, patience=HOLDER_PATIENCE, what="the holder's name")
    except WaitTimeoutError:  # its disk had no space for one
        return b""


def _not_lockable(path: Path, why: str) -> UnusableLockError:
    return UnusableLockError(
        f"The lock file {path} cannot be used: {why}",
        remedies=[f"If no openshell command runs, remove it: `sudo rm {path}`."],
    )


def _unusable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"No lock can be kept in {folder}",
        details=str(error),
        remedies=["Make room in it, or set XDG_RUNTIME_DIR to a folder of yours."],
    )
