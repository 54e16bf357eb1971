"""Files that a reader finds whole: the old one or the new one, never half of either."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openshell_bootstrap.errors import ConfigError

PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_HALF_WRITTEN = ".openshell-"
"""What the name of a file begins with until it is whole."""

_ABANDONED_S = 600
"""Nobody takes so long to write a file of some kilobytes."""


@contextmanager
def explained(what: str, path: Path) -> Iterator[None]:
    """Tell a refusal of the file system as one that the user can mend.

    Raises:
        ConfigError: Instead of the system's own error.
    """
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{what}: {path}",
            details=str(error),
            remedies=[
                "Let this user write there (a command that ran as root may have made it), or set "
                "XDG_CONFIG_HOME to another folder."
            ],
        ) from error


def ensure_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may look into; parents that are missing likewise."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing):
        path.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)


def write_by_rename(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Replace a file so that a crash at any moment leaves the old one or the new one.

    The bytes reach the disk before the name does. A file of another owner keeps its owner where
    the system lets us give it away (an administrator who edits a user's file). What a killed
    command left half written in this folder goes.
    """
    handle, name = tempfile.mkstemp(prefix=_HALF_WRITTEN, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            _keep_owner(file.fileno(), path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            _remove_abandoned(path.parent, os.fstat(file.fileno()).st_mtime)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _remove_abandoned(folder: Path, now_s: float) -> None:
    """Remove files on which nobody has written for long, by the file system's own clock."""
    for half in folder.glob(f"{_HALF_WRITTEN}*"):
        with suppress(OSError):  # its writer was slow and has just renamed it, or it is another's
            if now_s - half.stat().st_mtime > _ABANDONED_S:
                half.unlink()


def _keep_owner(descriptor: int, path: Path) -> None:
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    if os.geteuid() == 0 and old.st_uid != 0:
        os.fchown(descriptor, old.st_uid, old.st_gid)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
