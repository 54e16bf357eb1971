"""What was broken in this session, as a table at its end: nothing of it may be a violation."""

from collections.abc import Callable
from typing import Protocol

import pytest

PROPERTY = "faults"
"""Under this name a test's report carries its tally, from whichever process it ran in."""

HEAD = ("operation", "calls", "runs", "kills", "violations")
Row = tuple[str, int, int, int, int]


class Tally(Protocol):
    """What was tried with one operation; see ``tests.faults.runner.Tally``."""

    operation: str
    calls: int
    runs: int
    kills: int
    violations: list[str]


class Faults:
    """Gathers the tallies of all tests."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Told of every test, in whichever process it ran."""
        if report.when == "call":
            found = [value for name, value in report.user_properties if name == PROPERTY]
            self.rows += [_row(value) for value in found]

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.rows:
            return
        rows = merged(self.rows)
        runs, kills, violations = (sum(int(row[at]) for row in rows) for at in (2, 3, 4))
        seed = terminalreporter.config.getoption("--seed")
        terminalreporter.section(f"faults, --seed {seed}")
        for line in table(rows):
            terminalreporter.write_line(line)
        total = f"{len(rows)} operations, {runs} runs, {kills} kills, violations {violations}"
        terminalreporter.write_line(total, bold=True, red=bool(violations), green=not violations)


def merged(rows: list[Row]) -> list[Row]:
    """One row for each operation, whichever tests and processes it was broken in."""
    sums: dict[str, Row] = {}
    for name, calls, runs, kills, violations in sorted(rows):
        _, most, ran, killed, wrong = sums.get(name, (name, 0, 0, 0, 0))
        sums[name] = (name, max(most, calls), ran + runs, killed + kills, wrong + violations)
    return list(sums.values())


def table(rows: list[Row]) -> list[str]:
    """One line for each operation, under a head."""
    cells = [HEAD, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEAD))]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]


def _row(value: object) -> Row:
    assert isinstance(value, list | tuple)
    operation, calls, runs, kills, violations = value
    return str(operation), int(calls), int(runs), int(kills), int(violations)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("engine").addoption(
        "--faults",
        type=int,
        default=12,
        metavar="N",
        help="at how many requests, chosen by --seed, commands are broken on a real engine "
        "(default: 12)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Faults(), "faults-table")


@pytest.fixture
def count_faults(request: pytest.FixtureRequest) -> Callable[[Tally], None]:
    """Takes an operation's tally into the table, and fails the test where there are violations."""

    def count(tally: Tally) -> None:
        row = (tally.operation, tally.calls, tally.runs, tally.kills, len(tally.violations))
        request.node.user_properties.append((PROPERTY, list(row)))
        if tally.violations:
            pytest.fail("\n".join(tally.violations), pytrace=False)

    return count
