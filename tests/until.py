"""Waiting for what another process, an engine or a node brings about."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def until(look: Callable[[], T], what: str, within_s: float = 90, *, every_s: float = 0.1) -> T:
    """Look until there is something, and return it; a look that fails is none."""
    deadline = time.monotonic() + within_s
    last = ""
    while time.monotonic() < deadline:
        try:
            if found := look():
                return found
        except (AssertionError, LookupError, ValueError) as error:
            last = str(error)
        time.sleep(every_s)
    return pytest.fail(f"{what} did not happen within {within_s} s: {last}")
