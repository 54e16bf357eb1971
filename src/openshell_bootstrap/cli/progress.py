"""Reporters: what an operation tells while it works, as it is shown on stderr.

Live on a terminal, plain lines elsewhere, JSON lines where the result is JSON.
"""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import typer

from openshell_bootstrap.cli.invocation import Output
from openshell_bootstrap.cli.tables import printable
from openshell_bootstrap.events import (
    Event,
    NodeLog,
    Notice,
    StepFinished,
    StepStarted,
    Transfer,
)

if TYPE_CHECKING:
    from rich.status import Status

_TRANSFER_EVERY_S = 5.0
_MEGABYTE = 1e6


class Progress(Protocol):
    """A reporter that knows which notices it has shown."""

    told: set[str]

    def __call__(self, event: Event) -> None:
        """Take one event."""


class JsonLines:
    """One JSON object a line: ``{"event":"step-started","title":…}``."""

    def __init__(self) -> None:
        self.told: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Print the event."""
        import msgspec  # noqa: PLC0415 - only where JSON is asked for

        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(event).__name__).lower()
        line = msgspec.json.encode({"event": kind, **msgspec.to_builtins(event)})
        typer.echo(line, err=True)


class PlainLines:
    """A line where a phase begins and one where it ends; transfers every few seconds."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self._transfers = Transfers()
        self._next_transfer = 0.0

    def __call__(self, event: Event) -> None:
        """Print the event, if it is time for it."""
        match event:
            case StepStarted(title):
                self._next_transfer = time.monotonic() + _TRANSFER_EVERY_S
                self._print(f"{title} ...")
            case StepFinished(title, ok, seconds):
                self._print(f"{title}: {'done' if ok else 'failed'} after {seconds:.1f} s")
            case Transfer():
                self._transfers.take(event)
                if time.monotonic() >= self._next_transfer:
                    self._next_transfer = time.monotonic() + _TRANSFER_EVERY_S
                    self._print(f"  {self._transfers}")
            case NodeLog(line):
                self._print(f"  node: {line}")
            case Notice(text):
                self.told.add(text)
                self._print(f"Note: {text}")

    def _print(self, text: str) -> None:
        typer.echo(printable(text), err=True)


class Live:
    """The present phase with its time, and a line for each that ended."""

    def __init__(self, status: "Status") -> None:
        self.told: set[str] = set()
        self._status = status
        self._titles: list[str] = []
        self._transfers = Transfers()

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case StepStarted(title):
                self._titles.append(title)
                self._transfers = Transfers()
                self._update()
            case StepFinished(title, ok, seconds):
                self._titles.remove(title)
                self._print(f"{'ok    ' if ok else 'failed'}  {title}  {seconds:.1f} s")
                self._update()
            case Transfer():
                self._transfers.take(event)
                self._update()
            case NodeLog(line):
                self._print(f"  node: {line}")
            case Notice(text):
                self.told.add(text)
                self._print(f"Note: {text}")

    def _update(self) -> None:
        from rich.text import Text  # noqa: PLC0415 - only on a terminal

        title = self._titles[-1] if self._titles else ""
        self._status.update(Text(printable(f"{title} {self._transfers}".strip())))

    def _print(self, text: str) -> None:
        self._status.console.print(printable(text), markup=False, highlight=False)


class Transfers:
    """Several transfers, the layers of an image, as one."""

    def __init__(self) -> None:
        self._items: dict[str, Transfer] = {}

    def take(self, event: Transfer) -> None:
        """Note how far one of them is."""
        self._items[event.item] = event

    def __str__(self) -> str:
        if not self._items:
            return ""
        done = sum(item.done for item in self._items.values()) / _MEGABYTE
        total = sum(item.total for item in self._items.values()) / _MEGABYTE
        return f"{done:.1f} of {total:.1f} MB" if total else f"{done:.1f} MB"


@contextmanager
def progress_for(output: Output) -> Iterator[Progress]:
    """A reporter for the time that an operation takes."""
    if output is Output.JSON:
        yield JsonLines()
    elif output is Output.TABLE and sys.stderr.isatty():
        from rich.console import Console  # noqa: PLC0415 - only on a terminal

        with Console(stderr=True).status("") as status:
            yield Live(status)
    else:
        yield PlainLines()
