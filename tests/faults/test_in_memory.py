"""Every operation over the engine in memory, broken at each of its calls.

Every call is met by SIGKILL, by SIGINT and by an engine that fails; a call that changes something
by all other kinds too, and by a signal after its effect. ``kinds_for`` says which kinds are one
and the same to a call, and take turns.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.operations import OPERATIONS, Operation, commands_of_the_app
from tests.faults.runner import Tally, break_everywhere
from tests.faults.stage import Stage, staged


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    memory = Path("/dev/shm")  # a file system that is faster than most disks
    place = memory if memory.is_dir() else tmp_path
    with TemporaryDirectory(dir=place) as folder, staged(Path(folder), monkeypatch) as made:
        yield made


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_broken_at_any_call_nothing_is_lost_and_the_next_converges(
    stage, operation: Operation, count_faults: Callable[[Tally], None]
):
    count_faults(break_everywhere(stage, operation))


def test_every_command_goes_through_it():
    broken = {operation.command for operation in OPERATIONS}
    assert commands_of_the_app() - broken == set()
