"""What folders hold, measured by the script that runs in a node, under its shells."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.cluster.usage import observe_usage
from openshell_bootstrap.models import Completed


@dataclass
class ShellNode:
    """Runs a node's commands here."""

    shell: list[str]

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        assert argv[0] == "sh"
        done = subprocess.run(
            [*self.shell, *argv[1:]],
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)


def test_what_folders_hold_is_measured_and_what_is_none_is_none(
    shell: list[str], tmp_path: Path
) -> None:
    """R29."""
    full, empty = tmp_path / "a folder", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    (full / "file").write_bytes(b"x" * (1 << 20))
    (tmp_path / "link").symlink_to(full)
    names = ("a folder", "none", "empty", "link")
    paths = [str(tmp_path / name) for name in names]
    used = observe_usage(ShellNode(shell), paths, 5)
    assert list(used) == paths
    found = dict(zip(names, used.values(), strict=True))
    assert 1 << 20 <= (found["a folder"] or 0) < 2 << 20
    assert found["none"] is None
    assert (found["empty"] or 0) < 1 << 16
    assert found["link"] == found["a folder"]


def test_nothing_is_measured_once_the_time_is_over(shell: list[str], tmp_path: Path) -> None:
    assert observe_usage(ShellNode(shell), [str(tmp_path)], 0) == {str(tmp_path): None}


def test_a_file_that_is_thinner_than_it_looks_counts_as_it_lies_on_disk(
    shell: list[str], tmp_path: Path
) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    used = observe_usage(ShellNode(shell), [str(tmp_path)], 5)
    assert (used[str(tmp_path)] or 0) < 1 << 20
