import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from openshell_bootstrap.errors import ConfigError, LockedError
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders, lock_name

HOLDER = """
import sys
from pathlib import Path
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders
shared, user = map(Path, sys.argv[1:3])
store = Store(user, LockFolders(shared, user), "openshell gateway destroy", state=user)
with store.lock("engine", "t1"):
    print("held", flush=True)
    sys.stdin.read()
print("released", flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folders = LockFolders(shared=tmp_path / "run" / "openshell", user=tmp_path / "user" / "locks")
    folders.shared.parent.mkdir()
    return Store(
        tmp_path / "config" / "openshell", folders, "openshell gateway start", state=tmp_path
    )


@pytest.fixture
def holder(store: Store):
    """A process that holds the lock of t1 until its stdin is closed."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, store.locks.shared, store.locks.user],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def lock_path(store: Store) -> Path:
    return store.locks.shared / lock_name("engine", "t1")


def test_the_folder_and_file_are_for_every_user_whatever_the_umask(store):
    before = os.umask(0o077)
    try:
        with store.lock("engine", "t1") as held:
            assert held.path == lock_path(store)
            assert held.notice == ""
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.locks.shared.stat().st_mode) == 0o1777
    assert stat.S_IMODE(lock_path(store).stat().st_mode) == 0o666
    assert os.umask(before) == before


def test_a_taken_lock_names_its_holder(store, holder):
    process = holder()
    with pytest.raises(LockedError) as caught, store.lock("engine", "t1"):
        pass
    assert caught.value.exit_code == 10
    assert f"process {process.pid} (openshell gateway destroy)" in caught.value.details
    assert "t1" in caught.value.brief


def test_a_holder_that_has_not_written_its_name_yet_is_named_all_the_same(
    store, holder, monkeypatch
):
    process, read, early = holder(), os.pread, [b"", b""]
    monkeypatch.setattr(os, "pread", lambda *what: early.pop() if early else read(*what))
    with pytest.raises(LockedError) as caught, store.lock("engine", "t1"):
        pass
    assert f"process {process.pid} (openshell gateway destroy)" in caught.value.details


def test_a_holder_without_a_name_is_a_process(store, holder):
    """Its disk is full: the lock holds all the same."""
    holder()
    lock_path(store).write_bytes(b"")
    with pytest.raises(LockedError) as caught, store.lock("engine", "t1"):
        pass
    assert caught.value.details == f"a process holds {lock_path(store)}"


def test_other_gateways_and_engines_are_free(store, holder):
    holder()
    with store.lock("engine", "t2"), store.lock("another engine", "t1"):
        pass


def test_a_process_that_is_killed_does_not_keep_it(store, holder):
    process = holder()
    process.kill()
    process.wait()
    with store.lock("engine", "t1"):
        assert str(os.getpid()) in lock_path(store).read_text()


def test_ctrl_c_releases_it(store, holder):
    process = holder()
    process.send_signal(signal.SIGINT)
    process.wait()
    with store.lock("engine", "t1"):
        pass


def test_an_error_in_the_body_releases_it(store):
    with pytest.raises(KeyboardInterrupt), store.lock("engine", "t1"):
        raise KeyboardInterrupt
    with store.lock("engine", "t1"):
        pass


def test_a_child_of_the_holder_does_not_inherit_it(store):
    with store.lock("engine", "t1"):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            close_fds=False,
        )
    try:
        with store.lock("engine", "t1"):
            pass
    finally:
        child.communicate()


def test_it_is_not_taken_twice_in_one_process(store):
    with store.lock("engine", "t1"), pytest.raises(LockedError), store.lock("engine", "t1"):
        pass


def hold_as(user: int, store: Store, pipe: Connection) -> None:
    """In a forked process: become another user and hold the lock until told to let go."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    with store.lock("engine", "t1"):
        pipe.send("held")
        pipe.recv()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become two users")
def test_users_lock_the_file_that_another_user_made(store, tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    store.locks.shared.parent.chmod(0o1777)
    fork = multiprocessing.get_context("fork")
    for user in (12345, 23456):
        ours, theirs = fork.Pipe()
        process = fork.Process(target=hold_as, args=(user, store, theirs))
        process.start()
        theirs.close()  # one that ends before it says anything is then heard of
        assert ours.recv() == "held"
        assert lock_path(store).stat().st_uid == 12345
        with pytest.raises(LockedError) as caught, store.lock("engine", "t1"):
            pass
        assert f"process {process.pid} " in caught.value.details
        ours.send("let go")
        process.join()
        assert process.exitcode == 0
    with store.lock("engine", "t1"):
        pass


def test_without_the_shared_folder_it_says_that_it_covers_one_user(store):
    store.locks.shared.parent.rmdir()
    with store.lock("engine", "t1") as held:
        assert held.path.parent == store.locks.user
        assert "this user's commands only" in held.notice
        assert str(store.locks.shared) in held.notice
    assert stat.S_IMODE(store.locks.user.stat().st_mode) == 0o700


def test_a_link_in_place_of_the_shared_folder_is_not_followed(store, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store.locks.shared.symlink_to(elsewhere)
    with store.lock("engine", "t1") as held:
        assert held.path.parent == store.locks.user
    assert not list(elsewhere.iterdir())


def test_a_link_in_place_of_the_file_is_not_followed(store, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    store.locks.shared.mkdir(mode=0o700)
    lock_path(store).symlink_to(victim)
    with pytest.raises(LockedError, match="cannot be used"), store.lock("engine", "t1"):
        pass
    assert victim.read_text() == "precious"


def test_a_pipe_in_place_of_the_file_makes_nobody_wait(store):
    store.locks.shared.mkdir()
    os.mkfifo(lock_path(store))
    with pytest.raises(LockedError, match="no plain file"), store.lock("engine", "t1"):
        pass


def test_a_file_that_vanished_between_opening_and_locking_protects_nothing(store, monkeypatch):
    from openshell_bootstrap.store import lock as module

    def steal(descriptor: int, *, blocking: bool) -> bool:
        lock_path(store).unlink()
        return True

    monkeypatch.setattr(module, "lock_descriptor", steal)
    with pytest.raises(LockedError, match="removed"), store.lock("engine", "t1"):
        pass


def test_what_a_stranger_wrote_into_the_file_reaches_no_terminal(store, holder):
    holder()
    lock_path(store).write_bytes(b"\x1b[2Jgarbage\x00\xff" * 100)
    with pytest.raises(LockedError) as caught, store.lock("engine", "t1"):
        pass
    assert caught.value.details.startswith("a process holds")


def test_no_folder_at_all_is_an_error(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    store = Store(tmp_path, LockFolders(blocker / "a", blocker / "b"), state=tmp_path)
    with pytest.raises(ConfigError, match="No lock can be kept"), store.lock("engine", "t1"):
        pass
