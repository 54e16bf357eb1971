"""An error as the user meets it: text on stderr, or the envelope that was asked for on stdout."""

import re
import traceback

import typer

from openshell_bootstrap.cli.invocation import Invocation, Output
from openshell_bootstrap.errors import BootstrapError, ConfigError

INTERRUPTED = 130
"""Exit code of Ctrl-C and of a question that was answered with no."""


class CancelledError(BootstrapError):
    """Ctrl-C."""

    exit_code = INTERRUPTED


class DeclinedError(BootstrapError):
    """A question was answered with no."""

    exit_code = INTERRUPTED


class InternalError(BootstrapError):
    """A fault of ours."""


def code_of(error: BootstrapError) -> str:
    """The class in kebab-case without Error: ``gateway-not-found``."""
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def as_error(raised: BaseException) -> BootstrapError:
    """What was raised as an error to show."""
    match raised:
        case BootstrapError():
            return raised
        case KeyboardInterrupt():
            return CancelledError(
                "Interrupted", remedies=["What stands is kept: the same command goes on from it."]
            )
        case typer.Abort():
            return DeclinedError("Nothing was changed")
        case typer.TyperException():
            return _usage(raised)
        case _:
            return InternalError(
                f"This is a fault in openshell: {type(raised).__name__}: {raised}",
                remedies=["Run it again with `openshell -v …` and report what it prints."],
            )


def _usage(raised: typer.TyperException) -> ConfigError:
    context = getattr(raised, "ctx", None)
    command = context.command_path if context else "openshell"
    return ConfigError(
        raised.format_message().rstrip("."), remedies=[f"`{command} --help` shows what there is."]
    )


def show(raised: BaseException, invocation: Invocation) -> int:
    """Tell an error in the form that was asked for; returns the exit code."""
    error = as_error(raised)
    if invocation.output in {Output.JSON, Output.YAML}:
        from openshell_bootstrap.cli.render import failure  # noqa: PLC0415 - only here

        typer.echo(failure(error, invocation))
    else:
        typer.echo(_text(error), err=True)
    if invocation.verbose:
        typer.echo("".join(traceback.format_exception(raised)), err=True, nl=False)
    return error.exit_code


def _text(error: BootstrapError) -> str:
    from openshell_bootstrap.cli.tables import printable  # noqa: PLC0415 - only here

    lines = [f"Error: {error.brief}"]
    lines += [f"  {line}" for line in error.details.splitlines()]
    lines += [f"  {note}" for note in getattr(error, "__notes__", ())]
    lines += [f"-> {remedy}" for remedy in error.remedies]
    lines += [f"What could be seen is in {error.diagnostics}"] * bool(error.diagnostics)
    return printable("\n".join(lines))
