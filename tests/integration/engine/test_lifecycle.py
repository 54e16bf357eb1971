"""What the fake does not do by itself: restarts, health, races, namespaces."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import docker
import pytest

from openshell_bootstrap.engine.docker import DockerEngine
from openshell_bootstrap.errors import ContainerNotRunningError, EngineError
from openshell_bootstrap.models import Container, ContainerSpec, FileEntry, Patience
from openshell_bootstrap.waits import wait_until
from tests.integration.engine.test_transport import SLEEPER

SOON = Patience(timeout_s=20, interval_s=0.05)


@pytest.fixture
def spec(tiny_image: str, unique_name: Callable[[str], str]) -> ContainerSpec:
    return replace(SLEEPER, name=unique_name("box"), image=tiny_image)


def started(engine: DockerEngine, spec: ContainerSpec) -> str:
    container_id = engine.containers.create(spec)
    engine.containers.start(container_id)
    return container_id


def wait_for(
    engine: DockerEngine, container_id: str, ready: Callable[[Container], bool]
) -> Container:
    def look() -> Container:
        found = engine.containers.find(container_id)
        assert found is not None
        return found

    return wait_until(look, ready, patience=SOON, what="the container")


def test_a_container_that_the_engine_restarts(engine: DockerEngine, spec: ContainerSpec) -> None:
    container_id = started(
        engine,
        replace(
            spec,
            entrypoint=("sh", "-c"),
            command=("echo refused; exit 78",),
            restart_policy="unless-stopped",
        ),
    )

    seen = wait_for(
        engine, container_id, lambda one: one.status == "restarting" and one.restart_count > 1
    )

    assert seen.is_up
    assert seen.exit_code == 78
    with pytest.raises(ContainerNotRunningError):
        engine.containers.exec(container_id, ["true"])
    engine.containers.stop(container_id, 5)
    wait_for(engine, container_id, lambda one: one.status == "exited")
    assert set(engine.containers.logs(container_id)) == {b"refused"}


def test_what_a_health_check_says(engine: DockerEngine, spec: ContainerSpec) -> None:
    container_id = started(
        engine, replace(spec, health_command=("echo", "node is ready"), health_interval_s=0.2)
    )

    seen = wait_for(engine, container_id, lambda one: one.health.status == "healthy")

    assert (seen.health.output, seen.health.probes[0].exit_code) == ("node is ready", 0)


def test_one_that_is_removed_by_many_is_gone_for_each(
    engine: DockerEngine, spec: ContainerSpec
) -> None:
    container_id = started(engine, spec)

    def remove(_number: int) -> Container | None:
        engine.containers.remove(container_id, force=True)
        return engine.containers.find(container_id)

    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(remove, range(5))) == [None] * 5


def test_a_container_killed_under_a_command_ends_it(
    engine: DockerEngine, spec: ContainerSpec
) -> None:
    container_id = started(engine, spec)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(engine.containers.exec, container_id, ["sleep", "500"])
        wait_until(
            lambda: engine.containers.exec(container_id, ["ps"]).stdout,
            lambda listed: b"sleep 500" in listed,
            patience=SOON,
            what="the command",
        )
        engine.containers.stop(container_id, 0)
        try:
            status = running.result(timeout=20).exit_status
        except EngineError as error:
            assert error.transient  # noqa: PT017  # either is an honest answer
        else:
            assert status != 0


@pytest.mark.parametrize("namespace", ["private", "host"])
def test_a_privileged_container_gets_the_cgroup_namespace_that_was_asked_for(
    engine: DockerEngine, docker_client: docker.DockerClient, spec: ContainerSpec, namespace: str
) -> None:
    container_id = started(engine, replace(spec, privileged=True, cgroup_namespace=namespace))

    attrs = docker_client.containers.get(container_id).attrs["HostConfig"]

    assert (attrs["CgroupnsMode"], attrs["Privileged"]) == (namespace, True)


def test_a_container_without_a_network_has_none(engine: DockerEngine, spec: ContainerSpec) -> None:
    container_id = started(engine, spec)

    found = engine.containers.find(container_id)

    assert found is not None
    assert found.attachments == ()


def test_extra_hosts_and_environment_reach_the_container(
    engine: DockerEngine, spec: ContainerSpec, unique_name: Callable[[str], str]
) -> None:
    network = unique_name("net")
    engine.networks.create(network, {})
    container_id = started(
        engine,
        replace(spec, network=network, extra_hosts={"host.openshell.internal": "host-gateway"}),
    )

    hosts = engine.containers.exec(container_id, ["cat", "/etc/hosts"])
    said = engine.containers.exec(container_id, ["sh", "-c", "echo $A"], environment={"A": "b c"})

    assert b"host.openshell.internal" in hosts.stdout
    assert said.stdout == b"b c\n"


def test_a_file_that_is_too_big_is_refused(engine: DockerEngine, spec: ContainerSpec) -> None:
    container_id = engine.containers.create(spec)
    engine.containers.put_files(container_id, [FileEntry("/big/file", b"\0" * (17 << 20))])

    with pytest.raises(EngineError, match="16 MiB"):
        engine.containers.get_file(container_id, "/big/file")
    listed = engine.containers.get_files(container_id, "/big")
    assert listed is not None
    assert len(listed) == 2


def test_a_device_or_a_circle_of_links_is_no_file(
    engine: DockerEngine, spec: ContainerSpec
) -> None:
    container_id = started(engine, spec)
    engine.containers.exec(container_id, ["sh", "-c", "mkfifo /pipe; ln -s /b /a; ln -s /a /b"])

    assert engine.containers.get_file(container_id, "/pipe") is None
    with pytest.raises(EngineError):
        engine.containers.get_file(container_id, "/a")
