"""Commands wired to a terminal, or to a pipe, of a process of their own."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openshell_bootstrap.engine.docker import DockerEngine
from tests.integration.engine.doors import make_certificates, tcp_door
from tests.integration.engine.test_transport import sleeper as sleeper  # noqa: PLC0414

ATTACH = """
import sys
from openshell_bootstrap.engine.connect import connect
from openshell_bootstrap.settings import read_settings
engine = connect(read_settings().docker)
sys.exit(engine.containers.attach_exec(sys.argv[1], sys.argv[3:], tty=sys.argv[2] == "tty"))
"""


@dataclass
class Screen:
    """The other end of a terminal."""

    descriptor: int
    process: int
    seen: bytes = b""

    def until(self, words: bytes) -> bytes:
        """Read until these words; the suite's time limit ends a wait in vain."""
        while words not in self.seen:
            self.seen += os.read(self.descriptor, 4096)
        before, _, self.seen = self.seen.partition(words)
        return before

    def send(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def resize(self, lines: int, columns: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def exit_status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture(params=["unix", "tls"])
def way(
    request: pytest.FixtureRequest, engine: DockerEngine, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """The environment of a process that reaches the engine that way."""
    scheme, _, path = engine.connection.endpoint.url.partition("://")
    if request.param == "unix" or scheme != "unix":
        yield {**os.environ}
        return
    with tcp_door(path, make_certificates(tmp_path)) as port:
        yield {
            **os.environ,
            "DOCKER_HOST": f"tcp://127.0.0.1:{port}",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": str(tmp_path),
        }


@pytest.fixture
def screen(way: dict[str, str], sleeper: str) -> Iterator[Callable[..., Screen]]:
    """Start a command at a terminal."""
    screens = []

    def start(*argv: str) -> Screen:
        pid, descriptor = pty.fork()
        if pid == 0:
            words = [sys.executable, "-c", ATTACH, sleeper, "tty", *argv]
            os.execve(sys.executable, words, way)
        screens.append(Screen(descriptor, pid))
        screens[-1].resize(33, 99)
        return screens[-1]

    yield start
    for one in screens:
        os.close(one.descriptor)


def test_a_terminal_has_its_size_and_passes_keys_on(screen: Callable[..., Screen]) -> None:
    shell = screen("sh")
    shell.until(b"# ")

    shell.send(b"stty size\r")
    shell.until(b"33 99")
    shell.resize(40, 100)
    shell.send(b"sleep 0.3; stty size\r")
    shell.until(b"40 100")
    shell.send(b"exit 7\r")

    assert shell.exit_status() == 7


def test_interrupt_is_the_commands_own(screen: Callable[..., Screen]) -> None:
    shell = screen("sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; sleep 60 & wait $!")
    shell.until(b"ready")

    shell.send(b"\x03")

    shell.until(b"caught")
    assert shell.exit_status() == 9


def test_a_terminal_is_put_back_as_it_was(screen: Callable[..., Screen]) -> None:
    shell = screen("sh", "-c", "echo ready; read line; exit 0")
    before = termios.tcgetattr(shell.descriptor)
    shell.until(b"ready")
    during = termios.tcgetattr(shell.descriptor)
    shell.send(b"\r")
    shell_status = shell.exit_status()

    assert shell_status == 0
    assert during[3] & termios.ECHO == 0
    assert before[3] & termios.ECHO


def attach(
    sleeper: str, *argv: str, env: dict[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", ATTACH, sleeper, "pipe", *argv],
        env=env,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=30,
    )


def test_pipes_stay_apart_and_input_ends(sleeper: str) -> None:
    script = "cat; echo err >&2; exit 5"
    done = attach(sleeper, "sh", "-c", script, env={**os.environ}, stdin=b"x" * 1_000_000)

    assert (len(done.stdout), done.stderr, done.returncode) == (1_000_000, b"err\n", 5)


def test_input_of_a_known_size_ends_however_the_engine_is_reached(
    way: dict[str, str], sleeper: str, tmp_path: Path
) -> None:
    """Python's TLS cannot end one direction alone."""
    file = tmp_path / "input"
    file.write_bytes(b"skipped" + b"x" * 100_000)
    command = [sys.executable, "-c", ATTACH, sleeper, "pipe", "sh", "-c", "wc -c; exit 3"]
    outputs = []
    for path, start in ((file, 7), (Path(os.devnull), 0)):
        with path.open("rb") as stdin:
            os.lseek(stdin.fileno(), start, os.SEEK_SET)
            done = subprocess.run(
                command, env=way, stdin=stdin, capture_output=True, check=False, timeout=30
            )
        outputs.append((done.stdout.strip(), done.returncode))

    assert outputs == [(b"100000", 3), (b"0", 3)]


def test_much_goes_both_ways_at_once(way: dict[str, str], sleeper: str) -> None:
    """Two threads on one TLS connection crashed here; one that sends first would wait for ever."""
    script = "head -c 5000000 | tee /dev/stderr"
    done = attach(sleeper, "sh", "-c", script, env=way, stdin=bytes(range(250)) * 20_000)

    assert done.returncode == 0
    assert done.stdout == done.stderr == bytes(range(250)) * 20_000


def test_a_command_ends_although_its_input_does_not(way: dict[str, str], sleeper: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ATTACH, sleeper, "pipe", "echo", "done"],
        env=way,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.read() == b"done\n"
        assert process.wait(timeout=30) == 0


def test_an_interrupt_ends_the_wait_for_a_command(sleeper: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ATTACH, sleeper, "pipe", "sh", "-c", "echo ready; sleep 600"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT
