"""This process's own standard streams, wired to a command elsewhere."""

import os
import signal
import stat
import termios
import tty as raw_terminal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from openshell_bootstrap.engine.stream import STDERR, STDOUT, Duplex, Input, frames
from openshell_bootstrap.errors import EngineError

Resize = Callable[[tuple[int, int]], None]
"""Told of columns and lines."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """File descriptors of standard input, output and error."""

    stdin: int = 0
    stdout: int = 1
    stderr: int = 2

    def input_size(self) -> int | None:
        """Bytes that standard input still has; None where nobody can know before its end."""
        seen = os.fstat(self.stdin)
        if stat.S_ISREG(seen.st_mode):
            return max(0, seen.st_size - os.lseek(self.stdin, 0, os.SEEK_CUR))
        is_nothing = stat.S_ISCHR(seen.st_mode) and seen.st_rdev == Path(os.devnull).stat().st_rdev
        return 0 if is_nothing else None

    def join(self, duplex: Duplex, *, tty: bool, resize: Resize) -> None:
        """Pass input on and write output until the command ends it."""
        with self._raw(wanted=tty), self._resizing(resize, wanted=tty):
            chunks = duplex.exchange(Input.of(descriptor=self.stdin))
            for source, chunk in ((STDOUT, chunk) for chunk in chunks) if tty else frames(chunks):
                _write(self.stderr if source == STDERR else self.stdout, chunk)

    @contextmanager
    def _raw(self, *, wanted: bool) -> Iterator[None]:
        """No echo, no line editing, no signals from keys: those are the command's."""
        if not (wanted and os.isatty(self.stdin)):
            yield
            return
        before = termios.tcgetattr(self.stdin)
        try:
            raw_terminal.setraw(self.stdin)
            yield
        finally:
            termios.tcsetattr(self.stdin, termios.TCSADRAIN, before)

    @contextmanager
    def _resizing(self, resize: Resize, *, wanted: bool) -> Iterator[None]:
        """Pass on the terminal's size now and whenever it changes."""
        if not (wanted and os.isatty(self.stdout)):
            yield
            return

        def changed(_number: int = 0, _frame: FrameType | None = None) -> None:
            # A command that ended meanwhile has no size any more.
            with suppress(EngineError):
                resize(os.get_terminal_size(self.stdout))

        before = signal.signal(signal.SIGWINCH, changed)
        try:
            changed()
            yield
        finally:
            signal.signal(signal.SIGWINCH, before)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
