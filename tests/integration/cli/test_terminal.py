"""What is so on a terminal only, through a real one."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from openshell_bootstrap.cli.main import app
from openshell_bootstrap.errors import LostVolumeError
from openshell_bootstrap.events import *
from openshell_bootstrap.settings import Settings
from tests.cli.noted import Noted

class Told(Noted):
    def _answer(self, operation, *args, **rest):
        print("CALLED", operation, args[-1] if args else "", flush=True)
        if operation == "restart":
            sys.stdin.read()  # until Ctrl-C
        if operation == "start" and args[0].name == "lost" and not args[0].start_empty:
            raise LostVolumeError("The data volume is gone", "no t1", ["Look again."])
        return super()._answer(operation, *args, **rest)

wiring = Told(tmp=Path("/"))
wiring.settings = Settings(gateway="t1", node_image=None, is_ci=False, proxies={})
wiring.events = (
    StepStarted("Pulling [the] image"),
    Transfer("a", 1000000, 3000000),
    NodeLog("a [red]line"),
    StepFinished("Pulling [the] image", ok=True, seconds=1.25),
    Notice("low on inotify"),
)
app(sys.argv[1:], obj=wiring, prog_name="openshell")
"""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": "src:."},
        )
        os.close(slave)
        self.seen = ""

    def read_until(self, text: str) -> None:
        """Read until the text is on the screen."""
        deadline = time.monotonic() + 30
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], deadline - time.monotonic())
            assert ready, self.seen
            self._read()

    def interrupt(self) -> None:
        """Ctrl-C once the command waits for input: a moment earlier Python would miss it."""
        state = Path(f"/proc/{self.process.pid}/stat")
        deadline = time.monotonic() + 30
        while state.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline
        self.process.send_signal(signal.SIGINT)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read():
            pass
        return self.process.wait(30)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def _read(self) -> bool:
        try:
            got = os.read(self.master, 65536)
        except OSError:  # Linux: the other end is closed
            return False
        self.seen += got.decode()
        return bool(got)


@pytest.fixture
def terminal():
    opened: list[Terminal] = []

    def run(*words: str) -> Terminal:
        opened.append(Terminal(*words))
        return opened[-1]

    yield run
    for one in opened:
        one.close()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130), ("", 130)])
def test_a_gateway_whose_data_is_gone_starts_empty_on_a_yes(terminal, answer, code):
    """R52: no is the default."""
    command = terminal("gateway", "start", "-g", "lost")
    command.read_until("Give its data up and start anew, empty? [y/N]")
    assert "The data volume is gone" in command.seen
    assert "Look again." in command.seen
    command.type(f"{answer}\n")
    assert command.end() == code
    assert command.seen.count("CALLED start") == (2 if answer == "y" else 1)


def test_destroy_asks_and_yes_removes(terminal):
    command = terminal("gateway", "destroy")
    command.read_until("Remove it? [y/N]: ")
    assert "default/data-1" in command.seen
    assert "CALLED destroy" not in command.seen
    command.type("y\n")
    assert command.end() == 0
    assert "CALLED destroy t1" in command.seen


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"], ids=["no", "enter", "end of file"])
def test_anything_but_yes_removes_nothing(terminal, answer):
    command = terminal("gateway", "destroy")
    command.read_until("Remove it? [y/N]: ")
    command.type(answer)
    assert command.end() == 130
    assert "CALLED destroy" not in command.seen
    assert "Nothing was changed" in command.seen


def test_ctrl_c_at_the_question_removes_nothing(terminal):
    command = terminal("gateway", "destroy")
    command.read_until("Remove it? [y/N]: ")
    command.interrupt()
    assert command.end() == 130
    assert "CALLED destroy" not in command.seen


def test_phases_are_shown_live_and_stay_as_lines(terminal):
    command = terminal("gateway", "start")
    assert command.end() == 0
    assert "ok      Pulling [the] image  1.2 s" in command.seen
    assert "node: a [red]line" in command.seen
    assert "Note: low on inotify" in command.seen
    assert command.seen.count("low on inotify") == 1
    assert "Gateway t1 is ready." in command.seen
    assert command.seen.count("\x1b[?25l") == command.seen.count("\x1b[?25h") > 0


def test_ctrl_c_in_an_operation_gives_the_cursor_back(terminal):
    command = terminal("gateway", "restart")
    command.read_until("CALLED restart")
    command.interrupt()
    assert command.end() == 130
    assert "Interrupted" in command.seen
    assert command.seen.count("\x1b[?25l") == command.seen.count("\x1b[?25h") > 0


def test_json_on_a_terminal_asks_too_and_shows_no_live_display(terminal):
    command = terminal("gateway", "destroy", "-o", "json")
    command.read_until("Remove it? [y/N]: ")
    command.type("y\n")
    assert command.end() == 0
    assert '"event":"step-started"' in command.seen
    assert "\x1b[?25l" not in command.seen


def test_kubectl_gets_the_terminal(terminal):
    command = terminal("gateway", "kubectl", "exec", "-it", "p", "--", "sh")
    assert command.end() == 0
    assert "CALLED kubectl True" in command.seen
