import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from openshell_bootstrap.engine.connect import connect
from openshell_bootstrap.engine.connection import Connection, Endpoint, resolve
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.settings import DockerSettings


@pytest.fixture(autouse=True)
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Docker configuration of the test's own; the library looks where DOCKER_CONFIG says."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def add_context(config: Path, name: str, meta: Any) -> None:
    folder = config / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta))


def context(name: str, host: str) -> dict[str, Any]:
    return {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host}}}


def test_without_a_word_it_is_the_default_socket() -> None:
    endpoint = resolve(DockerSettings())

    assert str(endpoint) == "unix:///var/run/docker.sock (from default)"
    assert endpoint.tls is None


def test_the_host_variable_wins_over_contexts(docker_config: Path) -> None:
    add_context(docker_config, "far", context("far", "tcp://far:2375"))

    endpoint = resolve(DockerSettings(host="tcp://here:2375", context="far"))

    assert str(endpoint) == "tcp://here:2375 (from DOCKER_HOST)"


def test_the_context_variable_wins_over_the_current_context(docker_config: Path) -> None:
    add_context(docker_config, "far", context("far", "ssh://user@far"))
    add_context(docker_config, "near", context("near", "unix:///run/near.sock"))
    (docker_config / "config.json").write_text('{"currentContext": "near"}')

    assert str(resolve(DockerSettings(context="far"))) == "ssh://user@far (from context far)"
    assert str(resolve(DockerSettings())) == "unix:///run/near.sock (from context near)"


def test_a_context_that_is_not_there_is_a_mistake_of_the_user(docker_config: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(DockerSettings(context="gone"))

    assert "gone" in caught.value.brief
    assert "DOCKER_CONTEXT" in caught.value.details


def test_a_current_context_that_is_not_there_is_told_from_one_that_was_asked_for(
    docker_config: Path,
) -> None:
    (docker_config / "config.json").write_text('{"currentContext": "gone"}')

    with pytest.raises(ConfigError) as caught:
        resolve(DockerSettings())

    assert "the Docker configuration" in caught.value.details


def test_a_damaged_context_is_a_mistake_of_the_user(docker_config: Path) -> None:
    add_context(docker_config, "broken", "{")

    with pytest.raises(ConfigError) as caught:
        resolve(DockerSettings(context="broken"))

    assert "broken" in caught.value.details


@pytest.mark.parametrize("host", ["", "tcp://here:2376"])
def test_certificates_that_are_not_there_are_a_mistake_of_the_user(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(DockerSettings(host=host, verifies_tls=True, cert_path=tmp_path / "none"))

    assert str(tmp_path / "none") in caught.value.details


def test_certificates_are_taken_from_the_path(tmp_path: Path) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("")

    endpoint = resolve(DockerSettings(host="tcp://here:2376", cert_path=tmp_path))

    assert endpoint.tls is not None
    assert endpoint.tls.cert == (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("unix:///var/run/docker.sock", True),
        ("tcp://127.0.0.1:2375", True),
        ("tcp://localhost:2375", True),
        ("tcp://10.0.0.1:2375", False),
        ("ssh://user@far", False),
    ],
)
def test_an_engine_is_local_only_without_leaving_the_host(
    url: str, monkeypatch: pytest.MonkeyPatch, *, expected: bool
) -> None:
    monkeypatch.setattr("platform.node", lambda: "here")
    connection = Connection(Endpoint(url, "DOCKER_HOST"))

    assert connection.is_local("here") is expected
    assert connection.is_local("docker-desktop") is False


def test_making_an_engine_costs_no_call() -> None:
    """This tier refuses sockets: a call would raise."""
    engine = connect(DockerSettings(host="tcp://127.0.0.1:1"))

    assert engine.containers is not None
