"""The node's log, cut by the lives of its container."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from openshell_bootstrap.gateway.evidence.node_log import (
    Lives,
    last_log_lines,
    lines_of_lives,
    parse_moment,
)
from tests.unit.gateway.scenes import NAME


@pytest.mark.parametrize(
    ("moment", "seen"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.5Z", datetime(2026, 1, 1, microsecond=500_000, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, microsecond=123456, tzinfo=UTC)),
    ],
)
def test_the_engines_moments_are_read_with_every_number_of_decimals(moment, seen):
    assert parse_moment(moment) == seen


def test_log_lines_are_those_of_the_life_that_was_seen(world):
    world.start()
    world.engine.write_log(NAME, b"old")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(5)
    world.engine.containers.start(world.engine.seen(NAME).id)
    world.engine.write_log(NAME, *(f"new {number} \xff".encode("latin-1") for number in range(3)))
    assert last_log_lines(world.engine, world.engine.seen(NAME), 2) == (
        "new 1 \ufffd",
        "new 2 \ufffd",
    )
    never = replace(world.engine.seen(NAME), started_at="")
    assert last_log_lines(world.engine, never, 9)[0] == "old"


def live_twice(world, first, second):
    world.start()
    world.engine.write_log(NAME, *first)
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(5)
    world.engine.containers.start(world.engine.seen(NAME).id)
    world.engine.write_log(NAME, *second)
    return world.engine.seen(NAME)


@pytest.mark.parametrize(
    ("count", "present", "before"),
    [
        (10, (b"c", b"d"), (b"a", b"b")),
        (4, (b"c", b"d"), (b"a", b"b")),
        (3, (b"c", b"d"), (b"b",)),
        (2, (b"c", b"d"), ()),
        (1, (b"d",), ()),
    ],
)
def test_the_present_life_comes_first_and_some_of_the_one_before(world, count, present, before):
    container = live_twice(world, [b"a", b"b"], [b"c", b"d"])
    assert lines_of_lives(world.engine, container, count) == Lives(present, before)


def test_a_container_that_never_started_has_no_life_before(world):
    never = replace(live_twice(world, [b"a"], [b"b"]), started_at="")
    assert lines_of_lives(world.engine, never, 9) == Lives((b"a", b"b"), ())
