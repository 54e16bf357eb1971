from pathlib import Path

from openshell_bootstrap.store.host import open_store
from openshell_bootstrap.store.lock import LockFolders


def test_places_follow_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    store = open_store("openshell gateway stop")
    assert store.config == tmp_path / "config" / "openshell"
    assert store.locks == LockFolders(Path("/run/lock/openshell"), tmp_path / "openshell" / "locks")
    assert store.command == "openshell gateway stop"
