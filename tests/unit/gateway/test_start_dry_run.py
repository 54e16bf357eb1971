"""A dry run tells exactly what a start does."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    GatewayStateError,
)
from openshell_bootstrap.gateway.results import PlannedAction
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.unit.gateway.scenes import NAME, SCENES, dry_run, prepare


def picture(state):
    boxes = [box.seen() for box in state.boxes.values()]
    return boxes, set(state.disks), dict(state.networks)


@pytest.mark.parametrize("scene", [None, *SCENES])
def test_a_dry_run_tells_exactly_what_a_start_does_and_changes_nothing(world, scene):
    if scene is not None:
        prepare(world, scene)
    state = world.engine.state
    before = picture(state)
    planned = dry_run(world)
    assert picture(state) == before
    done = world.start()
    assert planned.actions == done.actions
    assert all(isinstance(action, PlannedAction) and action.why for action in planned.actions)
    assert dry_run(world).actions == ()


def test_a_dry_run_tells_what_stays_as_it_is(world):
    prepare(world, "drifted")
    world.engine.containers.start(world.engine.seen(NAME).id)
    planned = dry_run(world)
    assert planned.actions == ()
    assert planned.notices[0].startswith("Not applied while the gateway runs")


def test_a_dry_run_pulls_nothing(world):
    world.engine.state.images.clear()
    planned = dry_run(world)
    assert planned.actions[0].what == f"pull the image {DEFAULT_NODE_IMAGE}"
    assert world.changes() == []


def test_a_dry_run_refuses_what_a_start_refuses(world):
    world.start()
    with pytest.raises(GatewayStateError):
        dry_run(world, k3s_args=("--v=4",))


def test_a_dry_run_tells_what_a_start_would_tell(world):
    world.host.known = replace(world.host.known, inotify_instances=128)
    assert "max_user_instances is 128" in dry_run(world).notices[0]


def test_a_dry_run_pulls_nothing_either_to_open_a_volume(world):
    world.start()
    world.engine.prune(NAME)
    world.engine.state.registry.update(world.engine.state.images)
    world.engine.state.images.clear()
    world.changes()
    with pytest.raises(GatewayStateError, match="cannot be read"):
        dry_run(world)
    assert world.changes() == []
