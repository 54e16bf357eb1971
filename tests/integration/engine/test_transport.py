"""The same engine over the sockets that an engine can be reached by."""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from openshell_bootstrap.engine.docker import DockerEngine
from openshell_bootstrap.errors import EngineUnavailableError
from openshell_bootstrap.models import ContainerSpec, FileEntry
from openshell_bootstrap.settings import DockerSettings
from tests.integration.engine.doors import make_certificates, tcp_door
from tests.plugins.engine import missing

SLEEPER = ContainerSpec(
    name="",
    image="",
    hostname="node",
    entrypoint=("sleep",),
    command=("600",),
    environment={},
    labels={},
)


@pytest.fixture
def sleeper(engine: DockerEngine, tiny_image: str, unique_name: Callable[[str], str]) -> str:
    spec = replace(SLEEPER, name=unique_name("sleeper"), image=tiny_image)
    container_id = engine.containers.create(spec)
    engine.containers.start(container_id)
    return container_id


SSH = """#!/bin/sh
# Stands for ssh and the host over there: what follows the host's name is run here.
unset DOCKER_HOST DOCKER_CONTEXT
while [ "$1" != -- ]; do shift; done
[ "$2" = far.example ] || { echo "ssh: no such host" >&2; exit 255; }
shift 2
exec sh -c "$*"
"""


@pytest.fixture
def ssh(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("docker") is None:
        missing(request.config, "there is no docker command to be run over there")
    command = tmp_path / "bin" / "ssh"
    command.parent.mkdir()
    command.write_text(SSH)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)


@pytest.fixture(params=["unix", "tcp", "tls", "ssh"])
def reached(
    request: pytest.FixtureRequest, engine: DockerEngine, tmp_path: Path
) -> Iterator[DockerEngine]:
    """The engine, reached that way."""
    scheme, _, path = engine.connection.endpoint.url.partition("://")
    if request.param == "unix":
        yield engine
        return
    if scheme != "unix":
        pytest.skip("the engine under test is not behind a unix socket")
    if request.param == "ssh":
        request.getfixturevalue("ssh")
        made = DockerEngine.at(DockerSettings(host=f"ssh://user@far.example:2222{path}"))
        yield made
        made.close()
        return
    tls = make_certificates(tmp_path) if request.param == "tls" else None
    with tcp_door(path, tls) as port:
        settings = DockerSettings(
            host=f"tcp://127.0.0.1:{port}",
            verifies_tls=tls is not None,
            cert_path=tmp_path if tls else None,
        )
        made = DockerEngine.at(settings)
        yield made
        made.close()


def test_it_is_the_same_engine(engine: DockerEngine, reached: DockerEngine) -> None:
    assert reached.info().id == engine.info().id


def test_input_reaches_a_command_and_ends(reached: DockerEngine, sleeper: str) -> None:
    data = b"x" * 300_000

    done = reached.containers.exec(sleeper, ["sh", "-c", "wc -c; echo err >&2"], stdin=data)

    assert (done.exit_status, done.stderr) == (0, b"err\n")
    assert done.stdout.strip() == b"300000"
    assert done.argv == ("sh", "-c", "wc -c; echo err >&2")


def test_big_output_arrives_whole(reached: DockerEngine, sleeper: str) -> None:
    done = reached.containers.exec(sleeper, ["sh", "-c", "yes 0123456 | head -c 50000000"])

    assert len(done.stdout) == 50_000_000


def test_output_that_comes_at_once_is_not_lost(reached: DockerEngine, sleeper: str) -> None:
    """The first frame may arrive in one packet with the head of the answer."""
    with ThreadPoolExecutor(4) as pool:
        outputs = pool.map(
            lambda number: reached.containers.exec(sleeper, ["echo", str(number)]).stdout,
            range(20),
        )

    assert [int(output) for output in outputs] == list(range(20))


def test_a_command_that_wants_no_input_ends_all_the_same(
    reached: DockerEngine, sleeper: str
) -> None:
    done = reached.containers.exec(sleeper, ["true"], stdin=b"x" * 5_000_000)

    assert done.exit_status == 0


def test_files_go_both_ways(reached: DockerEngine, sleeper: str) -> None:
    file = FileEntry("/opt/deep/file", b"\0\1\2" * 1_000_000, 0o640)

    reached.containers.put_files(sleeper, [file])

    assert reached.containers.get_file(sleeper, file.path) == file


def test_what_ssh_says_is_told(ssh: None) -> None:
    """R103: not that a connection was closed."""
    engine = DockerEngine.at(DockerSettings(host="ssh://elsewhere.example"))

    with pytest.raises(EngineUnavailableError) as caught:
        engine.info()

    assert "ssh: no such host" in caught.value.details
    assert "ssh://elsewhere.example (from DOCKER_HOST)" in caught.value.details
