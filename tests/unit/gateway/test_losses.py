"""What would be lost is told before anybody is asked."""

import pytest

from openshell_bootstrap.errors import (
    EngineUnavailableError,
)
from openshell_bootstrap.models import Completed
from openshell_bootstrap.store.metadata import HostRecord
from tests.fakes import kube_objects as objects
from tests.unit.gateway.scenes import NAME


def test_what_would_be_lost_is_told_with_every_claim(world):
    """R69."""
    world.start()
    world.kube.add(objects.claim("a"), objects.claim("b"))
    world.changes()
    seen = world.losses()
    assert (seen.container, seen.volume, seen.network) == (NAME, NAME, NAME)
    assert seen.claims == ("default/claim-a", "default/claim-b")
    assert seen.volume_created_at
    assert not seen.is_nothing
    assert world.changes() == []


@pytest.mark.parametrize("status", ["exited", "paused", "restarting"])
def test_of_a_gateway_that_does_not_run_nobody_can_say_the_claims(world, status):
    world.start()
    world.engine.box(NAME).status = status
    assert world.losses().claims is None


def answer(status, stdout):
    return lambda _container, argv, _stdin: Completed(argv, status, stdout, b"")


def away(_container, _argv, _stdin):
    raise EngineUnavailableError("500")


@pytest.mark.parametrize(
    "handler",
    [
        away,
        answer(1, b'{"items": []}'),
        answer(0, b""),
        answer(0, b"\xff"),
        answer(0, b"[]"),
        answer(0, b"{}"),
        answer(0, b'{"items": [{"metadata": {"name": "x"}}]}'),
    ],
)
def test_claims_that_cannot_be_read_are_not_said_to_be_none(world, handler):
    world.start()
    world.engine.on_exec(handler)
    assert world.losses().claims is None


def test_nothing_is_nothing_and_a_record_alone_is_something(world):
    assert world.losses().is_nothing
    world.store.records.write(
        HostRecord(name="t1", gateway_endpoint="", is_remote=False, gateway_port=1)
    )
    assert not world.losses().is_nothing
    world.destroy()
    assert world.losses().is_nothing


def test_a_volume_alone_can_be_lost(world):
    world.engine.volumes.create(NAME, {})
    seen = world.losses()
    assert (seen.container, seen.volume, seen.network) == ("", NAME, "")
