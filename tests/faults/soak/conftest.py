"""One private engine for the tests of this folder; gateways on it may meet anything."""

import os
from collections.abc import Iterator

import pytest

from tests.faults.soak.private_engine import PrivateEngine
from tests.integration.gateway.driver import Command
from tests.plugins.engine import missing

DISK = "8G"
PRIVATE = pytest.StashKey[PrivateEngine]()


@pytest.fixture(scope="session")
def private_engine(
    request: pytest.FixtureRequest,
    node_image: str,
    tiny_image: str,
) -> Iterator[PrivateEngine]:
    """An engine on a disk of 8 GiB, with the images that tests need."""
    if os.geteuid() != 0:
        missing(request.config, "only root may start engines")
    made = PrivateEngine(DISK)
    request.config.stash[PRIVATE] = made
    made.load(node_image, tiny_image)
    yield made
    made.close()


@pytest.fixture(scope="module")
def command(
    private_engine: PrivateEngine, node_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Command:
    """The command of a user of the private engine, in the network of that engine's machine."""
    environment = {"OPENSHELL_NODE_IMAGE": node_image, "DOCKER_HOST": private_engine.host}
    return Command(tmp_path_factory.mktemp("home"), environment, tuple(private_engine.prefix))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Tell with a failure what is on the private engine, and what its nodes say."""
    report = yield
    engine = item.config.stash.get(PRIVATE, None)
    if report.failed and engine is not None:
        report.sections.append(("private engine", _told(engine)))
    return report


def _told(engine: PrivateEngine) -> str:
    def say(*words: str) -> str:
        done = engine.run("docker", *words, check=False)
        return f"$ docker {' '.join(words)}\n{done.stdout}{done.stderr}"

    names = engine.run("docker", "ps", "-a", "--format", "{{.Names}}", check=False).stdout.split()
    nodes = [name for name in names if name.startswith("openshell-cluster-")]
    told = [say("ps", "-a"), engine.run("df", engine.folder / "data", check=False).stdout]
    for name in nodes:
        told.append(say("inspect", "-f", "{{json .State}}", name))
        told.append(say("logs", "--tail", "80", name))
        told.append(say("exec", name, "kubectl", "get", "nodes,pods,pvc", "-A", "-o", "wide"))
    return "\n".join(told)
