"""A volume that is gone, empty or another cluster's: nothing is started in its place unasked."""

from hashlib import sha256

import pytest

from openshell_bootstrap.errors import (
    GatewayStateError,
    LostVolumeError,
)
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import record_of


@pytest.mark.parametrize("record", [True, False])
def test_a_lost_volume_is_told_and_nothing_is_started_empty(world, record):
    """R52."""
    world.start()
    if record:
        world.engine.prune(NAME)
    else:
        world.store.records.remove("t1")
    del world.engine.state.disks[NAME]
    world.changes()
    with pytest.raises(
        GatewayStateError, match="data volume of the gateway 't1' is gone"
    ) as refused:
        world.start()
    assert refused.value.exit_code == 4
    assert ("--start-empty" if record else "destroy") in refused.value.remedies[1]
    assert world.changes() == []


def test_a_lost_volume_is_given_up_by_a_yes_alone(world):
    """R52: the gateway starts empty, as a new cluster, and says no more of the old one."""
    world.start()
    known = record_of(world).cluster_id
    world.engine.prune(NAME)
    del world.engine.state.disks[NAME]
    world.changes()
    with pytest.raises(LostVolumeError):
        world.start()
    assert world.changes() == []
    world.start(start_empty=True)
    assert record_of(world).cluster_id != known
    world.changes()
    world.start()
    assert world.changes() == []


def test_an_emptied_volume_is_given_up_by_a_yes_alone(world):
    """R52."""
    world.start()
    world.engine.prune(NAME)
    for folder in ("/server", "/openshell", "/storage"):
        world.engine.volume_files(NAME).remove(folder)
    with pytest.raises(LostVolumeError):
        world.start()
    world.start(start_empty=True)
    assert record_of(world).spec.name == "t1"


def test_a_yes_gives_nothing_up_that_is_there(world):
    """R52: what ran without its volume has to be looked at; a volume with data is started on."""
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write("/storage/claim/file", b"precious")
    world.start(start_empty=True)
    world.engine.prune(NAME)
    world.start(start_empty=True)
    assert world.engine.volume_files(NAME) is tree
    assert tree.read("/storage/claim/file") == b"precious"
    world.engine.containers.stop(NAME, 1)
    del world.engine.state.disks[NAME]
    with pytest.raises(GatewayStateError, match="is gone") as refused:
        world.start(start_empty=True)
    assert "destroy" in refused.value.remedies[1]


@pytest.mark.parametrize("pruned", [True, False])
def test_an_empty_volume_in_the_place_of_the_recorded_one_is_told(world, pruned):
    """R26: it would be a new cluster, and only the user can say that the old one is given up."""
    world.start()
    if pruned:
        world.engine.prune(NAME)
        del world.engine.state.disks[NAME]
        world.engine.volumes.create(NAME, {})
    else:
        world.engine.containers.stop(NAME, 1)
        for folder in ("/server", "/openshell", "/storage"):
            world.engine.volume_files(NAME).remove(folder)
    world.changes()
    with pytest.raises(GatewayStateError, match="volume of the gateway 't1' is empty") as refused:
        world.start()
    assert refused.value.exit_code == 4
    assert "a new one, with none of its sandboxes and claims" in refused.value.details
    assert "--start-empty" in refused.value.remedies[1]
    assert set(world.changes()) <= {"containers.create", "containers.remove"}  # the helper


def test_an_empty_volume_is_refused_also_where_it_is_opened_by_a_pulled_image(world):
    world.start()
    world.engine.prune(NAME)
    del world.engine.state.disks[NAME]
    world.engine.volumes.create(NAME, {})
    world.engine.state.registry.update(world.engine.state.images)
    world.engine.state.images.clear()
    with pytest.raises(GatewayStateError, match="is empty"):
        world.start()


@pytest.mark.parametrize("running", [True, False])
def test_a_volume_with_another_cluster_than_its_record_names_is_refused(world, running):
    """R26: before anything stops; the same where the files of two copies were mixed."""
    world.start()
    known = record_of(world).cluster_id
    if not running:
        world.engine.containers.stop(NAME, 1)
    tree = world.engine.volume_files(NAME)
    authority = tree.read("/server/tls/server-ca.crt")
    tree.write("/server/tls/server-ca.crt", b"another cluster's")
    before = world.engine.seen(NAME)
    world.changes()
    with pytest.raises(GatewayStateError, match="not hold the cluster that its record") as refused:
        world.start(k3s_args=("--v=4",))
    assert refused.value.exit_code == 4
    assert known in refused.value.details
    assert sha256(b"another cluster's").hexdigest() in refused.value.details
    assert (world.changes(), world.engine.seen(NAME)) == ([], before)
    tree.write("/server/tls/server-ca.crt", authority)
    world.start()
    assert record_of(world).cluster_id == known


def test_lost_authorities_are_no_other_cluster(world):
    """k3s brings them back from its datastore."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    tree = world.engine.volume_files(NAME)
    authority = tree.read("/server/tls/server-ca.crt")
    tree.remove("/server/tls/server-ca.crt")
    world.engine.state.start_hooks.insert(
        0, lambda _c: tree.write("/server/tls/server-ca.crt", authority)
    )
    world.start()
