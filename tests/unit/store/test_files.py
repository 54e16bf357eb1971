import os
import stat

import pytest

from openshell_bootstrap.store.files import write_by_rename


def test_a_reader_that_has_the_old_file_open_keeps_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_by_rename(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    """R19."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_by_rename(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_the_mode_is_exact_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_by_rename(tmp_path / "file", b"", mode=0o644)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_what_a_killed_writer_left_goes_with_the_next_write_and_a_living_ones_stays(tmp_path):
    dead, living, other = (tmp_path / name for name in (".openshell-a", ".openshell-b", ".x"))
    for half in (dead, living, other):
        half.touch()
    os.utime(dead, (0, 0))
    os.utime(other, (0, 0))
    write_by_rename(tmp_path / "file", b"new")
    assert sorted(tmp_path.iterdir()) == [living, other, tmp_path / "file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_root_leaves_a_users_file_to_the_user(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 12345)
    write_by_rename(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)
