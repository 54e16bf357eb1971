"""As test_in_memory.py, from the states that are farthest from a gateway that is up.

A file of its own, so that another process can have it.
"""

from collections.abc import Callable

import pytest

from tests.faults.operations import FAR_FROM_UP, OPERATIONS, Operation
from tests.faults.runner import Tally, break_everywhere
from tests.faults.stage import Stage


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATIONS if each.name in FAR_FROM_UP],
    ids=lambda each: each.name,
)
def test_broken_at_any_call_nothing_is_lost_and_the_next_converges(
    stage: Stage, operation: Operation, count_faults: Callable[[Tally], None]
):
    count_faults(break_everywhere(stage, operation))


def test_there_are_so_many_such_states():
    assert {operation.name for operation in OPERATIONS} >= FAR_FROM_UP
