"""``stop``: in order, whatever state the gateway is in, and never a word that is not true."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    ConfigError,
    EngineUnavailableError,
    GatewayExistsError,
    GatewayNotFoundError,
    GatewayStateError,
    LockedError,
)
from openshell_bootstrap.events import StepFinished
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.settings import STOP_GRACE_S
from tests.fakes.engine_containers import FakeContainers
from tests.unit.gateway.scenes import NAME


def halt(world, name="t1", **asked):
    return stop(name, engine=world.engine, store=world.store, report=world.events.append, **asked)


def test_a_running_gateway_is_stopped_with_its_grace(world):
    world.start()
    world.engine.calls.clear()
    done = halt(world)
    assert (done.name, done.was_running, done.exit_code) == ("t1", True, 0)
    assert ("containers.stop", NAME, STOP_GRACE_S) in world.engine.calls
    assert world.engine.seen(NAME).status == "exited"
    assert isinstance(world.events[-1], StepFinished)


def test_a_grace_may_be_given(world):
    world.start()
    halt(world, grace_s=7)
    assert ("containers.stop", NAME, 7) in world.engine.calls


def test_nothing_is_removed_and_a_start_brings_all_back(world):
    world.start()
    tree, box = world.engine.volume_files(NAME), world.engine.box(NAME)
    halt(world)
    world.start()
    assert world.engine.volume_files(NAME) is tree
    assert world.engine.box(NAME) is box


def test_a_paused_gateway_is_let_go_first_so_that_it_can_end_in_order(world):
    world.start()
    world.engine.containers.pause(NAME)
    world.changes()
    assert halt(world).was_running
    assert world.changes() == ["containers.unpause", "containers.stop"]


def test_a_gateway_that_the_engine_starts_again_and_again_is_stopped(world):
    world.start()
    world.engine.crash_loop(NAME, 70, 9)
    assert halt(world).was_running
    assert world.engine.seen(NAME).status == "exited"


def test_a_retired_gateway_is_stopped_as_it_is(world):
    old = world.run_retired()
    assert halt(world).was_running
    assert world.engine.seen(old.id).labels == {}


@pytest.mark.parametrize("status", ["exited", "created", "dead"])
def test_a_gateway_that_does_not_run_says_so(world, status):
    world.start()
    world.engine.end(NAME, 3)
    world.engine.box(NAME).status = status
    world.changes()
    done = halt(world)
    assert (done.was_running, done.exit_code) == (False, 3)
    assert world.changes() == []


def test_a_gateway_whose_container_was_pruned_says_that_it_does_not_run(world):
    world.start()
    world.engine.prune(NAME)
    assert not halt(world).was_running


def test_a_gateway_that_nobody_knows_is_not_found(world):
    with pytest.raises(GatewayNotFoundError) as missing:
        halt(world)
    assert missing.value.exit_code == 3
    assert "gateway list" in missing.value.remedies[0]


@pytest.mark.parametrize("name", ["openshell-cluster-t1x", "xopenshell-cluster-t1"])
def test_a_look_alike_is_not_the_gateway(world, name):
    world.run_foreign(name, volume=name)
    with pytest.raises(GatewayNotFoundError):
        halt(world)
    assert world.engine.seen(name).status == "running"


def test_a_container_that_only_bears_the_name_is_left_running(world):
    world.run_foreign(NAME)
    with pytest.raises(GatewayExistsError):
        halt(world)
    assert world.engine.seen(NAME).status == "running"


def test_a_name_that_cannot_be_reaches_nothing(world):
    with pytest.raises(ConfigError):
        halt(world, "../x")
    assert world.engine.calls == []


def test_a_node_that_had_to_be_killed_is_told(world):
    """R84."""
    world.start()
    world.engine.on_stop(lambda container: world.engine.end(container.id, 137))
    done = halt(world)
    assert done.exit_code == 137
    assert "killed" in done.notices[0]
    assert "--grace" in done.notices[0]


def test_a_node_that_did_not_end_well_is_told(world):
    world.start()
    world.engine.on_stop(lambda container: world.engine.end(container.id, 1))
    assert "exit code 1" in halt(world).notices[0]


@pytest.mark.parametrize("prunes", [True, False])
@pytest.mark.parametrize("running", [True, False])
def test_an_engine_whose_prune_takes_named_volumes_is_warned_of(world, prunes, running):
    """R51: API below 1.42."""
    world.engine.state.info = replace(world.engine.state.info, prunes_named_volumes=prunes)
    world.start()
    if not running:
        world.engine.containers.stop(NAME, 1)
    notices = halt(world).notices
    assert bool(notices) is prunes
    if prunes:
        assert f"prune --volumes` would take the volume {NAME}" in notices[-1]


def test_what_became_of_it_is_not_guessed_where_nobody_can_say(world):
    world.start()
    world.engine.fail("containers.find", EngineUnavailableError("500"), after=1)
    with pytest.raises(EngineUnavailableError):
        halt(world)


def test_a_lock_that_another_command_holds_stops_nothing(world):
    world.start()
    with world.store.lock(world.engine.info().id, "t1"), pytest.raises(LockedError):
        halt(world)
    assert world.engine.seen(NAME).status == "running"


def test_an_interrupted_stop_is_finished_by_the_next(world):
    world.start()
    world.engine.fail("containers.stop", KeyboardInterrupt(), too_late=True)
    with pytest.raises(KeyboardInterrupt):
        halt(world)
    assert not halt(world).was_running


class StartedAgain(FakeContainers):
    """Something starts a container again as soon as it has stopped."""

    def stop(self, container_id, grace_s):
        super().stop(container_id, grace_s)
        self.state.box(container_id).status = "running"


def test_a_container_that_runs_on_is_said_to_run(world):
    """The engine's yes is not believed: it is looked at what became of it."""
    world.start()
    world.engine.containers = StartedAgain(world.engine.state)
    with pytest.raises(GatewayStateError, match="still runs") as refused:
        halt(world)
    assert refused.value.exit_code == 4
    assert refused.value.remedies
