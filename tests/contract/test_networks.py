import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from openshell_bootstrap.errors import EngineError, NameConflictError
from tests.contract.conftest import World


def test_a_network_is_found_by_its_exact_name(world: World) -> None:
    name = world.name("net")
    network_id = world.engine.networks.create(name, {"color": "red"})
    world.engine.networks.create(f"{name}-old", {})

    (found,) = world.engine.networks.list_named(name)

    assert (found.id, found.name, found.labels["color"]) == (network_id, name, "red")
    assert found.containers == ()
    assert world.engine.networks.list_named(name[:-1]) == []


def test_networks_are_listed_by_label(world: World) -> None:
    key = world.name("label")
    red = world.engine.networks.create(world.name("net"), {key: "red"})
    blue = world.engine.networks.create(world.name("net"), {key: "blue"})

    assert [one.id for one in world.engine.networks.list({key: "red"})] == [red]
    assert {one.id for one in world.engine.networks.list({key: ""})} == {red, blue}


def test_a_taken_name_is_a_conflict(world: World) -> None:
    name = world.name("net")
    world.engine.networks.create(name, {})

    with pytest.raises(NameConflictError):
        world.engine.networks.create(name, {})


def test_twins_are_both_found_and_removed_by_id(world: World) -> None:
    name = world.name("net")
    first = world.engine.networks.create(name, {})
    second = world.twin_network(name)

    assert {one.id for one in world.engine.networks.list_named(name)} == {first, second}
    world.engine.networks.remove(second)
    assert [one.id for one in world.engine.networks.list_named(name)] == [first]


def test_ten_creates_of_one_name_make_networks_or_conflicts(world: World) -> None:
    """Docker 20.10 looks before it makes, so a race may make twins: the caller looks again."""
    name = world.name("net")

    def create(_number: int) -> str:
        try:
            return world.engine.networks.create(name, {})
        except NameConflictError:
            return ""

    with ThreadPoolExecutor(10) as pool:
        made = {network_id for network_id in pool.map(create, range(10)) if network_id}

    assert made
    assert {one.id for one in world.engine.networks.list_named(name)} == made


def test_a_network_tells_who_runs_on_it_and_stays_meanwhile(world: World) -> None:
    name = world.name("net")
    network_id = world.engine.networks.create(name, {})
    container_id = world.started(network=name)

    (found,) = world.engine.networks.list_named(name)
    assert found.containers == (container_id,)
    with pytest.raises(EngineError):
        world.engine.networks.remove(network_id)

    world.engine.containers.stop(container_id, 1)
    world.engine.networks.remove(network_id)
    world.engine.networks.remove(network_id)
    assert world.engine.networks.list_named(name) == []


def test_a_network_has_the_range_that_was_asked_for_and_no_other_has_it_too(world: World) -> None:
    named, chosen = world.name("net"), world.name("net")
    subnet = f"10.213.{secrets.randbelow(256)}.0/24"
    world.engine.networks.create(named, {}, subnet=subnet)
    world.engine.networks.create(chosen, {})

    (found,) = world.engine.networks.list_named(named)
    (other,) = world.engine.networks.list_named(chosen)

    assert found.subnets == (subnet,)
    assert other.subnets not in {(), (subnet,)}
    with pytest.raises(EngineError) as refused:
        world.engine.networks.create(world.name("net"), {}, subnet=subnet)
    assert "overlaps with other one" in f"{refused.value.brief} {refused.value.details}"
