"""What a command needs around its one call. All else is loaded when it is used, not for --help."""
# ruff: noqa: PLC0415 - see above

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast

import typer

from openshell_bootstrap.cli.invocation import Output

if TYPE_CHECKING:
    from openshell_bootstrap.cli.progress import Progress
    from openshell_bootstrap.cli.wiring import Wiring
    from openshell_bootstrap.gateway.request import StartRequest
    from openshell_bootstrap.gateway.results import Losses, Started


def wiring_of(context: typer.Context, wait_lock_s: float = 0) -> "Wiring":
    """The operations; they learn which command uses them, and how long it waits for a lock."""
    from openshell_bootstrap.cli.wiring import Wiring

    root = context.find_root()
    root.obj = root.obj or Wiring()
    wiring = cast("Wiring", root.obj)
    wiring.command = context.command_path
    wiring.wait_lock_s = wait_lock_s
    return wiring


def progress(output: Output) -> "AbstractContextManager[Progress]":
    """A reporter for the time that an operation takes."""
    from openshell_bootstrap.cli.progress import progress_for

    return progress_for(output)


def confirm_losses(losses: "Losses", *, yes: bool) -> None:
    """Ask before data is removed; raises as ``ask.confirm`` does."""
    from openshell_bootstrap.cli.ask import confirm
    from openshell_bootstrap.cli.tables import losses_of

    if not losses.is_nothing:
        confirm(losses_of(losses), yes=yes)


def start_gateway(
    wiring: "Wiring", request: "StartRequest", output: Output
) -> "tuple[Started, Collection[str]]":
    """Start a gateway and return the notices that were told too; asks before it starts empty.

    Raises:
        LostVolumeError: Its data is gone, and there is nobody to ask.
        typer.Abort: The answer was no.
    """
    from dataclasses import replace

    from openshell_bootstrap.cli.ask import may_start_empty
    from openshell_bootstrap.errors import LostVolumeError

    try:
        with progress(output) as report:
            return wiring.start(request, report), report.told
    except LostVolumeError as lost:
        if not may_start_empty(lost):
            raise
    with progress(output) as report:
        return wiring.start(replace(request, start_empty=True), report), report.told


def emit(
    context: typer.Context, result: object, output: Output, *, told: Collection[str] = ()
) -> None:
    """Print a result, and beside it on stderr the notices that were not told meanwhile."""
    from openshell_bootstrap.cli.render import success
    from openshell_bootstrap.cli.tables import printable

    text = success(result, context.command_path.partition(" ")[2], output)
    if text:
        typer.echo(text)
    if output is Output.TABLE:
        for notice in getattr(result, "notices", ()):
            if notice not in told:
                typer.echo(printable(f"Note: {notice}"), err=True)
