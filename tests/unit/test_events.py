"""Events: both ends of every phase are told, whatever happens in between."""

import dataclasses

import pytest

from openshell_bootstrap.events import Event, Notice, StepFinished, StepStarted, silent, step


def test_a_step_tells_its_ends_and_how_long_it_took(clock):
    seen: list[Event] = []
    with step(seen.append, "Working"):
        clock.advance(2.5)
        seen.append(Notice("half way"))
    assert seen == [StepStarted("Working"), Notice("half way"), StepFinished("Working", True, 2.5)]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_a_step_that_does_not_end_well_says_so_and_hides_nothing(clock, error):
    seen: list[Event] = []
    with pytest.raises(type(error)) as raised, step(seen.append, "Working"):
        raise error
    assert raised.value is error
    assert seen == [StepStarted("Working"), StepFinished("Working", False, 0.0)]


def test_an_event_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Notice("a").text = "b"  # type: ignore[misc]


def test_a_caller_may_want_to_know_nothing():
    with step(silent, "Working"):
        pass
