import stat
from pathlib import Path

import pytest

from openshell_bootstrap.errors import ConfigError, LockedError
from openshell_bootstrap.store.kubeconfigs import edit_user_kubeconfig


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_gateways_kubeconfig_is_for_its_owner_alone(store):
    assert store.kubeconfigs.find("t1") is None
    path = store.kubeconfigs.write("t1", b"one")
    path.chmod(0o644)
    assert store.kubeconfigs.write("t1", b"two") == path == store.kubeconfigs.path("t1")
    assert mode(path) == 0o600
    assert store.kubeconfigs.find("t1") == b"two"
    assert [entry.name for entry in path.parent.iterdir()] == ["kubeconfig"]


def test_remove_takes_the_empty_folder_too(store):
    path = store.kubeconfigs.write("t1", b"one")
    store.kubeconfigs.remove("t1")
    store.kubeconfigs.remove("t1")
    assert not path.parent.exists()


def test_a_new_user_kubeconfig_is_private(tmp_path):
    path = tmp_path / "home" / ".kube" / "config"
    assert edit_user_kubeconfig(path, lambda _present: b"new") is True
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600


def test_the_users_file_keeps_its_mode(tmp_path):
    path = tmp_path / "config"
    path.write_bytes(b"old")
    path.chmod(0o640)
    edit_user_kubeconfig(path, lambda present: present + b" new")
    assert path.read_bytes() == b"old new"
    assert mode(path) == 0o640


def test_a_link_is_followed_and_stays_one(tmp_path):
    target, link = tmp_path / "real", tmp_path / "config"
    target.write_bytes(b"old")
    link.symlink_to(target)
    edit_user_kubeconfig(link, lambda _present: b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_nothing_is_written_when_nothing_changes(tmp_path):
    path = tmp_path / "config"
    path.write_bytes(b"same")
    before = path.stat()
    assert edit_user_kubeconfig(path, lambda present: present) is False
    assert path.stat().st_ino == before.st_ino


def test_a_refused_change_leaves_the_file_and_no_lock(tmp_path):
    path = tmp_path / "config"
    path.write_bytes(b"old")

    def refuse(_present: bytes) -> bytes:
        raise ConfigError("no")

    with pytest.raises(ConfigError):
        edit_user_kubeconfig(path, refuse)
    assert [entry.name for entry in tmp_path.iterdir()] == ["config"]
    assert path.read_bytes() == b"old"


def test_kubectl_that_is_writing_is_not_disturbed(tmp_path):
    path = tmp_path / "config"
    path.write_bytes(b"old")
    lock = tmp_path / "config.lock"
    lock.touch()
    with pytest.raises(LockedError) as caught:
        edit_user_kubeconfig(path, lambda _present: b"new")
    assert str(lock) in caught.value.details
    assert lock.exists()
    assert path.read_bytes() == b"old"


class Gone(BaseException):
    """Stands for SIGKILL: nothing cleans up after it."""


def test_the_lock_of_a_killed_command_holds_up_nobody_and_a_living_ones_does(tmp_path, monkeypatch):
    path, lock = tmp_path / "config", tmp_path / "config.lock"

    def refused(_present: bytes) -> bytes:
        with pytest.raises(LockedError):
            edit_user_kubeconfig(path, lambda _present: b"other")
        monkeypatch.setattr(Path, "unlink", lambda *_given, **_how: None)
        raise Gone

    with pytest.raises(Gone):
        edit_user_kubeconfig(path, refused)
    monkeypatch.undo()
    assert lock.exists()
    assert edit_user_kubeconfig(path, lambda _present: b"new") is True
    assert [entry.name for entry in tmp_path.iterdir()] == ["config"]


def test_a_loop_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ConfigError, match="cannot be changed"):
        edit_user_kubeconfig(tmp_path / "a", lambda _present: b"new")


def test_a_folder_in_its_place_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be changed"):
        edit_user_kubeconfig(tmp_path, lambda _present: b"new")
