"""How much this process's own input still has."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from openshell_bootstrap.engine.terminal import Terminal


@pytest.fixture
def pipe() -> Iterator[int]:
    read, write = os.pipe()
    with closing(os.fdopen(read)), closing(os.fdopen(write)):
        yield read


def test_a_file_tells_what_is_left_of_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        for place, left in ((0, 10), (4, 6), (99, 0)):
            os.lseek(file.fileno(), place, os.SEEK_SET)
            assert Terminal(stdin=file.fileno()).input_size() == left


def test_nothing_has_nothing_and_of_a_pipe_nobody_knows(pipe: int) -> None:
    with Path(os.devnull).open("rb") as nothing, Path("/dev/zero").open("rb") as endless:
        assert Terminal(stdin=nothing.fileno()).input_size() == 0
        assert Terminal(stdin=endless.fileno()).input_size() is None
    assert Terminal(stdin=pipe).input_size() is None
