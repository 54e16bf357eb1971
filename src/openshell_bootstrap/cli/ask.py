"""Questions, which are asked on a terminal only."""

import sys

import typer

from openshell_bootstrap.errors import ConfigError, LostVolumeError


def is_terminal() -> bool:
    """Somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def wires_a_terminal() -> bool:
    """Both ends of a command's own input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(text: str, *, yes: bool) -> None:
    """Ask before data is removed.

    Raises:
        ConfigError: There is nobody to ask, and ``--yes`` was not given.
        typer.Abort: The answer was no, or none came.
    """
    if yes:
        return
    if not is_terminal():
        raise ConfigError(
            "This removes data and was not confirmed; nothing was removed",
            details=text,
            remedies=["Without a terminal `--yes` is the confirmation."],
        )
    typer.echo(text, err=True)
    typer.confirm("Remove it?", abort=True, err=True)


def may_start_empty(lost: LostVolumeError) -> bool:
    """Ask whether a gateway whose data is gone may start anew; False where nobody can answer.

    Raises:
        typer.Abort: The answer was no, or none came.
    """
    if not is_terminal():
        return False
    typer.echo(f"{lost.brief}.\n{lost.details}\n{lost.remedies[0]}", err=True)
    return typer.confirm("Give its data up and start anew, empty?", abort=True, err=True)
