"""The lock that every operation takes: refused at once, or waited for as long as was said."""

import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from openshell_bootstrap.errors import LockedError, UnusableLockError
from openshell_bootstrap.events import Notice
from openshell_bootstrap.gateway.destroy import destroy
from openshell_bootstrap.gateway.lock import hold_lock
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.restart import restart
from openshell_bootstrap.gateway.start import plan_start, start
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.store.lock import lock_name
from tests.fakes.engine_state import INFO

REQUEST = StartRequest(name="t1")
OPERATIONS = {
    "start": lambda world, **means: start(REQUEST, host=world.host, **means),
    "restart": lambda world, **means: restart(REQUEST, host=world.host, **means),
    "stop": lambda _world, **means: stop("t1", **means),
    "destroy": lambda _world, **means: destroy("t1", **means),
    "start --dry-run": lambda world, engine, store, report: plan_start(
        REQUEST, host=world.host, engine=engine, store=store
    ),
}


@pytest.fixture
def taken(world):
    """Another command's hold of the lock; closing it lets go."""
    world.start()
    other = replace(world.store, command="openshell gateway upgrade")
    with ExitStack() as held:
        held.enter_context(other.lock(INFO.id, "t1"))
        yield held


def act(world, operation, wait_s):
    world.events.clear()
    store = replace(world.store, wait_lock_s=wait_s)
    OPERATIONS[operation](world, engine=world.engine, store=store, report=world.events.append)


def release_after(monkeypatch, clock, taken, looks):
    def sleep(seconds):
        clock.sleep(seconds)
        if len(clock.slept) == looks:
            taken.close()

    monkeypatch.setattr(time, "sleep", sleep)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_without_patience_it_is_refused_at_once(world, clock, taken, operation):
    world.changes()
    with pytest.raises(LockedError, match="works on gateway 't1'") as refused:
        act(world, operation, 0)
    assert refused.value.exit_code == 10
    assert "(openshell gateway upgrade) holds" in refused.value.details
    assert " since 2" in refused.value.details
    assert "--wait-lock" in refused.value.remedies[0]
    assert (clock.slept, world.events, world.changes()) == ([], [], [])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_with_patience_it_goes_on_when_the_other_ends(world, clock, taken, monkeypatch, operation):
    release_after(monkeypatch, clock, taken, looks=3)
    act(world, operation, 60)
    if operation != "start --dry-run":
        assert "Waiting up to 60 s: process" in world.notices
        assert world.notices.count("(openshell gateway upgrade) holds") == 1


def test_patience_ends(world, clock, taken):
    world.changes()
    with pytest.raises(LockedError, match="works on gateway 't1'") as refused:
        act(world, "stop", 2)
    assert refused.value.exit_code == 10
    assert sum(clock.slept) == pytest.approx(2, abs=0.2)
    assert world.changes() == []


def test_every_holder_is_told_once(world, clock, taken, monkeypatch):
    def sleep(seconds):
        clock.sleep(seconds)
        if len(clock.slept) == 2:
            taken.close()
            taken.enter_context(replace(world.store, command="next").lock(INFO.id, "t1"))
        if len(clock.slept) == 4:
            taken.close()

    monkeypatch.setattr(time, "sleep", sleep)
    act(world, "stop", 60)
    told = [event.text for event in world.events if isinstance(event, Notice)]
    assert ["upgrade" in text for text in told if "Waiting" in text] == [True, False]


def test_ctrl_c_while_waiting_ends_at_once_and_touches_nothing(world, taken, monkeypatch):
    def interrupt(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    world.changes()
    with pytest.raises(KeyboardInterrupt):
        act(world, "start", 60)
    assert world.changes() == []


def test_what_nobody_can_lock_is_not_waited_for(world, clock):
    place = world.store.locks.shared / lock_name(INFO.id, "t1")
    place.parent.mkdir(parents=True)
    place.symlink_to("elsewhere")
    with pytest.raises(UnusableLockError):
        act(world, "start", 60)
    assert clock.slept == []


def test_a_holder_that_let_go_is_not_named_any_more(world):
    with hold_lock("t1", engine=INFO, store=world.store, report=world.events.append):
        place = world.store.locks.shared / lock_name(INFO.id, "t1")
        assert place.read_text().splitlines()[1] == "openshell gateway start"
    assert place.read_text() == ""
