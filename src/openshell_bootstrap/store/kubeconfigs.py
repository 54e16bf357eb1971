"""Kubeconfigs: one per gateway that is ours, and the user's own, which is not."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import lock_descriptor

from openshell_bootstrap.errors import ConfigError, LockedError
from openshell_bootstrap.store.files import (
    PRIVATE,
    ensure_private_folder,
    explained,
    write_by_rename,
)
from openshell_bootstrap.store.metadata import remove_if_empty
from openshell_bootstrap.store.paths import ConfigPaths

_OURS = b"openshell\n"
"""What our own lock of a kubeconfig holds, so that it is not taken for kubectl's."""


@dataclass(frozen=True, slots=True)
class Kubeconfigs:
    """The kubeconfigs that hold a gateway's administrator credentials; readable by the owner."""

    paths: ConfigPaths

    def path(self, name: str) -> Path:
        """Where the gateway's kubeconfig is, or would be."""
        return self.paths.kubeconfig(name)

    def find(self, name: str) -> bytes | None:
        """The gateway's kubeconfig, or None if there is none.

        Raises:
            ConfigError: It cannot be read.
        """
        path = self.path(name)
        with explained("The gateway's kubeconfig cannot be read", path):
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, name: str, content: bytes) -> Path:
        """Write the gateway's kubeconfig and return its path.

        Raises:
            ConfigError: It cannot be written.
        """
        path = self.path(name)
        with explained("The gateway's kubeconfig cannot be written", path):
            ensure_private_folder(path.parent)
            write_by_rename(path, content)
        return path

    def remove(self, name: str) -> None:
        """Remove the gateway's kubeconfig; fine if there is none.

        Raises:
            ConfigError: It cannot be removed.
        """
        path = self.path(name)
        with explained("The gateway's kubeconfig cannot be removed", path):
            path.unlink(missing_ok=True)
            remove_if_empty(path.parent)


def edit_user_kubeconfig(path: Path, change: Callable[[bytes], bytes]) -> bool:
    """Change the user's own kubeconfig in one step; False if it was as wanted already.

    A link is followed and its target rewritten; the file keeps its mode. The lock file is the one
    that ``kubectl config`` uses, so neither loses what the other wrote.

    Args:
        path: The file; it need not exist.
        change: From the present content, empty if there is no file, to the wanted one.

    Raises:
        ConfigError: It cannot be read or written, or ``change`` refused.
        LockedError: Somebody else is changing it.
    """
    target = path
    try:
        target = path.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _kubectl_lock(target):
            exists = target.exists()
            present = target.read_bytes() if exists else b""
            wanted = change(present)
            if wanted == present:
                return False
            mode = stat.S_IMODE(target.stat().st_mode) if exists else PRIVATE
            write_by_rename(target, wanted, mode=mode)
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        raise ConfigError(
            f"The kubeconfig {target} cannot be changed", details=str(error)
        ) from error
    return True


@contextmanager
def _kubectl_lock(target: Path) -> Iterator[None]:
    """Hold kubectl's lock; one that a killed ``openshell`` left behind holds up nobody."""
    lock = target.with_name(f"{target.name}.lock")
    descriptor = _make_lock(lock)
    if descriptor is None and _remove_abandoned(lock):
        descriptor = _make_lock(lock)
    if descriptor is None:
        raise LockedError(
            f"The kubeconfig {target} is being changed by another command",
            details=f"{lock} exists; kubectl and openshell make it while they write.",
            remedies=["Try again.", f"If no such command runs, remove {lock}."],
        )
    try:
        lock_descriptor(descriptor, blocking=False)
        os.write(descriptor, _OURS)
        yield
    finally:
        try:
            lock.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _make_lock(lock: Path) -> int | None:
    try:
        return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE)
    except FileExistsError:
        return None


def _remove_abandoned(lock: Path) -> bool:
    """Remove a lock of ours whose holder is dead, and say whether it was one.

    A holder writes our word only while it has the file locked, and that lock dies with it.
    kubectl's own file has no word in it.
    """
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # gone since, or not ours to open
        return False
    try:
        is_dead = os.read(descriptor, len(_OURS)) == _OURS and lock_descriptor(
            descriptor, blocking=False
        )
        if not is_dead or not os.path.samestat(os.fstat(descriptor), lock.stat()):
            return False
        lock.unlink()
    except FileNotFoundError:
        return False
    finally:
        os.close(descriptor)
    return True
