"""The suite's own switches, on small suites of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NO_ENGINE = "unix:///no/such/engine.sock"

SUITE = """
import time

def test_of_the_engine(engine):
    pass

def test_of_the_node(node_image):
    pass

def test_of_nothing():
    time.sleep(0)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run pytest on a suite that has the real plugins and no engine."""
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ("tests.plugins.tiers", "tests.plugins.hermetic", "tests.plugins.engine")'
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_suite.py").write_text(SUITE)

    def pytest_says(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", f"--rootdir={tmp_path}"),
                *("-c", ROOT / "pyproject.toml", "-q", f"--confcutdir={tmp_path}", *options),
            ],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "DOCKER_HOST": NO_ENGINE},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return pytest_says


def test_without_an_engine_tests_of_it_are_skipped_with_the_reason(run) -> None:
    status, said = run()

    assert status == 0
    assert "1 passed, 2 skipped" in said
    assert NO_ENGINE in said


def test_where_an_engine_is_required_they_fail(run) -> None:
    status, said = run("--engine=require")

    assert status == 1
    assert "1 passed, 2 errors" in said
    assert "only 0 tests ran against the engine" in said


def test_a_part_of_the_suite_has_no_floor(run) -> None:
    status, said = run("--engine=require", "-k", "nothing")

    assert status == 0
    assert "ran against the engine" not in said


def test_an_engine_can_be_left_alone(run) -> None:
    status, said = run("--engine=off")

    assert status == 0
    assert NO_ENGINE not in said


def test_marks_follow_from_fixtures(run) -> None:
    assert "2 deselected" in run("-m", "not node and not engine")[1]
    assert "2 deselected" in run("-m", "node")[1]
    assert "1 deselected" in run("-m", "engine")[1]
