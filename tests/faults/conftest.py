"""A stage in memory; and on an engine one gateway with data, and what others have beside it."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker as docker_library
import pytest

from tests.faults.engine_operations import Place, look_at_foreign
from tests.faults.stage import Stage, staged
from tests.integration.gateway.driver import Command, Gateway, docker
from tests.integration.gateway.witness import Witness
from tests.plugins.engine import NAMES, RUN_LABEL, Remains


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    memory = Path("/dev/shm")  # a file system that is faster than most disks
    place = memory if memory.is_dir() else tmp_path
    with TemporaryDirectory(dir=place) as folder, staged(Path(folder), monkeypatch) as made:
        yield made


@pytest.fixture(scope="module")
def place(  # noqa: PLR0917 - they are fixtures
    request: pytest.FixtureRequest,
    node_image: str,
    tiny_image: str,
    run_id: str,
    docker_client: docker_library.DockerClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    environment = {"OPENSHELL_NODE_IMAGE": node_image, "XDG_STATE_HOME": str(home / "state")}
    command = Command(home, environment)
    made: list[str] = []
    request.node.stash[NAMES] = made  # for the report of a test that fails

    def make() -> Gateway:
        made.append(f"t{run_id}-{secrets.token_hex(2)}")
        return Gateway(command, made[-1])

    gateway = make()
    gateway.start()
    foreign = make_foreign(f"{gateway.container}x", f"{RUN_LABEL}={run_id}", tiny_image)
    yield Place(Witness(gateway), make, node_image, tiny_image, foreign)
    if not request.config.getoption("--keep"):
        Remains(docker_client, tuple(made)).remove()


def make_foreign(name: str, label: str, image: str) -> dict[str, str]:
    """A container on a volume and a network, all of that name; gone with the session."""
    docker("volume", "create", "--label", label, name)
    docker("network", "create", "--label", label, name)
    options = ["--detach", f"--name={name}", f"--label={label}", "--stop-timeout=0"]
    docker("run", *options, f"--volume={name}:/x", f"--network={name}", image, "sleep", "100000")
    return look_at_foreign((name, name, name))
