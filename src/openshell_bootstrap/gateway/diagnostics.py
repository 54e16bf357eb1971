"""What was seen of a gateway, as one file for whoever looks into a failure. No secrets in it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.collect import Collected, as_json, collect
from openshell_bootstrap.gateway.results import DiagnosticsSaved
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.diagnostics import write_archive
from openshell_bootstrap.store.host import Store


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
    collected = Collected()
    collect(collected, name, engine)
    files = _with_summary(collected, {"operation": "bundle", "moment": moment})
    if file is None:
        path = store.diagnostics.write(name, "bundle", files, moment)
    else:
        path = file
        write_archive(path, files, moment)
    unread = tuple(f"{part}: {cause}" for part, cause in collected.unread.items())
    return DiagnosticsSaved(name=name, path=str(path), unread=unread)


def _with_summary(collected: Collected, why: Mapping[str, object]) -> Mapping[str, bytes]:
    summary = {**why, "unread": collected.unread}
    return {**collected.files, "summary.json": as_json(summary)}
