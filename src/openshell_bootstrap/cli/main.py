"""The command line as a whole, and the only place where an error ends."""

import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from openshell_bootstrap import __version__
from openshell_bootstrap.cli import doctor, gateway, gateway_read, kubeconfig, options
from openshell_bootstrap.cli.context import emit, wiring_of
from openshell_bootstrap.cli.invocation import Output, read_invocation
from openshell_bootstrap.errors import ConfigError

PASS_ON = ("gateway exec", "gateway kubectl")
"""Commands whose further words are another program's."""


BROKEN_PIPE = 141
"""Exit code of a command whose reader went away, as a shell tells it."""


class Root(TyperGroup):
    """All commands, and the handler of their errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Typer would turn Ctrl-C into a bare exit code: it is told instead."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            from openshell_bootstrap.cli.errors import as_error  # noqa: PLC0415 - only here

            raise as_error(interrupt) from interrupt
        except BrokenPipeError:
            # What is still buffered must not fail a second time when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit."""
        words = sys.argv[1:] if args is None else list(args)
        extra |= {"standalone_mode": False}
        try:
            _check_words(words)
            code = super().main(words, *rest, **extra)
        except Exception as error:  # noqa: BLE001 - the one place that ends them all
            from openshell_bootstrap.cli.errors import show  # noqa: PLC0415 - only here

            code = show(error, read_invocation(words, self, PASS_ON))
        sys.exit(code if isinstance(code, int) else 0)


def _check_words(words: Sequence[str]) -> None:
    """Refuse what neither the engine nor a record can take, before anything is made.

    Python gives a byte that is no UTF-8 as half of a surrogate pair.
    """
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise ConfigError(
                f"{word!r} is no UTF-8 text",
                remedies=["Rename what it names, or write the command in a terminal of UTF-8."],
            )


app = typer.Typer(
    name="openshell",
    cls=Root,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
gateway_read.add_to(gateway.app)
gateway.app.add_typer(kubeconfig.app)
app.add_typer(gateway.app)
app.add_typer(doctor.app)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"openshell {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def openshell(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Tell the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell errors with their stack.")
    ] = False,
) -> None:
    """Durable gateways: k3s in one Docker container whose data is never lost."""
    del version, verbose  # read before parsing, where they are needed
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def version(
    context: typer.Context,
    name: options.NameOption = None,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Tell the version of this command and, for a gateway that is named, of its k3s."""
    emit(context, wiring_of(context).versions(name), output)


def run() -> NoReturn:
    """The ``openshell`` command."""
    gc.set_threshold(50_000)  # looking for garbage while modules load costs a tenth of the time
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name need not exist in the user's encoding
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="openshell")
    raise AssertionError  # main() has exited
