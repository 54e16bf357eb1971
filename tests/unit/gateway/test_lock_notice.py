"""A lock that covers one user only is told by every operation that takes it."""

from dataclasses import replace

import pytest

from openshell_bootstrap.gateway.destroy import destroy
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.restart import restart
from openshell_bootstrap.gateway.start import start
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.store.lock import LockFolders


def started(world, **means):
    start(StartRequest(name="t1"), host=world.host, **means)


def stopped(_world, **means):
    stop("t1", **means)


def restarted(world, **means):
    restart(StartRequest(name="t1"), host=world.host, **means)


def destroyed(_world, **means):
    destroy("t1", **means)


@pytest.mark.parametrize("act", [started, stopped, restarted, destroyed])
def test_a_lock_of_one_user_is_told(world, tmp_path, act):
    world.start()
    folders = LockFolders(shared=tmp_path / "absent" / "locks", user=tmp_path / "own")
    store = replace(world.store, locks=folders)
    act(world, engine=world.engine, store=store, report=world.events.append)
    assert "covers this user's commands only" in world.notices
