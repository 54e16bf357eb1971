"""An engine that fails, lies, hangs or is too old: never taken for one that has nothing."""

import json
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openshell_bootstrap.engine import connection
from openshell_bootstrap.engine.docker import DockerEngine
from openshell_bootstrap.errors import (
    EngineError,
    EngineTooOldError,
    EngineUnavailableError,
    PullError,
)
from openshell_bootstrap.models import ContainerSpec, FileEntry
from openshell_bootstrap.settings import DockerSettings
from tests.integration.engine.doors import wrong_engine

VERSION = {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}
SPEC = ContainerSpec(
    name="a",
    image="a",
    hostname="a",
    entrypoint=(),
    command=(),
    environment={},
    labels={},
)

CALLS: dict[str, Callable[[DockerEngine], Any]] = {
    "info": lambda engine: engine.info(),
    "containers.find": lambda engine: engine.containers.find("a"),
    "containers.list": lambda engine: engine.containers.list(),
    "containers.using_volume": lambda engine: engine.containers.using_volume("a"),
    "containers.create": lambda engine: engine.containers.create(SPEC),
    "containers.start": lambda engine: engine.containers.start("a"),
    "containers.stop": lambda engine: engine.containers.stop("a", 1),
    "containers.unpause": lambda engine: engine.containers.unpause("a"),
    "containers.remove": lambda engine: engine.containers.remove("a"),
    "containers.logs": lambda engine: list(engine.containers.logs("a")),
    "containers.exec": lambda engine: engine.containers.exec("a", ["true"]),
    "containers.put_files": lambda engine: engine.containers.put_files("a", [FileEntry("/a", b"")]),
    "containers.get_file": lambda engine: engine.containers.get_file("a", "/a"),
    "containers.get_files": lambda engine: engine.containers.get_files("a", "/a"),
    "images.find": lambda engine: engine.images.find("a"),
    "networks.list_named": lambda engine: engine.networks.list_named("a"),
    "networks.list": lambda engine: engine.networks.list({}),
    "networks.create": lambda engine: engine.networks.create("a", {}),
    "networks.remove": lambda engine: engine.networks.remove("a"),
    "volumes.find": lambda engine: engine.volumes.find("a"),
    "volumes.list": lambda engine: engine.volumes.list(),
    "volumes.create": lambda engine: engine.volumes.create("a", {}),
    "volumes.remove": lambda engine: engine.volumes.remove("a"),
}
LOOKS = [name for name in CALLS if name.split(".")[-1] in {"info", "find", "list", "list_named"}]


def told(version: dict[str, str], status: int, body: bytes) -> dict[str, tuple[int, bytes]]:
    return {"/version": (200, json.dumps(version).encode()), "*": (status, body)}


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "engine.sock"


@pytest.mark.parametrize("call", CALLS)
def test_an_engine_that_fails_is_unavailable_with_its_answer(at: Path, call: str) -> None:
    with wrong_engine(at, told(VERSION, 500, b'{"message": "disk on fire"}')) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineUnavailableError) as caught:
            CALLS[call](engine)
        engine.close()

    assert "disk on fire" in caught.value.details


@pytest.mark.parametrize("call", LOOKS)
@pytest.mark.parametrize("body", [b"<html>a proxy</html>", b'{"surprise": 1}', b"[1]", b"7", b""])
def test_an_answer_that_cannot_be_read_is_not_taken_for_nothing(
    at: Path, call: str, body: bytes
) -> None:
    with wrong_engine(at, told(VERSION, 200, body)) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineUnavailableError):
            CALLS[call](engine)
        engine.close()


@pytest.mark.parametrize("call", ["info", "containers.find", "volumes.remove"])
def test_an_engine_that_hangs_is_given_up(
    at: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(connection, "REQUEST_TIMEOUT_S", 0.3)
    over = threading.Event()
    version = (200, json.dumps(VERSION).encode())
    with wrong_engine(at, {"/version": version, "*": lambda: over.wait(20)}) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineUnavailableError) as caught:
            CALLS[call](engine)
        over.set()
        engine.close()

    assert "no answer in time" in caught.value.details
    assert "DOCKER_HOST" in caught.value.details


def test_an_engine_that_hangs_up_is_unavailable(at: Path) -> None:
    version = (200, json.dumps(VERSION).encode())
    with wrong_engine(at, {"/version": version, "*": lambda: None}) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineUnavailableError):
            engine.containers.find("a")
        engine.close()


@pytest.mark.parametrize("host", ["unix:///no/such/engine.sock", "tcp://127.0.0.1:1"])
def test_no_engine_at_all_is_told_with_its_address_and_source(host: str) -> None:
    with pytest.raises(EngineUnavailableError) as caught:
        DockerEngine.at(DockerSettings(host=host)).info()

    assert f"{host} (from DOCKER_HOST)" in caught.value.details


def test_an_engine_that_is_too_old_is_refused(at: Path) -> None:
    old = {"Version": "19.03.15", "ApiVersion": "1.40", "MinAPIVersion": "1.12"}
    with wrong_engine(at, told(old, 200, b"{}")) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineTooOldError) as caught:
            engine.containers.find("a")

    assert "1.40" in caught.value.brief
    assert "19.03.15" in caught.value.details


@pytest.mark.parametrize(
    ("oldest", "newest", "spoken"),
    [("1.12", "1.41", "1.41"), ("1.24", "1.47", "1.44"), ("1.44", "1.52", "1.44")],
)
def test_an_api_version_is_spoken_that_both_know(
    at: Path, oldest: str, newest: str, spoken: str
) -> None:
    version = {"Version": "x", "ApiVersion": newest, "MinAPIVersion": oldest}
    with wrong_engine(at, told(version, 404, b'{"message": "No such container: a"}')) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        assert engine.containers.find("a") is None
        assert engine.connection.api.api_version == spoken
        engine.close()


def test_a_log_that_was_opened_is_closed_where_the_container_cannot_be_looked_at(at: Path) -> None:
    fails = (500, b'{"message": "disk on fire"}')
    version = (200, json.dumps(VERSION).encode())
    with wrong_engine(at, {"/version": version, "/a/logs": (200, b"a line"), "*": fails}) as host:
        engine = DockerEngine.at(DockerSettings(host=host))
        with pytest.raises(EngineUnavailableError) as caught:
            list(engine.containers.logs("a"))
        frames = [frame for frame, _ in traceback.walk_tb(caught.value.__cause__.__traceback__)]
        engine.close()

    logs = [frame.f_locals["res"] for frame in frames if "res" in frame.f_locals]
    assert logs
    assert all(log.raw.closed for log in logs)


def test_a_pull_that_fails_in_its_stream_is_told(at: Path) -> None:
    stream = b"""{"status": "Pulling from a", "id": "v1"}\r
{"errorDetail": {"message": "manifest unknown"}, "error": "manifest unknown"}\r
"""
    with wrong_engine(at, told(VERSION, 200, stream)) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(PullError) as caught:
            engine.images.pull("a:v1", lambda *_report: None)
        engine.close()

    assert "manifest unknown" in caught.value.details


def test_a_volume_that_is_said_to_be_removed_and_is_not_is_told(at: Path) -> None:
    volume = b'{"Name": "a", "Mountpoint": "/a", "Driver": "local"}'
    with wrong_engine(at, told(VERSION, 200, volume)) as host:
        engine = DockerEngine.at(DockerSettings(host=host))

        with pytest.raises(EngineError, match="still there"):
            engine.volumes.remove("a")
        engine.close()
