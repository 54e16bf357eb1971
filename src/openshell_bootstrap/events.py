"""What an operation tells while it works: frozen events given to a reporter.

Operations never print. The command line passes a reporter that renders; a test passes
``seen.append`` and compares lists.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A phase began."""

    title: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A phase ended, well or not, after ``seconds``."""

    title: str
    ok: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes moved so far; ``total`` is 0 while it is unknown."""

    item: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class NodeLog:
    """A line of the node's own log, shown when something failed."""

    line: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A fact that the user should know and that needs no action now."""

    text: str


Event = StepStarted | StepFinished | Transfer | NodeLog | Notice
Reporter = Callable[[Event], None]


def silent(event: Event) -> None:
    """A reporter for callers that want to know nothing."""
    del event


@contextmanager
def step(report: Reporter, title: str) -> Iterator[None]:
    """Report both ends of a phase; a phase that raises ends with ``ok=False``."""
    report(StepStarted(title))
    begun = time.monotonic()
    ok = False
    try:
        yield
        ok = True
    finally:
        report(StepFinished(title, ok, time.monotonic() - begun))
