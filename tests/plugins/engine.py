"""The engine under test, and everything that must not be left on it."""

import contextlib
import io
import os
import re
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import docker
import docker.errors
import pytest

from openshell_bootstrap.engine.connection import tls_config
from openshell_bootstrap.engine.docker import DockerEngine
from openshell_bootstrap.engine.endpoint import resolve
from openshell_bootstrap.errors import BootstrapError
from openshell_bootstrap.names import LABEL_GATEWAY
from openshell_bootstrap.settings import read_settings
from tests.plugins.tiers import is_required, is_worker

RUN_LABEL = "openshell.ai/test-run"
TINY_IMAGE = "openshell/test-busybox:dev"
NODE_IMAGE = "openshell/source-node:dev"
LOG_LINES = 50
NAMES = pytest.StashKey[list[str]]()
CLIENT = pytest.StashKey[docker.DockerClient]()
ANONYMOUS_BEFORE = pytest.StashKey[set[str]]()
ANONYMOUS_LEFT = pytest.StashKey[list[str]]()

ANONYMOUS = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Remains:
    """What one run, or one test of it, made on the engine."""

    client: docker.DockerClient
    words: tuple[str, ...]
    labels: dict[str, str] = field(default_factory=dict)

    def containers(self) -> list[Any]:
        return [one for one in self._listed_containers() if self._is_ours(one.name, one.labels)]

    def volumes(self) -> list[Any]:
        return [
            one
            for one in self.client.volumes.list()
            if self._is_ours(one.name, one.attrs.get("Labels"))
        ]

    def networks(self) -> list[Any]:
        return [
            one
            for one in self.client.networks.list()
            if self._is_ours(one.name, one.attrs.get("Labels"))
        ]

    def names(self) -> list[str]:
        found = [*self.containers(), *self.volumes(), *self.networks()]
        return [f"{type(one).__name__.lower()} {one.name}" for one in found]

    def remove(self) -> None:
        """Containers first: they hold the others."""
        for container in self.containers():
            with contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)
        for volume in self.volumes():
            with contextlib.suppress(docker.errors.NotFound):
                volume.remove()
        for network in self.networks():
            with contextlib.suppress(docker.errors.NotFound):
                network.remove()

    def _listed_containers(self) -> Iterator[Any]:
        """One that goes away during the list is none; the library's own list would raise."""
        for one in self.client.containers.list(all=True, sparse=True):
            with contextlib.suppress(docker.errors.NotFound):
                yield self.client.containers.get(str(one.id))

    def _is_ours(self, name: str | None, labels: dict[str, str] | None) -> bool:
        labels = labels or {}
        if any(labels.get(key) == value for key, value in self.labels.items()):
            return True
        spoken = f"{name} {labels.get(LABEL_GATEWAY, '')}"
        return any(re.search(rf"(?<![a-z0-9]){re.escape(word)}\b", spoken) for word in self.words)


@pytest.fixture(scope="session")
def run_id() -> str:
    """Six digits that are in the name of everything that this session makes on the engine."""
    return secrets.token_hex(3)


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[DockerEngine]:
    """The product's adapter on the engine that the ``docker`` command would use."""
    if request.config.getoption("--engine") == "off":
        pytest.skip("--engine=off")
    made = DockerEngine.at(read_settings().docker)
    try:
        made.info()
    except BootstrapError as error:
        missing(request.config, f"{error.brief}: {error.details}")
    yield made
    made.close()


@pytest.fixture(scope="session")
def docker_client(
    request: pytest.FixtureRequest, engine: DockerEngine, run_id: str
) -> Iterator[docker.DockerClient]:
    """The engine as seen from outside the product. At the end nothing of the run is left."""
    endpoint = engine.connection.endpoint
    client = docker.DockerClient(base_url=endpoint.url, tls=tls_config(endpoint.tls))
    request.config.stash[CLIENT] = client
    yield client
    if not request.config.getoption("--keep"):
        ours = Remains(client, (f"t{run_id}", run_id), {RUN_LABEL: run_id})
        ours.remove()
        assert not ours.names(), "left on the engine by this run"
    client.close()


@pytest.fixture
def remains(
    request: pytest.FixtureRequest, docker_client: docker.DockerClient
) -> Iterator[list[str]]:
    """Words: whatever bears one of them in its name is removed after the test."""
    words: list[str] = []
    request.node.stash[NAMES] = words
    yield words
    if words and not request.config.getoption("--keep"):
        Remains(docker_client, tuple(words)).remove()


