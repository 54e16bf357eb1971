"""Gateways on the real engine and the real node image, driven by the installed command."""

import secrets
from collections.abc import Callable, Iterator

import docker
import pytest

from tests.integration.gateway.driver import Command, Gateway
from tests.plugins.engine import NAMES, Remains


@pytest.fixture(scope="module")
def command(node_image: str, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command of one user, who has set the node image."""
    return Command(tmp_path_factory.mktemp("home"), {"OPENSHELL_NODE_IMAGE": node_image})


@pytest.fixture(scope="module")
def make_gateway(
    request: pytest.FixtureRequest,
    command: Command,
    run_id: str,
    docker_client: docker.DockerClient,
) -> Iterator[Callable[[], Gateway]]:
    """Makes gateways that live as long as their module; nothing is started by this."""
    made: list[str] = []
    request.node.stash[NAMES] = made  # for the report of a test that fails

    def make() -> Gateway:
        made.append(f"t{run_id}-{secrets.token_hex(2)}")
        return Gateway(command, made[-1])

    yield make
    if made and not request.config.getoption("--keep"):
        Remains(docker_client, tuple(made)).remove()
