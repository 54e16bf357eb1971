import os
import subprocess
import sys

PROGRAM = """
import sys
from pathlib import Path
from openshell_bootstrap.cli.main import app
from tests.cli.noted import Noted

wiring = Noted(tmp=Path("/"), answers={"logs": (b"a line of the log" for _ in range(10**7))})
app(["gateway", "logs", "--name", "t1"], obj=wiring, prog_name="openshell")
"""


def test_a_reader_that_goes_away_ends_the_command_quietly():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": "src:."},
    )
    assert process.stdout.readline() == b"a line of the log\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141