@pytest.fixture
def gateway_name(run_id: str, remains: list[str]) -> Callable[[], str]:
    """Makes names of gateways; all that comes to bear one is removed after the test."""

    def make() -> str:
        remains.append(f"t{run_id}-{secrets.token_hex(2)}")
        return remains[-1]

    return make


@pytest.fixture
def unique_name(run_id: str, remains: list[str]) -> Callable[[str], str]:
    """Makes names of foreign containers, volumes and networks: removed after the test too."""

    def make(stem: str) -> str:
        remains.append(f"{stem}-t{run_id}-{secrets.token_hex(2)}")
        return remains[-1]

    return make


@pytest.fixture(scope="session")
def run_labels(run_id: str) -> dict[str, str]:
    """Labels for what lives longer than a test: removed at the end of the session."""
    return {RUN_LABEL: run_id}


@pytest.fixture(scope="session")
def tiny_image(request: pytest.FixtureRequest, docker_client: docker.DockerClient) -> str:
    """An image of busybox and nothing else, made here: no registry is asked."""
    try:
        docker_client.images.get(TINY_IMAGE)
    except docker.errors.ImageNotFound:
        repository, _, tag = TINY_IMAGE.partition(":")
        docker_client.api.import_image_from_data(
            _root_of_busybox(_busybox(request.config)),
            repository=repository,
            tag=tag,
            changes=["ENV PATH=/bin", 'CMD ["/bin/sh"]'],
        )
    return TINY_IMAGE


@pytest.fixture(scope="session")
def node_image(request: pytest.FixtureRequest, engine: DockerEngine) -> str:
    """The node image under test, which the engine must have."""
    reference = read_settings().node_image or NODE_IMAGE
    if engine.images.find(reference) is None:
        missing(request.config, f"the engine has no image {reference}: `make node-image`")
    return reference


def pytest_sessionstart(session: pytest.Session) -> None:
    """Note the nameless volumes that are there already: nothing else tells them apart."""
    config = session.config
    if is_required(config) and not is_worker(config):
        config.stash[ANONYMOUS_BEFORE] = _anonymous()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that left a nameless volume, once all its processes have tidied up."""
    before = session.config.stash.get(ANONYMOUS_BEFORE, None)
    if before is None or session.config.getoption("--keep"):
        return
    left = session.config.stash[ANONYMOUS_LEFT] = sorted(_anonymous() - before)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in terminalreporter.config.stash.get(ANONYMOUS_LEFT, ()):
        terminalreporter.write_line(f"nameless volume left on the engine: {name}", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a failure what the containers of the test were doing."""
    report = yield
    words = [word for node in item.listchain() for word in node.stash.get(NAMES, [])]
    client = item.config.stash.get(CLIENT, None)
    if report.failed and words and client is not None:
        for container in Remains(client, tuple(words)).containers():
            report.sections.append((f"container {container.name}", _told(container)))
    return report


def _told(container: Any) -> str:
    log = container.logs(tail=LOG_LINES).decode(errors="replace")
    return f"{container.attrs['State']}\n{container.attrs['NetworkSettings']['Networks']}\n{log}"


def missing(config: pytest.Config, reason: str) -> NoReturn:
    """Skip a test for what this machine lacks; fail it where nothing may be missing."""
    if is_required(config):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _anonymous() -> set[str]:
    """Nameless volumes that no container uses; none where no engine answers."""
    try:
        endpoint = resolve(read_settings().docker)
        with contextlib.closing(
            docker.DockerClient(base_url=endpoint.url, tls=tls_config(endpoint.tls))
        ) as client:
            volumes = client.volumes.list(filters={"dangling": True})
    except (BootstrapError, docker.errors.DockerException, OSError):
        return set()
    return {one.name for one in volumes if ANONYMOUS.fullmatch(one.name)}


def _busybox(config: pytest.Config) -> Path:
    found = shutil.which("busybox")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-qq", "busybox-static"], check=True)
        found = shutil.which("busybox")
    if found is None:
        missing(config, "there is no busybox: install busybox-static")
    return Path(found)


def _root_of_busybox(busybox: Path) -> bytes:
    applets = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in ("bin", "etc", "proc", "sys", "dev", "tmp", "var", "var/lib"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(busybox, "bin/busybox")
        for applet in applets.stdout.split():
            if applet != "busybox":
                entry = tarfile.TarInfo(f"bin/{applet}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(entry)
    return buffer.getvalue()
