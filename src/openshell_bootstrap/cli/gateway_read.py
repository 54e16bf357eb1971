"""The commands that look at gateways, or into them."""

from typing import Annotated

import typer

from openshell_bootstrap.cli import options
from openshell_bootstrap.cli.ask import wires_a_terminal
from openshell_bootstrap.cli.context import emit, wiring_of
from openshell_bootstrap.cli.invocation import Output

_PASS_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""From the first word on that is not an option of ours, the words are the other program's."""


def list_(context: typer.Context, output: options.OutputOption = Output.TABLE) -> None:
    """List all gateways, those of retired releases too."""
    emit(context, wiring_of(context).list_gateways(), output)


def select(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The gateway.", show_default=False)],
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Choose the gateway that commands mean when none is named."""
    emit(context, wiring_of(context).select(name), output)


def info(
    context: typer.Context,
    name: options.NameOption = None,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Tell what a gateway is made of: names, places, settings."""
    wiring = wiring_of(context)
    emit(context, wiring.info(wiring.gateway(name)), output)


def logs(
    context: typer.Context,
    name: options.NameOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines.")] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", metavar="N", min=0, help="Only the last N lines.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="AGE|TIME", help="Only from then on: 10m, 2h, RFC 3339."),
    ] = None,
) -> None:
    """Print the node's log."""
    wiring = wiring_of(context)
    gateway = wiring.gateway(name)
    for line in wiring.logs(gateway, tail=tail, follow=follow, since=since):
        typer.echo(line)


def exec_(context: typer.Context, name: options.NameOption = None) -> None:
    """Run a command in the node: `exec -- ls /`."""
    wiring = wiring_of(context)
    gateway = wiring.gateway(name)
    raise typer.Exit(wiring.exec_in_node(gateway, context.args, tty=wires_a_terminal()))


def kubectl(context: typer.Context, name: options.NameOption = None) -> None:
    """Run the node's kubectl: `kubectl get pods -A`."""
    wiring = wiring_of(context)
    gateway = wiring.gateway(name)
    raise typer.Exit(wiring.kubectl(gateway, context.args, tty=wires_a_terminal()))


def add_to(app: typer.Typer) -> None:
    """Add these commands to those that change gateways."""
    app.command("list")(list_)
    for command in (select, info, logs):
        app.command()(command)
    app.command("exec", context_settings=_PASS_ON)(exec_)
    app.command(context_settings=_PASS_ON)(kubectl)
