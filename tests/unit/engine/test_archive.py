import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.engine import archive
from openshell_bootstrap.models import FileEntry

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40
).filter(lambda name: name not in {".", ".."})


def test_entries_keep_their_order_and_belong_to_root() -> None:
    files = [
        FileEntry("/opt/z", b"1", 0o600),
        FileEntry("/opt/a", None, 0o700),
        FileEntry("/opt/a/b", b"", 0o755),
    ]

    with tarfile.open(fileobj=io.BytesIO(archive.pack(files, 5.5))) as tar:
        members = tar.getmembers()

    assert [(one.name, one.mode, one.isdir()) for one in members] == [
        ("opt/z", 0o600, False),
        ("opt/a", 0o700, True),
        ("opt/a/b", 0o755, False),
    ]
    assert {(one.uid, one.gid, one.mtime) for one in members} == {(0, 0, 5.5)}


@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=5))
def test_what_is_packed_is_unpacked(contents: dict[str, bytes]) -> None:
    files = [FileEntry(f"/top/{name}", content, 0o640) for name, content in contents.items()]

    assert list(archive.unpack(archive.pack(files, 0), "/top")) == files


@pytest.mark.parametrize("kept", [0, 100, 512, 1024, 1536, 2560, 3584])
def test_half_an_archive_is_never_taken_for_a_folder_with_fewer_files(kept: int) -> None:
    """An engine that fails in the middle ends its answer in order, with its error in it."""
    files = [FileEntry(f"/top/{name}", b"x" * 600, 0o640) for name in "abc"]
    whole = archive.pack(files, 0)

    with pytest.raises(tarfile.TarError):
        list(archive.unpack(whole[:kept] + b'{"message":"input/output error"}', "/top"))
    with pytest.raises(tarfile.TarError):
        list(archive.unpack(whole[:kept], "/top"))


def test_links_and_devices_are_left_out() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (("top", tarfile.DIRTYPE), ("top/l", tarfile.SYMTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type = kind
            tar.addfile(entry)
        fifo = tarfile.TarInfo("top/f")
        fifo.type = tarfile.FIFOTYPE
        tar.addfile(fifo)

    assert [one.path for one in archive.unpack(buffer.getvalue(), "/elsewhere")] == ["/elsewhere"]


def test_too_much_is_not_gathered() -> None:
    assert archive.gather(iter([b"ab", b"cd"]), 4) == b"abcd"
    endless = iter(lambda: b"x" * 10, b"")

    assert archive.gather(endless, 25) is None
