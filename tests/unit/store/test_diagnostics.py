"""Archives of what was seen when something failed."""

import stat
import tarfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.store.diagnostics import KEPT, write_archive

NOON = datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=UTC)


def content(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        read = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in read.items() if file is not None}


def test_it_is_one_file_for_its_owner_alone_named_after_moment_and_operation(store):
    path = store.diagnostics.write("t1", "start", {"a.txt": b"one", "b/c.json": b"{}"}, NOON)
    assert path == store.state / "diagnostics" / "t1" / "20260102T120000.000005Z-start.tar.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    top = "20260102T120000.000005Z-start"
    assert content(path) == {f"{top}/a.txt": b"one", f"{top}/b/c.json": b"{}"}
    with tarfile.open(path) as archive:
        assert {member.mode for member in archive} == {0o600}


def test_the_moment_is_told_in_utc(store):
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    path = store.diagnostics.write("t1", "stop", {}, there)
    assert path.name.startswith("20260102T120000")


def test_the_newest_few_of_each_gateway_are_kept_and_nothing_else_is_touched(store):
    other = store.diagnostics.write("t2", "start", {}, NOON)
    folder = store.diagnostics.folder("t1")
    paths = [
        store.diagnostics.write("t1", "start", {}, NOON + timedelta(seconds=number))
        for number in range(2)
    ]
    theirs = [folder / "notes.txt", folder / "00000000T000000.000000Z-mine.tgz"]
    for path in theirs:
        path.write_text("mine")
    (folder / "00000000-start.tar.gz").mkdir()
    (folder / "00000000T000000.000000Z-start.tar.gz").mkdir()  # bears our name, cannot be unlinked
    paths += [
        store.diagnostics.write("t1", "stop", {}, NOON + timedelta(minutes=1 + number))
        for number in range(KEPT)
    ]
    assert [path.exists() for path in paths] == [False] * 2 + [True] * KEPT
    assert all(path.exists() for path in [other, *theirs, folder / "00000000-start.tar.gz"])


def test_a_file_that_cannot_be_written_is_told_and_leaves_no_half(store):
    store.diagnostics.folder("t1").parent.mkdir(parents=True)
    store.diagnostics.folder("t1").write_text("a file where a folder is to be")
    with pytest.raises(ConfigError, match="cannot be written") as failed:
        store.diagnostics.write("t1", "start", {}, NOON)
    assert any("--file" in remedy for remedy in failed.value.remedies)
    assert [path.name for path in store.diagnostics.root.iterdir()] == ["t1"]


def test_a_name_that_is_a_path_reaches_no_path(store):
    with pytest.raises(ConfigError):
        store.diagnostics.write("../x", "start", {}, NOON)


def test_a_file_of_ones_own_choice_is_replaced_whole(tmp_path):
    path = tmp_path / "new" / "mine.tar.gz"
    write_archive(path, {"a": b"1"}, NOON)
    write_archive(path, {"a": b"2"}, NOON)
    assert content(path) == {"mine/a": b"2"}
    assert list(path.parent.iterdir()) == [path]
