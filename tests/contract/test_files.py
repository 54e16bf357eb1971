import pytest

from openshell_bootstrap.models import FileEntry
from tests.contract.conftest import World


def test_files_are_put_into_a_container_that_never_started(world: World) -> None:
    container_id = world.made()
    script = FileEntry("/opt/some/where/run.sh", b"#!/bin/sh\n", 0o755)
    secret = FileEntry("/opt/some/secret", b"s", 0o600)

    world.engine.containers.put_files(container_id, [secret, script])

    assert world.engine.containers.get_file(container_id, script.path) == script
    assert world.engine.containers.get_file(container_id, secret.path) == secret
    assert world.engine.containers.get_files(container_id, "/opt/some") == [
        FileEntry("/opt/some", None, 0o755),
        secret,
        FileEntry("/opt/some/where", None, 0o755),
        script,
    ]


def test_a_later_put_replaces_a_file(world: World) -> None:
    container_id = world.made()

    for file in (FileEntry("/a", b"long content", 0o600), FileEntry("/a", b"", 0o644)):
        world.engine.containers.put_files(container_id, [file])

        assert world.engine.containers.get_file(container_id, "/a") == file


def test_files_below_a_mount_are_the_volumes(world: World) -> None:
    volume = world.name("data")
    first = world.made(volumes={volume: "/var/lib/data"})
    file = FileEntry("/var/lib/data/deep/gateway.json", b"{}", 0o600)

    world.engine.containers.put_files(first, [file])
    world.engine.containers.remove(first, volumes=True)
    second = world.made(volumes={volume: "/elsewhere"})

    read = world.engine.containers.get_file(second, "/elsewhere/deep/gateway.json")
    assert read == FileEntry("/elsewhere/deep/gateway.json", b"{}", 0o600)


@pytest.mark.parametrize("runs", [True, False])
def test_a_running_container_has_the_same_files(world: World, *, runs: bool) -> None:
    volume = world.name("data")
    container_id = world.started(volumes={volume: "/data"})
    world.engine.containers.put_files(container_id, [FileEntry("/data/a", b"1", 0o600)])
    if not runs:
        world.engine.containers.stop(container_id, 1)

    assert world.engine.containers.get_file(container_id, "/data/a") == FileEntry(
        "/data/a", b"1", 0o600
    )


def test_an_existing_folder_keeps_its_mode(world: World) -> None:
    container_id = world.made()
    put = world.engine.containers.put_files

    put(container_id, [FileEntry("/private", None, 0o700)])
    put(container_id, [FileEntry("/private", None, 0o755), FileEntry("/private/a", b"1")])

    assert world.engine.containers.get_files(container_id, "/private") == [
        FileEntry("/private", None, 0o700),
        FileEntry("/private/a", b"1"),
    ]


def test_links_are_followed_inside_the_container(world: World) -> None:
    volume = world.name("data")
    container_id = world.started(volumes={volume: "/data"})
    get_file = world.engine.containers.get_file
    world.engine.containers.put_files(container_id, [FileEntry("/data/node/password", b"p", 0o600)])
    world.link(container_id, "/node", "/data/node")
    world.link(container_id, "/password", "data/node/password")
    world.link(container_id, "/dangling", "/nowhere")

    assert get_file(container_id, "/node/password") == FileEntry("/node/password", b"p", 0o600)
    assert get_file(container_id, "/password") == FileEntry("/password", b"p", 0o600)
    assert get_file(container_id, "/dangling") is None
    assert world.engine.containers.get_files(container_id, "/node") == [
        FileEntry("/node", None, 0o755),
        FileEntry("/node/password", b"p", 0o600),
    ]


def test_a_file_is_put_through_a_link(world: World) -> None:
    volume = world.name("data")
    container_id = world.started(volumes={volume: "/data"})
    world.engine.containers.put_files(container_id, [FileEntry("/data/node", None)])
    world.link(container_id, "/node", "/data/node")

    world.engine.containers.put_files(container_id, [FileEntry("/node/id", b"1")])

    assert world.engine.containers.get_file(container_id, "/data/node/id") is not None


def test_what_is_not_there_is_none(world: World) -> None:
    container_id = world.made()
    world.engine.containers.put_files(container_id, [FileEntry("/folder/file", b"")])
    containers = world.engine.containers

    assert containers.get_file(container_id, "/folder/none") is None
    assert containers.get_file(container_id, "/none/none") is None
    assert containers.get_file(container_id, "/folder") is None
    assert containers.get_files(container_id, "/none") is None
    assert containers.get_files(container_id, "/folder/file") is None


def test_files_of_megabytes_pass(world: World) -> None:
    container_id = world.made()
    file = FileEntry("/big", b"0123456789abcdef" * (8 << 16))

    world.engine.containers.put_files(container_id, [file])

    assert world.engine.containers.get_file(container_id, "/big") == file
