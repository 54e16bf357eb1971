from concurrent.futures import ThreadPoolExecutor

import pytest

from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    EngineError,
    NameConflictError,
    NoSuchContainerError,
    NoSuchImageError,
    NoSuchNetworkError,
    PortConflictError,
)
from openshell_bootstrap.models import Container, Patience, PublishedPort
from openshell_bootstrap.waits import wait_until
from tests.contract.conftest import DECLARED_PATH, DECLARING_IMAGE, World

SOON = Patience(timeout_s=10, interval_s=0.05)


def ended(world: World, container_id: str) -> Container:
    return wait_until(
        lambda: world.seen(container_id),
        lambda seen: seen.status == "exited",
        patience=SOON,
        what="the container's end",
    )


def test_a_new_container_tells_what_it_was_made_of(world: World) -> None:
    name = world.name("box")
    volume = world.name("data")
    wanted = world.spec(
        name,
        environment={"A": "b=c"},
        labels={"color": "red"},
        volumes={volume: "/data"},
        ports=(PublishedPort("127.0.0.1", 0, 6443),),
    )

    container_id = world.engine.containers.create(wanted)

    seen = world.seen(name)
    assert seen == world.seen(container_id)
    assert (seen.id, seen.name, seen.image, seen.status) == (
        container_id,
        name,
        wanted.image,
        "created",
    )
    assert (seen.hostname, dict(seen.labels)) == ("node", {"color": "red"})
    assert seen.environment["A"] == "b=c"
    assert seen.mounts == wanted.mounts
    assert seen.ports == wanted.ports
    assert seen.command == (*wanted.entrypoint, *wanted.command)
    assert not seen.has_started
    assert not seen.is_up


def test_a_look_up_takes_no_part_of_a_name_or_id(world: World) -> None:
    name = world.name("box")
    container_id = world.engine.containers.create(world.spec(name))

    assert world.engine.containers.find(container_id[:12]) is None
    assert world.engine.containers.find(name[:-1]) is None
    assert world.engine.containers.find(f"{name}-old") is None


def test_a_taken_name_is_a_conflict(world: World) -> None:
    name = world.name("box")
    world.engine.containers.create(world.spec(name))

    with pytest.raises(NameConflictError):
        world.engine.containers.create(world.spec(name))


def test_one_of_ten_creates_of_one_name_wins(world: World) -> None:
    name = world.name("box")

    def create(_number: int) -> str:
        try:
            return world.engine.containers.create(world.spec(name))
        except NameConflictError:
            return ""

    with ThreadPoolExecutor(10) as pool:
        ids = [made for made in pool.map(create, range(10)) if made]

    assert ids == [world.seen(name).id]


def test_an_absent_image_is_never_pulled(world: World) -> None:
    with pytest.raises(NoSuchImageError):
        world.engine.containers.create(world.spec(world.name("box"), image="no-such-image:dev"))


def test_containers_are_listed_by_label_running_or_not(world: World) -> None:
    key = world.name("label")
    red = world.made(labels={key: "red"})
    blue = world.started(labels={key: "blue"})

    def ids(**wanted: str) -> set[str]:
        return {one.id for one in world.engine.containers.list({key: wanted["value"]})}

    assert ids(value="red") == {red}
    assert ids(value="") == {red, blue}
    assert {red, blue} <= {one.id for one in world.engine.containers.list()}


def test_users_of_a_volume_are_found_by_its_exact_name(world: World) -> None:
    volume = world.name("data")
    user = world.made(volumes={volume: "/data"})
    world.made(volumes={f"{volume}-old": "/data"})
    world.made(volumes={world.name("other"): f"/{volume}"})

    assert [one.id for one in world.engine.containers.using_volume(volume)] == [user]
    assert not world.engine.containers.using_volume(world.name("nobody"))


def test_start_and_stop_may_be_repeated(world: World) -> None:
    container_id = world.made()
    containers = world.engine.containers

    containers.start(container_id)
    containers.start(container_id)
    assert world.seen(container_id).status == "running"
    assert world.seen(container_id).has_started

    containers.stop(container_id, 10)
    containers.stop(container_id, 10)
    stopped = world.seen(container_id)
    assert (stopped.status, stopped.exit_code, stopped.has_started) == ("exited", 0, True)


def test_an_exit_code_is_told(world: World) -> None:
    container_id = world.started(environment={"EXIT": "78"})

    assert ended(world, container_id).exit_code == 78


def test_a_paused_container_is_up_and_runs_no_command(world: World) -> None:
    container_id = world.started()
    containers = world.engine.containers

    containers.pause(container_id)

    assert world.seen(container_id).status == "paused"
    assert world.seen(container_id).is_up
    with pytest.raises(ContainerNotRunningError):
        containers.exec(container_id, ["cat"])
    with pytest.raises(EngineError):
        containers.start(container_id)
    with pytest.raises(EngineError):
        containers.remove(container_id)
    containers.unpause(container_id)
    containers.unpause(container_id)
    assert world.seen(container_id).status == "running"


def test_a_paused_container_can_be_stopped(world: World) -> None:
    container_id = world.started()
    world.engine.containers.pause(container_id)

    world.engine.containers.stop(container_id, 1)

    assert world.seen(container_id).status == "exited"


def test_only_what_runs_can_be_paused(world: World) -> None:
    with pytest.raises(ContainerNotRunningError):
        world.engine.containers.pause(world.made())


