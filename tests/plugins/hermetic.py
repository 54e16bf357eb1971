"""The unit and command line tiers touch nothing but memory and their own temporary folder."""

import socket
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import hypothesis
import pytest

from tests.fakes.clock import FakeClock
from tests.plugins.tiers import is_hermetic

# How long a test may take is the timeout's to say; a busy machine makes no example wrong.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def hermetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse sockets and real sleeps where a test must not need them."""
    if is_hermetic(request.path):
        monkeypatch.setattr(socket.socket, "connect", _refuse_connect)
        monkeypatch.setattr(time, "sleep", _refuse_sleep)


@pytest.fixture
def clock(hermetic: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    """A clock under ``waits``: sleeping costs no time, and elapsed seconds are exact."""
    fake = FakeClock()
    with monkeypatch.context() as patched:
        patched.setattr(time, "sleep", fake.sleep)
        patched.setattr(time, "monotonic", fake.time)
        patched.setattr(time, "time", fake.time)
        yield fake


def _refuse_connect(_socket: socket.socket, address: Any) -> NoReturn:
    raise AssertionError(f"a test of this tier opens a connection: {address}")


def _refuse_sleep(seconds: float) -> NoReturn:
    raise AssertionError(f"a test of this tier sleeps {seconds} s: use the fixture `clock`")
