"""Containers over the Docker library."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError, NotFound

from openshell_bootstrap.engine import failures, translate
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.exec import ContainerExec
from openshell_bootstrap.engine.files import ContainerFiles
from openshell_bootstrap.engine.terminal import Terminal
from openshell_bootstrap.engine.wire import ContainerAnswer, IdAnswer, SummaryAnswer, convert
from openshell_bootstrap.errors import NoSuchContainerError
from openshell_bootstrap.models import Completed, Container, ContainerSpec, FileEntry
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S, REMOVAL_PATIENCE
from openshell_bootstrap.waits import wait_until


@dataclass(frozen=True, slots=True)
class DockerContainers:
    """Satisfies ``engine.api.Containers``."""

    connection: Connection

    def find(self, name: str) -> Container | None:
        """The container of exactly this name or id; the engine itself takes parts of ids too."""
        with self.connection.doing(f"inspect the container {name}", NoSuchContainerError):
            found = self._inspect(name)
        return found if found is not None and name in {found.id, found.name} else None

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Container]:
        """All containers, running or not, that bear these labels (an empty value: any)."""
        return [*self._inspected(translate.label_filters(labels))]

    def using_volume(self, volume: str) -> Sequence[Container]:
        """All containers, running or not, that mount the volume of exactly this name.

        The engine's own filter also finds those that mount something at a path of that name.
        """
        return [
            one
            for one in self._inspected({"volume": [volume]})
            if any(mount.kind == "volume" and mount.source == volume for mount in one.mounts)
        ]

    def create(self, spec: ContainerSpec) -> str:
        """Make a container without starting it; returns its id."""
        with self.connection.doing(f"create the container {spec.name}"):
            body = translate.container_body(spec)
            api = self.connection.api
            answer = api.create_container_from_config(body, spec.name)  # type: ignore[no-untyped-call]
            return convert(answer, IdAnswer).id

    def start(self, container_id: str) -> None:
        """Start it; fine if it runs."""
        with self._doing("start", container_id):
            self.connection.api.start(container_id)

    def stop(self, container_id: str, grace_s: int) -> None:
        """TERM, and KILL after the grace; returns once it has ended. Fine if it does not run."""
        with self._doing("stop", container_id):
            self.connection.api.stop(container_id, timeout=grace_s)

    def pause(self, container_id: str) -> None:
        """Freeze its processes."""
        with self._doing("pause", container_id):
            self.connection.api.pause(container_id)

    def unpause(self, container_id: str) -> None:
        """Let them go on; fine if it is not paused."""
        with self._doing("unpause", container_id):
            found = self._inspect(container_id)
            if found is None or found.status == "paused":
                self.connection.api.unpause(container_id)

    def rename(self, container_id: str, name: str) -> None:
        """Give it another name."""
        with self._doing("rename", container_id):
            self.connection.api.rename(container_id, name)

    def set_restart_policy(self, container_id: str, policy: str) -> None:
        """``no`` or ``unless-stopped``."""
        with self._doing("change the restart policy of", container_id):
            wanted: Any = {"Name": policy, "MaximumRetryCount": 0}
            self.connection.api.update_container(container_id, restart_policy=wanted)

    def remove(self, container_id: str, *, force: bool = False, volumes: bool = False) -> None:
        """Remove it and see it gone; fine if it was."""
        with self._doing("remove", container_id):
            try:
                self.connection.api.remove_container(container_id, v=volumes, force=force)
            except NotFound:
                return
            except APIError as error:
                if not failures.is_removal_under_way(error):
                    raise
        wait_until(
            lambda: self.find(container_id),
            lambda found: found is None,
            patience=REMOVAL_PATIENCE,
            what=f"the removal of the container {container_id[:12]}",
        )

    def logs(
        self, container_id: str, *, tail: int | None = None, follow: bool = False, since: float = 0
    ) -> Iterator[bytes]:
        """Lines of its output, oldest first, without line ends; ``since`` in epoch seconds."""
        with self._doing("read the log of", container_id):
            chunks = self.connection.api.logs(
                container_id,
                stream=True,
                follow=follow,
                tail="all" if tail is None else tail,
                since=since or None,
            )
            try:
                yield from _lines(chunks)
            finally:
                chunks.close()

    def put_files(self, container_id: str, files: Sequence[FileEntry]) -> None:
        """Write files, in this order, creating folders; works on one that never started."""
        ContainerFiles(self.connection, container_id).put(files)

    def get_file(self, container_id: str, path: str) -> FileEntry | None:
        """One regular file, links followed; None if there is no such file."""
        return ContainerFiles(self.connection, container_id).file(path)

    def get_files(self, container_id: str, path: str) -> Sequence[FileEntry] | None:
        """A folder with all below it; None if there is no such folder."""
        return ContainerFiles(self.connection, container_id).folder(path)

    def exec(
        self,
        container_id: str,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = COMMAND_TIMEOUT_S,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command in it to its end."""
        return ContainerExec(self.connection, container_id).run(
            argv, stdin=stdin, timeout_s=timeout_s, environment=environment
        )

    def attach_exec(self, container_id: str, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command wired to this process's own stdin, stdout and stderr; its exit status."""
        return ContainerExec(self.connection, container_id).attach(argv, Terminal(), tty=tty)

    def _inspect(self, ref: str) -> Container | None:
        try:
            answer = self.connection.api.inspect_container(ref)
        except NotFound:
            return None
        return translate.container(convert(answer, ContainerAnswer))

    def _inspected(self, filters: Mapping[str, Sequence[str]]) -> Iterator[Container]:
        """Inspect each of a list; one that is gone by then is none."""
        with self.connection.doing("list containers", NoSuchContainerError):
            answer = self.connection.api.containers(all=True, filters=dict(filters))
            for summary in convert(answer, list[SummaryAnswer]):
                found = self._inspect(summary.id)
                if found is not None:
                    yield found

    def _doing(self, what: str, container_id: str) -> AbstractContextManager[None]:
        return self.connection.doing(
            f"{what} the container {container_id[:12]}", NoSuchContainerError
        )


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in lines)
    if rest:
        yield rest
