"""``restart``: stop in order and start, under one hold of the lock."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    ConfigError,
    EngineError,
    GatewayNotFoundError,
    GatewayUnhealthyError,
    LockedError,
)
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.restart import restart
from tests.unit.gateway.scenes import NAME, SCENES, check_tidy, prepare, record_of


def again(world, name="t1", **asked):
    request = StartRequest(name=name, **asked)
    return restart(
        request,
        engine=world.engine,
        store=world.store,
        host=world.host,
        report=world.events.append,
    )


def test_a_running_gateway_is_stopped_and_started(world):
    world.start()
    world.changes()
    done = again(world, grace_s=9)
    assert [name for name in world.engine.methods() if name != "containers.exec"] == [
        "containers.stop",
        "containers.start",
    ]
    assert ("containers.stop", NAME, 9) in world.engine.calls
    assert [action.what for action in done.actions] == [f"start the container {NAME}"]
    assert world.nodes.boots[NAME] == 2


@pytest.mark.parametrize("scene", list(SCENES))
def test_a_gateway_in_any_state_comes_back_with_its_data(world, scene):
    """R93: by the steps of a start."""
    prepare(world, scene)
    tree, record = world.engine.volume_files(NAME), record_of(world)
    again(world)
    assert world.engine.seen(NAME).status == "running"
    assert world.engine.volume_files(NAME) is tree
    assert record_of(world) == record
    check_tidy(world)


def test_a_gateway_that_nobody_knows_is_not_made(world):
    with pytest.raises(GatewayNotFoundError):
        again(world)
    assert world.changes() == []


def test_a_name_that_cannot_be_reaches_nothing(world):
    with pytest.raises(ConfigError):
        again(world, "../x")
    assert world.changes() == []


def test_the_lock_is_held_over_both(world):
    world.start()
    taken = []

    def look(_container):
        with pytest.raises(LockedError):
            world.store.lock(world.engine.info().id, "t1").__enter__()
        taken.append(True)

    world.engine.on_stop(look)
    world.engine.on_start(look)
    again(world)
    assert taken == [True, True]


def test_a_node_that_does_not_come_back_is_explained(world):
    world.start()
    world.clock.advance(10)
    world.nodes.ends = (b"no space left on device", 1)
    with pytest.raises(GatewayUnhealthyError, match=r"disk below the data volume .* is full"):
        again(world)
    assert NAME in world.engine.state.disks


def test_what_a_start_would_refuse_leaves_the_gateway_running(world):
    world.start()
    world.host.known = replace(world.host.known, free_bytes=0)
    world.changes()
    with pytest.raises(EngineError, match="Not enough disk space"):
        again(world)
    assert world.changes() == []
    assert world.engine.seen(NAME).status == "running"


def test_the_gateways_own_port_is_no_reason_to_refuse(world, monkeypatch):
    """It is held as long as the very container runs that is to be stopped."""
    world.start()

    def held(_port):
        return "the engine's own proxy has it" if world.engine.seen(NAME).is_up else None

    monkeypatch.setattr(type(world.host), "port_holder", lambda _host, port: held(port))
    again(world)
    assert world.nodes.boots[NAME] == 2
