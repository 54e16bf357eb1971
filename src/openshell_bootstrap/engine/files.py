"""Files of a container, running, stopped or never started, by the engine's archive call."""

import base64
import posixpath
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import requests
from docker.errors import NotFound

from openshell_bootstrap.engine import archive
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.wire import PathAnswer
from openshell_bootstrap.errors import EngineError, EngineUnavailableError, NoSuchContainerError
from openshell_bootstrap.models import FileEntry

MAX_FILE = 16 << 20
MAX_FOLDER = 64 << 20
MAX_LINKS = 8
_TAR_OVERHEAD = 1 << 20
_CHUNK = 1 << 20
_STAT_HEADER = "X-Docker-Container-Path-Stat"

_GO_FOLDER = 1 << 31
_GO_LINK = 1 << 27
_GO_OTHER = 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21
"""Bits of Go's ``fs.FileMode``: device, pipe, socket, character device."""


@dataclass(frozen=True, slots=True)
class ContainerFiles:
    """The files of one container. Mounts are seen as the container sees them."""

    connection: Connection
    container_id: str

    def put(self, files: Sequence[FileEntry]) -> None:
        """Write files in this order; a folder that is there keeps its mode and owner."""
        absent = [file for file in files if file.content is not None or not self._has(file.path)]
        body = archive.pack(absent, time.time())
        with self._doing(f"write {len(files)} files into"):
            self._archive("PUT", "/", data=body).close()

    def file(self, path: str) -> FileEntry | None:
        """One regular file, links followed."""
        entries = self._read(path, MAX_FILE, is_wanted=lambda mode: not mode & _GO_FOLDER)
        return None if entries is None else entries[0]

    def folder(self, path: str) -> Sequence[FileEntry] | None:
        """A folder with all below it; links, devices and sockets are left out."""
        return self._read(path, MAX_FOLDER, is_wanted=lambda mode: bool(mode & _GO_FOLDER))

    def _has(self, path: str) -> bool:
        with self._doing(f"look at {path} in"):
            try:
                self._archive("HEAD", path).close()
            except NotFound:
                self._check_container()
                return False
        return True

    def _read(
        self, asked: str, limit: int, *, is_wanted: Callable[[int], bool]
    ) -> Sequence[FileEntry] | None:
        """What a path leads to; the engine follows links above it by itself.

        The engine mounts the container's file systems for each question, so that what is there
        is told by the answer that brings it.
        """
        path = asked
        for _ in range(MAX_LINKS):
            with self._doing(f"read {asked} from"):
                try:
                    response = self._archive("GET", path, stream=True)
                except NotFound:
                    self._check_container()
                    return None
                with response, self._readable(asked):
                    found = _path_answer(response)
                    if not found.mode & _GO_LINK:
                        return _content(response, found, asked, limit, is_wanted=is_wanted)
            path = posixpath.join(posixpath.dirname(path), found.link_target)
        raise EngineError(f"Too many links lead from {asked}")

    def _archive(
        self, method: str, path: str, *, data: bytes | None = None, stream: bool = False
    ) -> requests.Response:
        place = f"/containers/{self.container_id}/archive"
        return self.connection.request(
            method, place, params={"path": path}, data=data, stream=stream
        )

    def _check_container(self) -> None:
        """Tell a missing container from a missing path; a HEAD's answer has no words."""
        self.connection.api.inspect_container(self.container_id)

    @contextmanager
    def _readable(self, path: str) -> Iterator[None]:
        try:
            yield
        except (KeyError, ValueError, tarfile.TarError) as error:
            raise EngineUnavailableError(
                "The engine's answer about a file cannot be read",
                details=f"{self.connection.endpoint}, asked for {path} in the container "
                f"{self.container_id[:12]}: {error}",
                remedies=["Try again.", "Look at the engine's own log: `journalctl -u docker`."],
            ) from error

    @contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        about = f"{what} the container {self.container_id[:12]}"
        with self.connection.doing(about, NoSuchContainerError):
            yield


def _content(
    response: requests.Response,
    found: PathAnswer,
    asked: str,
    limit: int,
    *,
    is_wanted: Callable[[int], bool],
) -> Sequence[FileEntry] | None:
    """What an answer brings; raises as ``archive.unpack`` does."""
    if found.mode & _GO_OTHER or not is_wanted(found.mode):
        return None
    if not found.mode & _GO_FOLDER and found.size > limit:
        raise _too_big(asked, limit)
    data = archive.gather(response.iter_content(_CHUNK), limit + _TAR_OVERHEAD)
    if data is None:
        raise _too_big(asked, limit)
    entries = list(archive.unpack(data, asked))
    if not entries:
        raise tarfile.ReadError("nothing is in it")
    return entries


def _path_answer(response: requests.Response) -> PathAnswer:
    return msgspec.json.decode(base64.b64decode(response.headers[_STAT_HEADER]), type=PathAnswer)


def _too_big(path: str, limit: int) -> EngineError:
    return EngineError(f"{path} in the container is bigger than {limit >> 20} MiB")
