"""Tar archives in memory, as the engine's archive call takes and gives them. Pure."""

import io
import posixpath
import stat
import tarfile
from collections.abc import Iterable, Iterator, Sequence

from openshell_bootstrap.models import FileEntry

_END = bytes(1024)
"""Two blocks of zeros end every tar (POSIX pax)."""


def pack(files: Sequence[FileEntry], modified_at: float) -> bytes:
    """A tar of these entries in this order, owned by root, to be extracted at ``/``.

    Folders above them are not in it: the engine makes those that are absent, with mode 0755, and
    would change the mode and owner of those that are there.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files:
            header = tarfile.TarInfo(file.path.lstrip("/"))
            header.mode = file.mode
            header.mtime = modified_at
            if file.content is None:
                header.type = tarfile.DIRTYPE
            else:
                header.size = len(file.content)
            tar.addfile(header, io.BytesIO(file.content or b""))
    return buffer.getvalue()


def unpack(archive: bytes, path: str) -> Iterator[FileEntry]:
    """The folders and regular files of a tar whose top entry stands for ``path``.

    Raises:
        tarfile.TarError: It is no tar, or not a whole one. What an engine sends before it fails
            in the middle looks like a tar with fewer files in it; only its end is missing.
    """
    if not archive.endswith(_END):
        raise tarfile.ReadError(f"the archive of {len(archive)} bytes has no end")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            _, _, below = member.name.rstrip("/").partition("/")
            at = posixpath.join(path, below) if below else path
            if member.isdir():
                yield FileEntry(at, None, stat.S_IMODE(member.mode))
            elif member.isreg() and (content := tar.extractfile(member)) is not None:
                yield FileEntry(at, content.read(), stat.S_IMODE(member.mode))


def gather(chunks: Iterable[bytes], limit: int) -> bytes | None:
    """All chunks in one; None as soon as they are more than ``limit`` bytes."""
    gathered = bytearray()
    for chunk in chunks:
        gathered += chunk
        if len(gathered) > limit:
            return None
    return bytes(gathered)
