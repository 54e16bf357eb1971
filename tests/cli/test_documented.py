"""docs/commands.md has every command and option there is, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

import typer.main

from openshell_bootstrap.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
OF_EVERY_COMMAND = {"--help"}
OF_THE_ROOT = {"--version", "--verbose", "--install-completion", "--show-completion"}


def options_of(command) -> set[str]:
    """The longest spelling of each."""
    options = (one for one in command.params if one.param_type_name == "option")
    return {max(one.opts, key=len) for one in options} - OF_EVERY_COMMAND


def commands_below(group, *path: str) -> Iterator[tuple[str, set[str]]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_below(command, *path, name)
        else:
            yield " ".join((*path, name)), options_of(command)


def documented() -> dict[str, set[str]]:
    row = re.compile(r"^\| `openshell ([a-z ]+)` \|.*\| ([^|]*) \|$", re.MULTILINE)
    rows = row.findall(PAGE.read_text())
    return {command: set(re.findall(r"`(\S+)`", options)) for command, options in rows}


def test_every_command_is_told_with_its_options():
    root = typer.main.get_command(app)
    assert documented() == dict(commands_below(root))
    assert options_of(root) == OF_THE_ROOT


def test_every_option_is_explained_once():
    told = re.findall(r"^\| `(--?[a-z0-9-]+)", PAGE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted(set().union(*documented().values()))


def test_every_spelling_is_one_that_is_taken():
    root = typer.main.get_command(app)
    words = set(re.findall(r"`(--?[a-z0-9-]+)", PAGE.read_text()))
    for _path, command in [("", root), *walk(root)]:
        words -= {spelling for one in command.params for spelling in one.opts}
    assert words == {"--help"}


def walk(group):
    for name, command in group.commands.items():
        yield name, command
        if hasattr(command, "commands"):
            yield from walk(command)
