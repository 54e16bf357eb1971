from concurrent.futures import ThreadPoolExecutor

import pytest

from openshell_bootstrap.errors import EngineError
from openshell_bootstrap.models import FileEntry
from tests.contract.conftest import World


def test_a_volume_is_found_by_its_exact_name(world: World) -> None:
    name = world.name("data")
    world.engine.volumes.create(name, {"color": "red"})
    world.engine.volumes.create(f"{name}-old", {})

    found = world.engine.volumes.find(name)

    assert found is not None
    assert (found.name, found.labels["color"]) == (name, "red")
    assert name in found.mountpoint
    assert found.created_at
    assert world.engine.volumes.find(name[:-1]) is None


def test_volumes_are_listed_by_label(world: World) -> None:
    key = world.name("label")
    red, blue = world.name("red"), world.name("blue")
    world.engine.volumes.create(red, {key: "red"})
    world.engine.volumes.create(blue, {key: "blue"})

    assert [one.name for one in world.engine.volumes.list({key: "red"})] == [red]
    assert {one.name for one in world.engine.volumes.list({key: ""})} == {red, blue}
    assert {red, blue} <= {one.name for one in world.engine.volumes.list()}


def test_create_leaves_an_existing_volume_as_it_is(world: World) -> None:
    name = world.name("data")
    world.engine.volumes.create(name, {"color": "red"})
    container_id = world.made(volumes={name: "/data"})
    world.engine.containers.put_files(container_id, [FileEntry("/data/kept", b"1")])

    def create(_number: int) -> None:
        world.engine.volumes.create(name, {"color": "blue"})

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(create, range(10)))

    found = world.engine.volumes.find(name)
    assert found is not None
    assert found.labels["color"] == "red"
    assert world.engine.containers.get_file(container_id, "/data/kept") is not None


def test_a_volume_in_use_stays_whether_or_not_its_user_runs(world: World) -> None:
    name = world.name("data")
    container_id = world.made(volumes={name: "/data"})

    with pytest.raises(EngineError):
        world.engine.volumes.remove(name)

    assert world.engine.volumes.find(name) is not None
    world.engine.containers.remove(container_id)
    world.engine.volumes.remove(name)
    world.engine.volumes.remove(name)
    assert world.engine.volumes.find(name) is None