def test_rename_changes_the_name_only(world: World) -> None:
    container_id = world.started()
    name = world.name("aside")

    world.engine.containers.rename(container_id, name)

    assert world.seen(name).id == container_id
    assert world.seen(name).status == "running"


def test_rename_to_a_taken_name_is_a_conflict(world: World) -> None:
    taken = world.name("box")
    world.engine.containers.create(world.spec(taken))

    with pytest.raises(NameConflictError):
        world.engine.containers.rename(world.made(), taken)


def test_the_restart_policy_can_be_changed(world: World) -> None:
    container_id = world.started()

    world.engine.containers.set_restart_policy(container_id, "unless-stopped")
    assert world.restart_policy(container_id) == "unless-stopped"

    world.engine.containers.set_restart_policy(container_id, "no")
    assert world.restart_policy(container_id) == "no"


def test_remove_wants_force_for_what_runs_and_nothing_for_what_is_gone(world: World) -> None:
    container_id = world.started()
    containers = world.engine.containers

    with pytest.raises(EngineError):
        containers.remove(container_id)
    containers.remove(container_id, force=True)
    containers.remove(container_id, force=True)

    assert containers.find(container_id) is None


def test_remove_takes_anonymous_volumes_when_asked_and_named_ones_never(world: World) -> None:
    named = world.name("data")
    both = {
        volumes: world.made(image=DECLARING_IMAGE, volumes={named: "/data"})
        for volumes in (True, False)
    }
    anonymous = {
        volumes: next(
            mount.source
            for mount in world.seen(container_id).mounts
            if mount.target == DECLARED_PATH
        )
        for volumes, container_id in both.items()
    }

    for volumes, container_id in both.items():
        world.engine.containers.remove(container_id, volumes=volumes)

    assert world.engine.volumes.find(anonymous[True]) is None
    assert world.engine.volumes.find(anonymous[False]) is not None
    assert world.engine.volumes.find(named) is not None
    world.engine.volumes.remove(anonymous[False])


def test_a_mounted_path_needs_no_anonymous_volume(world: World) -> None:
    container_id = world.made(image=DECLARING_IMAGE, volumes={world.name("own"): DECLARED_PATH})

    assert len(world.seen(container_id).mounts) == 1


def test_a_published_port_is_chosen_by_the_engine_and_told(world: World) -> None:
    container_id = world.started(
        network=network_of(world), ports=(PublishedPort("127.0.0.1", 0, 80),)
    )

    (port,) = world.seen(container_id).ports

    assert port.host_port > 0
    assert (port.address, port.container_port) == ("127.0.0.1", 80)


def test_a_port_in_use_is_a_port_conflict(world: World) -> None:
    network = network_of(world)
    holder = world.started(network=network, ports=(PublishedPort("127.0.0.1", 0, 80),))
    (taken,) = world.seen(holder).ports
    late = world.made(network=network, ports=(PublishedPort("127.0.0.1", taken.host_port, 80),))

    with pytest.raises(PortConflictError):
        world.engine.containers.start(late)

    world.engine.containers.stop(holder, 1)
    world.engine.containers.start(late)
    assert world.seen(late).ports == (taken,)
    assert world.seen(holder).is_up is False


def test_a_stopped_container_tells_the_ports_that_it_was_made_with(world: World) -> None:
    wanted = PublishedPort("127.0.0.1", 24443, 6443)
    container_id = world.made(network=network_of(world), ports=(wanted,))

    assert world.seen(container_id).ports == (wanted,)


def test_a_container_keeps_the_id_of_its_network(world: World) -> None:
    name = world.name("net")
    first = world.engine.networks.create(name, {})
    container_id = world.started(network=name)
    (attachment,) = world.seen(container_id).attachments
    assert (attachment.network, attachment.network_id) == (name, first)
    assert attachment.address

    world.engine.containers.stop(container_id, 1)
    world.engine.networks.remove(first)
    second = world.engine.networks.create(name, {})

    assert second != first
    assert [one.network_id for one in world.seen(container_id).attachments] == [first]
    with pytest.raises(NoSuchNetworkError):
        world.engine.containers.start(container_id)
    assert first in world.seen(container_id).error


def test_a_container_that_never_started_meets_its_network_by_name(world: World) -> None:
    name = world.name("net")
    gone = world.engine.networks.create(name, {})
    container_id = world.made(network=name)
    world.engine.networks.remove(gone)
    present = world.engine.networks.create(name, {})

    world.engine.containers.start(container_id)

    assert [one.network_id for one in world.seen(container_id).attachments] == [present]


def test_a_missing_container_is_told_from_one_that_is_not_running(world: World) -> None:
    nobody = world.name("nobody")
    containers = world.engine.containers

    for call in (
        lambda: containers.start(nobody),
        lambda: containers.stop(nobody, 1),
        lambda: containers.pause(nobody),
        lambda: containers.unpause(nobody),
        lambda: containers.rename(nobody, world.name("other")),
        lambda: containers.set_restart_policy(nobody, "no"),
        lambda: containers.exec(nobody, ["cat"]),
        lambda: containers.put_files(nobody, []),
        lambda: containers.get_file(nobody, "/etc/hosts"),
        lambda: containers.get_files(nobody, "/etc"),
        lambda: list(containers.logs(nobody)),
    ):
        with pytest.raises(NoSuchContainerError):
            call()
    assert containers.find(nobody) is None


def network_of(world: World) -> str:
    name = world.name("net")
    world.engine.networks.create(name, {})
    return name
