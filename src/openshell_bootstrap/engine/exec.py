"""Commands in a container: to their end with their output, or wired to this terminal."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.stream import STDERR, STDOUT, Duplex, Input, frames
from openshell_bootstrap.engine.terminal import Terminal
from openshell_bootstrap.engine.wire import ExecAnswer, IdAnswer, convert
from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    EngineUnavailableError,
    NoSuchContainerError,
    WaitTimeoutError,
)
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import EXIT_STATUS_PATIENCE
from openshell_bootstrap.waits import wait_until


@dataclass(frozen=True, slots=True)
class ContainerExec:
    """Runs commands in one container."""

    connection: Connection
    container_id: str

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes,
        timeout_s: float,
        environment: Mapping[str, str] | None,
    ) -> Completed:
        """Run one to its end. On a time-out it goes on in the container: exec has no kill."""
        command = self._counted(argv, len(stdin)) if stdin and self._cannot_half_close else argv
        exec_id = self._create(command, wants_input=bool(stdin), environment=environment)
        output: dict[int, bytearray] = defaultdict(bytearray)
        with self._doing(argv), self._started(exec_id, tty=False) as duplex:
            for source, body in frames(duplex.exchange(Input.of(stdin), timeout_s)):
                output[source] += body
        return Completed(
            argv=tuple(argv),
            exit_status=self._exit_status(exec_id, argv),
            stdout=bytes(output[STDOUT]),
            stderr=bytes(output[STDERR]),
        )

    def attach(self, argv: Sequence[str], terminal: Terminal, *, tty: bool) -> int:
        """Run one with this process's own streams; its exit status.

        Over TLS a command is told the end of its input only where its size is known beforehand.
        """
        size = terminal.input_size() if self._cannot_half_close and not tty else None
        command = argv if size is None else self._counted(argv, size)
        exec_id = self._create(command, wants_input=True, tty=tty)
        with self._started(exec_id, tty=tty) as duplex, self._doing(argv):
            terminal.join(duplex, tty=tty, resize=lambda size: self._resize(exec_id, size))
        return self._exit_status(exec_id, argv)

    @property
    def _cannot_half_close(self) -> bool:
        return self.connection.endpoint.tls is not None

    def _counted(self, argv: Sequence[str], size: int) -> Sequence[str]:
        """The command with the end of its input known beforehand.

        Python's TLS can end a connection only in both directions, so the end cannot be told.
        """
        return ["sh", "-c", 'head -c "$0" | "$@"', str(size), *argv]

    def _create(
        self,
        argv: Sequence[str],
        *,
        wants_input: bool,
        tty: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        with self._doing(argv):
            answer = self.connection.api.exec_create(
                self.container_id,
                list(argv),
                stdin=wants_input,
                tty=tty,
                environment=dict(environment or {}),
            )
            return convert(answer, IdAnswer).id

    @contextmanager
    def _started(self, exec_id: str, *, tty: bool) -> Iterator[Duplex]:
        with self._doing([exec_id]):
            response = self.connection.request(
                "POST",
                f"/exec/{exec_id}/start",
                json={"Tty": tty, "Detach": False},
                headers={"Connection": "Upgrade", "Upgrade": "tcp"},
                stream=True,
            )
        duplex = Duplex.of(response)
        try:
            yield duplex
        finally:
            duplex.close()

    def _exit_status(self, exec_id: str, argv: Sequence[str]) -> int:
        def look() -> ExecAnswer:
            with self._doing(argv):
                return convert(self.connection.api.exec_inspect(exec_id), ExecAnswer)

        try:
            seen = wait_until(
                look,
                lambda answer: not answer.running,
                patience=EXIT_STATUS_PATIENCE,
                what="the exit status of a command",
            )
        except WaitTimeoutError as error:
            raise EngineUnavailableError(error.brief, error.details) from error
        if seen.exit_code is None:
            raise ContainerNotRunningError(f"The container ended before {argv[0]} did")
        return seen.exit_code

    def _resize(self, exec_id: str, size: tuple[int, int]) -> None:
        columns, lines = size
        with self._doing([exec_id]):
            self.connection.api.exec_resize(exec_id, height=lines, width=columns)

    @contextmanager
    def _doing(self, argv: Sequence[str]) -> Iterator[None]:
        what = f"run {argv[0]} in the container {self.container_id[:12]}"
        with self.connection.doing(what, NoSuchContainerError):
            yield
