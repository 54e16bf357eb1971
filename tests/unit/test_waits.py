"""Waiting: exact, bounded, and never deaf to what ends it early."""

import pytest

from openshell_bootstrap.errors import (
    ClusterUnreachableError,
    ConfigError,
    EngineUnavailableError,
    WaitFailedError,
    WaitTimeoutError,
)
from openshell_bootstrap.models import Patience
from openshell_bootstrap.waits import wait_until

PATIENCE = Patience(timeout_s=10, interval_s=3)


class Looks:
    """What is seen, look by look; the last one for ever."""

    def __init__(self, *looks):
        self.looks = list(looks)
        self.count = 0

    def __call__(self):
        self.count += 1
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, BaseException):
            raise look
        return look


def wait(looks, *, failed=lambda _seen: None, patience=PATIENCE):
    return wait_until(
        looks, lambda seen: seen == "ready", failed=failed, patience=patience, what="the node"
    )


def test_what_is_there_already_costs_one_look_and_no_waiting(clock):
    looks = Looks("ready")
    assert wait(looks) == "ready"
    assert (looks.count, clock.slept) == (1, [])


def test_between_looks_it_waits_the_interval(clock):
    assert wait(Looks("no", "no", "ready")) == "ready"
    assert clock.slept == [3, 3]


def test_a_wait_never_lasts_longer_than_its_patience_and_shows_the_last_look(clock):
    with pytest.raises(WaitTimeoutError, match="No sign of the node after 10 s") as over:
        wait(Looks("first", "last"))
    assert over.value.details == "last look: last"
    assert over.value.exit_code == 7
    assert sum(clock.slept) <= PATIENCE.timeout_s


@pytest.mark.parametrize(
    ("looks", "told"),
    [((), "nothing"), ((Patience(1), Patience(2)), f"{Patience(1)}; {Patience(2)}")],
)
def test_a_look_at_several_things_tells_each_of_them(clock, looks, told):
    with pytest.raises(WaitTimeoutError) as over:
        wait(Looks(looks))
    assert over.value.details == f"last look: {told}"


@pytest.mark.parametrize(
    "error", [EngineUnavailableError("no engine"), ClusterUnreachableError("no", details="x")]
)
def test_a_transient_error_is_a_look_that_was_not_ready(clock, error):
    assert wait(Looks(error, error, "ready")) == "ready"


def test_a_transient_error_that_stays_is_the_cause_of_the_timeout(clock):
    error = EngineUnavailableError("the engine is away", details="refused")
    with pytest.raises(WaitTimeoutError) as over:
        wait(Looks(error))
    assert over.value.__cause__ is error
    assert over.value.details == "last look: the engine is away\nrefused"


@pytest.mark.parametrize("error", [ConfigError("no"), ValueError("bug"), KeyboardInterrupt()])
def test_any_other_error_ends_the_wait_at_once(clock, error):
    with pytest.raises(type(error)) as raised:
        wait(Looks(error))
    assert raised.value is error
    assert clock.slept == []


def test_what_cannot_come_any_more_is_not_waited_for(clock):
    with pytest.raises(WaitFailedError, match="Gave up waiting for the node: it ended") as given_up:
        wait(Looks("no", "dead"), failed=lambda seen: "it ended" if seen == "dead" else None)
    assert given_up.value.exit_code == 8
    assert given_up.value.details == "last look: dead"
    assert clock.slept == [3]


def test_a_failure_counts_more_than_being_ready(clock):
    with pytest.raises(WaitFailedError):
        wait(Looks("ready"), failed=lambda _seen: "it is another one")
