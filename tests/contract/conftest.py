"""One suite for the fake engine and for a real one, so that the fake cannot drift."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import docker
import pytest

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineUnavailableError
from openshell_bootstrap.models import Completed, Container, ContainerSpec, Mount, PublishedPort
from tests.fakes.engine import FakeEngine
from tests.plugins.engine import TINY_IMAGE

DECLARING_IMAGE = "openshell/test-volumes:dev"
DECLARED_PATH = "/var/lib/declared"

PID_1 = """
trap 'exit 0' TERM
i=0
while [ "$i" -lt "${SAY:-0}" ]; do i=$((i + 1)); echo "line $i"; done
if [ -n "$EXIT" ]; then exit "$EXIT"; fi
while :; do sleep 0.05 & wait $!; done
"""
"""Says SAY lines, then ends with EXIT, or runs until TERM and ends with 0."""


@dataclass(frozen=True)
class World:
    """An engine, and what a test needs beside its protocol."""

    engine: Engine
    name: Callable[[str], str]
    twin_network: Callable[[str], str]
    restart_policy: Callable[[str], str]
    link: Callable[[str, str, str], None]
    is_real: bool

    def spec(
        self,
        name: str,
        *,
        environment: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        volumes: Mapping[str, str] | None = None,
        ports: tuple[PublishedPort, ...] = (),
        network: str = "",
        image: str = TINY_IMAGE,
    ) -> ContainerSpec:
        return ContainerSpec(
            name=name,
            image=image,
            hostname="node",
            entrypoint=("/bin/sh", "-c"),
            command=(PID_1,),
            environment=environment or {},
            labels=labels or {},
            mounts=tuple(
                Mount(kind="volume", source=source, target=target)
                for source, target in (volumes or {}).items()
            ),
            ports=ports,
            network=network,
        )

    def made(self, stem: str = "box", **wanted: object) -> str:
        """The id of a new container."""
        return self.engine.containers.create(self.spec(self.name(stem), **wanted))

    def started(self, stem: str = "box", **wanted: object) -> str:
        """The id of a new container that runs."""
        container_id = self.made(stem, **wanted)
        self.engine.containers.start(container_id)
        return container_id

    def seen(self, container_id: str) -> Container:
        found = self.engine.containers.find(container_id)
        assert found is not None
        return found


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.engine)])
def world(request: pytest.FixtureRequest) -> World:
    """The fake engine always, the real one where there is one."""
    if request.param == "fake":
        return fake_world()
    return docker_world(request)


def fake_world() -> World:
    engine = FakeEngine()
    engine.add_image(TINY_IMAGE)
    engine.add_image(DECLARING_IMAGE, declared_volumes=[DECLARED_PATH])

    def say_and_end(container: Container) -> None:
        count = int(container.environment.get("SAY", "0"))
        engine.write_log(container.id, *(f"line {i + 1}".encode() for i in range(count)))
        if "EXIT" in container.environment:
            engine.end(container.id, int(container.environment["EXIT"]))

    engine.on_start(say_and_end)
    engine.on_exec(_fake_shell)
    return World(
        engine=engine,
        name=lambda stem: f"{stem}-{engine.state.new_id()[:6]}",
        twin_network=engine.add_network,
        restart_policy=lambda ref: engine.box(ref).restart_policy,
        link=lambda ref, path, target: engine.files(ref).root.link(path, target),
        is_real=False,
    )


def docker_world(request: pytest.FixtureRequest) -> World:
    engine: Engine = request.getfixturevalue("engine")
    client: docker.DockerClient = request.getfixturevalue("docker_client")
    tiny_image = request.getfixturevalue("tiny_image")
    _ensure_declaring_image(client, tiny_image)

    def link(ref: str, path: str, target: str) -> None:
        done = engine.containers.exec(ref, ["ln", "-s", target, path])
        assert done.exit_status == 0

    def twin(name: str) -> str:
        # Only to the API before 1.44 may a client say that twins are wanted.
        return str(client.api.create_network(name, check_duplicate=False)["Id"])

    def restart_policy(ref: str) -> str:
        return str(client.containers.get(ref).attrs["HostConfig"]["RestartPolicy"]["Name"])

    return World(
        engine=engine,
        name=request.getfixturevalue("unique_name"),
        twin_network=twin,
        restart_policy=restart_policy,
        link=link,
        is_real=True,
    )


def _ensure_declaring_image(client: docker.DockerClient, tiny_image: str) -> None:
    if client.images.list(DECLARING_IMAGE):
        return
    container = client.containers.create(tiny_image)
    repository, _, tag = DECLARING_IMAGE.partition(":")
    container.commit(repository, tag, changes=f"VOLUME {DECLARED_PATH}")
    container.remove()


def _fake_shell(_container: Container, argv: tuple[str, ...], stdin: bytes) -> Completed:
    match argv:
        case ("cat",):
            return Completed(argv, 0, stdin, b"")
        case ("sleep", _):
            raise EngineUnavailableError("The Docker engine does not answer")
        case ("sh", "-c", "echo out; echo err >&2; exit 3"):
            return Completed(argv, 3, b"out\n", b"err\n")
        case _:
            return Completed(argv, 127, f"{argv[0]}: executable file not found".encode(), b"")
