from pathlib import Path

import pytest
from docker.tls import TLSConfig

from openshell_bootstrap.engine.connect import connect
from openshell_bootstrap.engine.connection import Connection, tls_config
from openshell_bootstrap.engine.endpoint import Endpoint, Tls
from openshell_bootstrap.settings import DockerSettings


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


def test_the_library_is_told_of_tls_or_of_none(tmp_path: Path) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("")
    pair = (tmp_path / "cert.pem", tmp_path / "key.pem")

    whole = tls_config(Tls(verifies=True, authority=tmp_path / "ca.pem", certificate=pair))
    blind = tls_config(Tls(verifies=False))

    assert tls_config(None) is False
    assert isinstance(whole, TLSConfig)
    assert isinstance(blind, TLSConfig)
    assert (whole.verify, whole.ca_cert) == (True, str(tmp_path / "ca.pem"))
    assert whole.cert == (str(pair[0]), str(pair[1]))
    assert (blind.verify, blind.ca_cert, blind.cert) == (False, None, None)
