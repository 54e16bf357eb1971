"""What was seen when something failed: one archive per occasion, the newest few of each gateway."""

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.files import PRIVATE, ensure_private_folder, write_by_rename

KEPT = 10
"""How many archives of one gateway are kept."""

_STAMP = "%Y%m%dT%H%M%S.%fZ"
_OURS = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[a-z-]+\.tar\.gz")


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Archives below one folder, in a folder for each gateway; readable by the owner alone."""

    root: Path

    def folder(self, name: str) -> Path:
        """Where the archives of a gateway are, or would be.

        Raises:
            ConfigError: No gateway can have that name.
        """
        return self.root / check_adopted_name(name)

    def write(
        self, name: str, operation: str, files: Mapping[str, bytes], moment: datetime
    ) -> Path:
        """Write an archive, whole or not at all, and remove the oldest beyond those that are kept.

        Args:
            name: The gateway.
            operation: What was done: lower-case letters and ``-``.
            files: Content by path inside the archive.
            moment: When, with its time zone.

        Raises:
            ConfigError: It cannot be written.
        """
        stamp = moment.astimezone(UTC).strftime(_STAMP)
        path = self.folder(name) / f"{stamp}-{operation}.tar.gz"
        write_archive(path, files, moment)
        self._forget_old(path.parent)
        return path

    def _forget_old(self, folder: Path) -> None:
        """Names begin with the moment, so the oldest come first. What is not ours is left alone.

        One that cannot be removed stays: the new one is written, and that is what counts.
        """
        ours = sorted(path for path in folder.iterdir() if _OURS.fullmatch(path.name))
        for path in ours[:-KEPT]:
            with suppress(OSError):
                path.unlink()


def write_archive(path: Path, files: Mapping[str, bytes], moment: datetime) -> None:
    """Write a tar.gz by rename, mode 0600; its entries lie in one folder named after it.

    Raises:
        ConfigError: It cannot be written.
    """
    top = path.name.removesuffix(".tar.gz")
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", mtime=moment.timestamp()) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, text in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(text), PRIVATE, moment.timestamp()
            archive.addfile(entry, io.BytesIO(text))
    try:
        ensure_private_folder(path.parent)
        write_by_rename(path, content.getvalue())
    except OSError as error:
        raise ConfigError(
            f"The diagnostics cannot be written to {path}",
            details=str(error),
            remedies=[
                "Let this user write there, or set XDG_STATE_HOME to another folder.",
                "`openshell doctor bundle --file FILE` writes them elsewhere.",
            ],
        ) from error
