"""`doctor check` as a person and a script see it."""

import pytest

from openshell_bootstrap.gateway import results
from tests.cli.noted import CHECKED


def test_every_finding_with_what_to_do_and_the_first_problems_exit_code(cli):
    result = cli("doctor", "check", "--name", "t1")
    assert result.exit_code == 5
    assert result.stdout.splitlines() == [
        "Gateway t1: 1 problem, 0 warnings",
        "  problem  disk: Not enough disk space",
        "           1 MiB is free",
        "        -> free some",
        "  fine     clock: The clocks agree",
    ]
    assert cli.calls == [("check", "t1")]


def test_json_goes_out_whole_with_the_same_exit_code(cli):
    result = cli("doctor", "check", "-o", "json")
    assert result.exit_code == 5
    assert '"ok": true' in result.stdout
    assert '"severity": "problem"' in result.stdout


def test_warnings_alone_are_no_failure(cli):
    cli.answer(check=results.Checked(name="t1", checks=CHECKED.checks[1:]))
    result = cli("doctor", "check")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0, "Gateway t1: 0 problems, 0 warnings",
    )  # fmt: skip


@pytest.mark.parametrize("words", [["doctor"], ["doctor", "--help"]])
def test_the_commands_that_look_for_what_is_wrong(cli, words):
    assert "check" in cli(*words).stdout
