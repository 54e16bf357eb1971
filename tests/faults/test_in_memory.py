"""Every operation over the engine in memory, broken at each of its calls.

Every call is met by SIGKILL, by SIGINT and by an engine that fails; a call that changes something
by all other kinds too, and by a signal after its effect. ``kinds_for`` says which kinds are one
and the same to a call, and take turns.
"""

from collections.abc import Callable

import pytest

from tests.faults.operations import FAR_FROM_UP, OPERATIONS, Operation, commands_of_the_app
from tests.faults.runner import Tally, break_everywhere
from tests.faults.stage import Stage


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATIONS if each.name not in FAR_FROM_UP],
    ids=lambda each: each.name,
)
def test_broken_at_any_call_nothing_is_lost_and_the_next_converges(
    stage: Stage, operation: Operation, count_faults: Callable[[Tally], None]
):
    count_faults(break_everywhere(stage, operation))


def test_every_command_goes_through_it():
    broken = {operation.command for operation in OPERATIONS}
    assert commands_of_the_app() - broken == set()
