"""What ``status`` advises ``start`` does, and what it says of a refusal ``start`` says too."""

import pytest

from openshell_bootstrap.errors import BootstrapError
from openshell_bootstrap.gateway.status import status
from tests.unit.gateway import status_scenes as scenes
from tests.unit.gateway.conftest import NAME

START = "`openshell gateway start --name t1`"

MENDED = [
    scenes.absent,
    scenes.volume_only,
    scenes.created,
    scenes.stopped,
    scenes.exited,
    scenes.exited_with_an_error,
    scenes.paused,
    scenes.network_gone,
    scenes.network_made_again,
    scenes.foreign,
    scenes.stranded,
    scenes.record_lost,
    scenes.record_damaged,
]
REFUSED = [
    scenes.recorded_only,
    scenes.volume_gone,
    scenes.emptied,
    scenes.record_of_another_gateway,
    scenes.record_of_another_cluster,
    scenes.record_of_a_newer_release,
]


def look(world):
    return status("t1", engine=world.engine, store=world.store)


@pytest.mark.parametrize("scene", MENDED)
def test_where_a_start_is_advised_it_makes_the_gateway_ready(world, scene):
    """R92: and the verdict after it is the one that status gives."""
    scene(world)
    told = look(world)
    assert told.word != "ready"
    assert START in told.next_step
    world.start()
    after = look(world)
    assert (after.word, after.cause, after.drift) == ("ready", "", ())
    world.changes()
    world.start()
    assert world.changes() == []


@pytest.mark.parametrize("scene", REFUSED)
def test_where_a_start_refuses_none_is_advised_and_nothing_is_changed(world, scene):
    """R26, R52: the same thing stands in the way, and it stands there after as before."""
    scene(world)
    told = look(world)
    assert told.word != "ready"
    assert START not in told.next_step
    world.changes()
    with pytest.raises(BootstrapError) as refused:
        world.start()
    assert refused.value.exit_code == 4
    assert world.changes() in ([], ["containers.create", "containers.remove"])
    assert look(world) == told


def test_a_node_that_runs_short_is_told_by_start_as_by_status(world):
    """R102."""
    scenes.short_of_disk(world)
    told = look(world)
    assert told.node.pressures == ("DiskPressure",)
    assert f"The {told.cause}." in world.start().notices


def test_a_cordoned_node_is_not_called_well(world):
    scenes.cordoned(world)
    told = look(world)
    assert (told.word, told.exit_code) == ("degraded", 8)
    assert told.cause == "node openshell-t1 is cordoned: it takes no new pods"
    assert "uncordon openshell-t1` lets it take pods again" in told.next_step
    assert f"The {told.cause}." in world.start().notices


def test_a_gateway_that_is_ready_is_left_alone(world):
    scenes.well(world)
    assert look(world).word == "ready"
    world.changes()
    world.start()
    assert world.changes() == []
    assert look(world).word == "ready"
    assert world.nodes.boots[NAME] == 1
