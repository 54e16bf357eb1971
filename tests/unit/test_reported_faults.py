"""docs/reported-faults.md names every reported fault, and the tests that exist for it."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(20)
"""The first of them reads the whole suite."""

ROOT = Path(__file__).parents[2]
MATRIX = ROOT / "docs" / "reported-faults.md"


def rows_of(names: str) -> frozenset[str]:
    return frozenset(names.split())


LOST_OR_UNUSABLE = rows_of(
    "R02 R05 R07 R09 R10 R12 R14 R16 R17 R21 R22 R26 R27 R30 R32 R33 R34 R35 R36 R37 R38 R42 R44 "
    "R51 R54 R57 R58 R61 R63 R64 R66 R82 R84 R85 R89 R92 R94 R96 R103"
)
SERIOUS = rows_of(
    "R03 R04 R06 R13 R15 R18 R19 R20 R23 R25 R28 R29 R31 R39 R40 R41 R45 R47 R48 R49 R52 R55 R56 "
    "R59 R60 R65 R69 R70 R83 R87 R88 R90 R91 R93 R95 R97 R98 R99 R102"
)
NUISANCE = rows_of("R67 R68 R100 R101")
OF_LATER_PARTS = rows_of(
    "R72 R73 R74 R75 R76 R77 R78 R80 R81 "
    "R105 R107 R108 R109 R110 R111 R112 R113 R114 R115 R116 R117 R118 R119 R120 R121 R122"
)
"""Of upgrade, snapshots and sandboxes."""

WITHOUT_A_SANDBOX_HALF = rows_of("R22 R26 R30 R32 R33 R34 R37 R38 R93")
WITHOUT_AN_UPGRADE_HALF = rows_of("R17 R27 R57")
ALL_OF_IT_LATER = rows_of("R32 R33 R34")
"""What becomes of a home that an image brings: there is none before there are sandboxes."""

ROW = re.compile(r"\bR\d{2,3}\b")
TEST_ID = re.compile(r"`(tests/[^`]+)`")


@dataclass(frozen=True)
class Row:
    """One line of the matrix."""

    report: str
    importance: int
    outcome: str
    tests: frozenset[str]


@cache
def read_matrix() -> dict[str, Row]:
    lines = [line for line in MATRIX.read_text().splitlines() if re.match(r"\| R\d", line)]
    rows = {}
    for line in lines:
        name, report, _symptom, importance, outcome, tests = [
            cell.strip() for cell in line.strip("|").split(" | ")
        ]
        rows[name] = Row(report, int(importance), outcome, frozenset(TEST_ID.findall(tests)))
    assert len(rows) == len(lines), "a row stands there twice"
    return rows


@cache
def read_docstrings() -> dict[str, frozenset[str]]:
    """The rows that each test names, by its id without parameters; of files that name any."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if ROW.search(text) else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                rows = ROW.findall(ast.get_docstring(node) or "")
                found[f"{path.relative_to(ROOT)}::{node.name}"] = frozenset(rows)
    return found


def test_every_reported_fault_is_there_with_its_importance():
    importance = {
        **dict.fromkeys(LOST_OR_UNUSABLE, 3),
        **dict.fromkeys(SERIOUS, 2),
        **dict.fromkeys(NUISANCE, 1),
    }
    rows = read_matrix()
    assert rows.keys() == importance.keys() | OF_LATER_PARTS
    assert {name: rows[name].importance for name in importance} == importance
    reports = Counter(row.report for row in rows.values())
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", report) for report in reports)
    assert max(reports.values()) == 1


def test_every_test_that_the_matrix_names_exists():
    named = {test for row in read_matrix().values() for test in row.tests}
    assert len(named) > 100
    assert not named - read_docstrings().keys()


def test_the_matrix_and_the_docstrings_name_the_same():
    """So that a test which is moved, renamed or dropped is missed, and a new one is found."""
    told = {(name, test) for name, row in read_matrix().items() for test in row.tests}
    said = {(name, test) for test, names in read_docstrings().items() for name in names}
    assert not told - said, "the matrix names tests that do not name the row"
    assert not said - told, "tests name rows of which the matrix does not know"


@pytest.mark.parametrize("name", sorted(LOST_OR_UNUSABLE | SERIOUS | NUISANCE))
def test_every_fault_has_a_test_or_a_reason(name):
    row = read_matrix()[name]
    if name in ALL_OF_IT_LATER:
        assert row.outcome == "Sandbox half: not yet built."
    elif not row.tests:
        assert row.importance < 3
        assert "Cannot be tried here" in row.outcome


def test_what_is_not_built_is_said():
    told = {name: row.outcome for name, row in read_matrix().items()}
    for name in WITHOUT_A_SANDBOX_HALF:
        assert "Sandbox half: not yet built." in told[name], name
    for name in WITHOUT_AN_UPGRADE_HALF:
        assert "Upgrade half: not yet built." in told[name], name
    for name in OF_LATER_PARTS:
        assert re.match("Upgrade|Sandboxes|Snapshots", told[name]), name
