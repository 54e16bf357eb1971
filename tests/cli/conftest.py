from pathlib import Path

import pytest

from openshell_bootstrap.settings import Settings
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders
from tests.cli.noted import Cli, Noted


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line over operations that only note how they were called."""
    wiring = Noted(tmp=tmp_path)
    wiring.settings = Settings(gateway=None, node_image=None, is_ci=False, proxies={})
    locks = LockFolders(tmp_path / "l", tmp_path / "u")
    wiring.store = Store(tmp_path / "config", locks, state=tmp_path / "state")
    return Cli(wiring)
