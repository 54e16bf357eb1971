"""What a command line asks of the error handler, read before anything has parsed it.

An error may come before the options are understood, and is still to be told in the form that was
asked for. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Output(StrEnum):
    """How a result is told."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command line.

    Attributes:
        command: The words of the command: ``gateway start``.
        output: What ``-o`` says, as far as it can be.
        verbose: Errors are to be told with their stack.
    """

    command: str
    output: Output
    verbose: bool


def read_invocation(args: Sequence[str], root: Any, passes_on: Sequence[str] = ()) -> Invocation:
    """Read a command line.

    Args:
        args: Its words, without the program's.
        root: The root of the commands: a tree of objects with ``commands``.
        passes_on: Commands whose further words are another program's.
    """
    words: list[str] = []
    verbose = False
    node, rest = root, list(args)
    while rest and hasattr(node, "commands"):
        word = rest.pop(0)
        children: Mapping[str, Any] = node.commands
        if word in children:
            words.append(word)
            node = children[word]
        elif word in {"-v", "--verbose"} and not words:
            verbose = True
        elif not word.startswith("-"):
            break
    command = " ".join(words)
    return Invocation(command, Output.TABLE if command in passes_on else _output(args), verbose)


def _output(args: Sequence[str]) -> Output:
    said = ""
    for index, word in enumerate(args):
        if word == "--":
            break
        if word in {"-o", "--output"}:
            said = args[index + 1] if index + 1 < len(args) else ""
        elif word.startswith("--output="):
            said = word.partition("=")[2]
        elif word.startswith("-o"):
            said = word[2:]
    return Output(said) if said in set(Output) else Output.TABLE
