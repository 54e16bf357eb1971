"""What a short command must not pay for."""

import subprocess
import sys

import pytest

HEAVY = ("docker", "kubernetes", "rich", "requests", "yaml", "msgspec", "filelock", "tenacity")

PROGRAM = f"""
import sys
sys.argv[0] = "openshell"
from openshell_bootstrap.cli.main import run
try:
    run()
except SystemExit as end:
    assert not end.code, end.code
loaded = [name for name in {HEAVY!r} if name in sys.modules]
assert not loaded, loaded
ours = [name for name in sys.modules if name.startswith("openshell_bootstrap.gateway.")]
assert not ours, ours
"""


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["gateway", "--help"], ["gateway", "start", "--help"]]
)
def test_help_and_version_load_nothing_heavy(words):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_a_failing_command_line_does_not_load_the_engine():
    program = PROGRAM.replace("assert not end.code, end.code", "assert end.code == 2, end.code")
    program = program.replace("assert not loaded, loaded", "assert 'docker' not in loaded, loaded")
    program = program.split("ours =")[0]
    done = subprocess.run(
        [sys.executable, "-c", program, "gateway", "start", "--api-port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "between 1 and 65535" in done.stderr
    assert done.returncode == 0, done.stderr
