"""Commands that need no engine: how soon they answer, beside the library they are made of."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import measure, table
from benchmarks.product import OPENSHELL

TIMES_THE_LIBRARY = 2.0
ROUNDS = 10


def rows() -> list[table.Row]:
    library = "python -c 'import typer'"
    arms: dict[str, Sequence[str | Path]] = {
        library: [sys.executable, "-c", "import typer"],
        "openshell --help": [OPENSHELL, "--help"],
        "openshell --version": [OPENSHELL, "--version"],
    }
    took = measure.least({name: _arm(argv) for name, argv in arms.items()}, ROUNDS)
    return [
        table.ratio(name, plain_s=took[library], ours_s=took[name], at_most=TIMES_THE_LIBRARY)
        for name in arms
        if name != library
    ]


def _arm(argv: Sequence[str | Path]) -> Callable[[], float]:
    return lambda: measure.timed(lambda: measure.run(argv))
