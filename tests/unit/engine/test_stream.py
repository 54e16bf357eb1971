"""Output of commands, told apart and whole, however it is cut on its way."""

import struct

import pytest

from openshell_bootstrap.engine.stream import STDERR, STDOUT, frames

FRAMES = struct.pack(">BxxxL", STDOUT, 3) + b"one" + struct.pack(">BxxxL", STDERR, 3) + b"two"


def test_frames_are_told_apart() -> None:
    assert list(frames([FRAMES])) == [(STDOUT, b"one"), (STDERR, b"two")]
    assert list(frames([FRAMES[:11]])) == [(STDOUT, b"one")]
    assert list(frames([struct.pack(">BxxxL", STDOUT, 0)])) == []
    assert list(frames([])) == []


@pytest.mark.parametrize("size", [1, 2, 5, 8, 21])
def test_it_does_not_matter_how_they_are_cut(size: int) -> None:
    cut = [FRAMES[start : start + size] for start in range(0, len(FRAMES), size)]

    assert list(frames(cut)) == [(STDOUT, b"one"), (STDERR, b"two")]


@pytest.mark.parametrize("length", [1, 7, 8, 10, 12, 19, 21])
def test_output_that_ends_within_a_frame_is_no_output(length: int) -> None:
    with pytest.raises(ConnectionResetError):
        list(frames([FRAMES[:length]]))
