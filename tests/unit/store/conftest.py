from pathlib import Path

import pytest

from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folders = LockFolders(shared=tmp_path / "run" / "openshell", user=tmp_path / "user" / "locks")
    folders.shared.parent.mkdir()
    return Store(
        tmp_path / "config" / "openshell",
        folders,
        "openshell gateway start",
        state=tmp_path / "state" / "openshell",
    )
