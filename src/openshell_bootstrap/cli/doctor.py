"""The commands that look for what is wrong."""

from pathlib import Path
from typing import Annotated

import typer

from openshell_bootstrap.cli import options
from openshell_bootstrap.cli.context import emit, wiring_of
from openshell_bootstrap.cli.invocation import Output

app = typer.Typer(name="doctor", help="Look for what is wrong.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def doctor(context: typer.Context) -> None:
    """Look for what is wrong."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def check(
    context: typer.Context,
    name: options.NameOption = None,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Tell all that can keep a gateway, there or not, from starting or staying well.

    0 without a problem, else the exit code of the first one.
    """
    wiring = wiring_of(context)
    checked = wiring.check(wiring.gateway(name))
    emit(context, checked, output)
    raise typer.Exit(checked.exit_code)


@app.command()
def bundle(
    context: typer.Context,
    name: options.NameOption = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Where the archive goes.", show_default=False),
    ] = None,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Save what can be seen of a gateway as one file without secrets, in whatever state it is."""
    wiring = wiring_of(context)
    emit(context, wiring.bundle(wiring.gateway(name), file), output)
