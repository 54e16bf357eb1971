"""What was seen of a gateway, as one file for whoever looks into a failure. No secrets in it.

Evidence is saved before anything is cleaned up, and saving it never fails an operation: what
cannot be read is noted in the file, and a file that cannot be written in the error.
"""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLongError
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import (
    BootstrapError,
    ConfigError,
    LockedError,
    NodeStoppedError,
    PullError,
)
from openshell_bootstrap.events import Notice, Reporter, silent, step
from openshell_bootstrap.gateway.results import DiagnosticsSaved
from openshell_bootstrap.models import Container
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.settings import DIAGNOSTICS_TIMEOUT_S
from openshell_bootstrap.store.diagnostics import write_archive
from openshell_bootstrap.store.host import Store

if TYPE_CHECKING:
    from openshell_bootstrap.gateway.evidence.collected import Collected

_SOUND = frozenset({"running", "paused", "exited"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Saves what can be seen of a gateway when an operation on it fails.

    Attributes:
        name: The gateway.
        operation: What is done: ``start``, ``stop``.
    """

    name: str
    operation: str
    engine: Engine
    store: Store
    report: Reporter = silent

    def keep(self, error: BootstrapError) -> None:
        """Save, and let the error tell where; an error that tells already stays as it is.

        Never raises but for what ends the process.
        """
        if error.diagnostics:
            return
        with step(self.report, "Saving what can be seen"):
            path = save_diagnostics(self, error)
        if path is not None:
            error.diagnostics = str(path)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Save when an error leaves this block, which is before any clean-up around it.

        Ctrl-C saves nothing: whoever presses it wants to go. Nor does a refusal that says nothing
        of the gateway.
        """
        try:
            yield
        except (ConfigError, LockedError, NodeStoppedError, PullError):
            raise
        except BootstrapError as error:
            self.keep(error)
            raise

    def keep_replaced(self, container: Container) -> None:
        """Save before a container that did not end well is removed: its log goes with it."""
        ended_well = not (container.exit_code or container.error)
        if container.has_started and not (ended_well and container.status in _SOUND):
            path = save_diagnostics(self)
            if path is not None:
                self.report(Notice(f"What can be seen of the replaced container is in {path}"))


def save_diagnostics(evidence: Evidence, error: BootstrapError | None = None) -> Path | None:
    """Save what can be seen, in bounded time; None where the file cannot be written.

    Args:
        evidence: Of what, and where to.
        error: Why it is saved, if something failed; told where the file cannot be written.
    """
    moment = datetime.now(UTC)
    collected = collect_in_time(evidence.name, evidence.engine, evidence.store)
    files = _with_summary(collected, evidence.operation, moment, error)
    try:
        return evidence.store.diagnostics.write(evidence.name, evidence.operation, files, moment)
    except ConfigError as failed:
        if error is not None:
            error.add_note(f"{failed.brief}: {failed.details}")
        return None


def bundle(name: str, *, engine: Engine, store: Store, file: Path | None) -> DiagnosticsSaved:
    """Save what can be seen of a gateway in whatever state, absent too.

    Args:
        name: The gateway.
        engine: Where it runs.
        store: Where the file goes unless it is told otherwise.
        file: Where else it goes.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_adopted_name(name)
    moment = datetime.now(UTC)
    collected = collect_in_time(name, engine, store)
    files = _with_summary(collected, "bundle", moment, None)
    if file is None:
        path = store.diagnostics.write(name, "bundle", files, moment)
    else:
        path = file
        write_archive(path, files, moment)
    return DiagnosticsSaved(
        name=name,
        path=str(path),
        unread=tuple(f"{part}: {cause}" for part, cause in sorted(collected.unread.items())),
    )


def collect_in_time(
    name: str, engine: Engine, store: Store, timeout_s: float = DIAGNOSTICS_TIMEOUT_S
) -> "Collected":
    """Collect; what is not there in time is left out, and noted.

    One call to an engine that hangs would take a minute, so a thread makes them all: what it has
    read by then counts, and it ends with the process.
    """
    # Only a failure needs them, and every start would pay for them.
    from openshell_bootstrap.gateway.evidence.collect import collect  # noqa: PLC0415
    from openshell_bootstrap.gateway.evidence.collected import Collected  # noqa: PLC0415

    collected = Collected()
    done: Future[None] = Future()

    def work() -> None:
        try:
            collect(collected, name, engine, store)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=work, daemon=True, name="diagnostics").start()
    try:
        done.result(timeout_s)
    except TookTooLongError:
        seen = Collected(collected.mask, dict(collected.files), dict(collected.unread))
        seen.unread["the rest"] = f"it was not read within {timeout_s:g} s"
        return seen
    return collected


def _with_summary(
    collected: "Collected", operation: str, moment: datetime, error: BootstrapError | None
) -> Mapping[str, bytes]:
    why: dict[str, object] = {"operation": operation, "moment": moment}
    if error is not None:
        why |= {
            "error": type(error).__name__,
            "brief": error.brief,
            "details": error.details,
            "remedies": error.remedies,
            "notes": tuple(getattr(error, "__notes__", ())),
        }
    collected.add("summary.json", {**why, "unread": collected.unread})
    return collected.files
