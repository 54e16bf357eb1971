"""The commands for kubeconfigs. Nothing but these touches the user's own."""

from typing import Annotated

import typer

from openshell_bootstrap.cli import options
from openshell_bootstrap.cli.context import emit, wiring_of
from openshell_bootstrap.cli.invocation import Output

app = typer.Typer(name="kubeconfig", help="Hand out a gateway's kubeconfig.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def kubeconfig(context: typer.Context) -> None:
    """Hand out a gateway's kubeconfig."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def get(
    context: typer.Context,
    name: options.NameOption = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="For containers on the gateway's network.")
    ] = False,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Print a gateway's kubeconfig. It holds administrator credentials."""
    wiring = wiring_of(context)
    emit(context, wiring.kubeconfig(wiring.gateway(name), internal=internal), output)


@app.command()
def merge(
    context: typer.Context,
    name: options.NameOption = None,
    use: Annotated[bool, typer.Option("--use", help="Make it the current context.")] = False,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Put a gateway into your own kubeconfig: the first in KUBECONFIG, or ~/.kube/config."""
    wiring = wiring_of(context)
    emit(context, wiring.merge_kubeconfig(wiring.gateway(name), use=use), output)


@app.command()
def remove(
    context: typer.Context,
    name: options.NameOption = None,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Take a gateway out of your own kubeconfig again."""
    wiring = wiring_of(context)
    emit(context, wiring.remove_kubeconfig(wiring.gateway(name)), output)
