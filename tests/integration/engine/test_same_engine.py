"""The engine that is meant is the one that the docker command means."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from openshell_bootstrap.engine.endpoint import resolve
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.settings import read_settings
from tests.integration.engine.doors import make_certificates
from tests.plugins.engine import missing

SHOWN = "{{.Name}} {{.Endpoints.docker.Host}} {{.Endpoints.docker.SkipTLSVerify}} {{.TLSMaterial}}"

ENVIRONMENTS = (
    {},
    {"DOCKER_HOST": "unix:///x.sock"},
    {"DOCKER_HOST": "unix://"},
    {"DOCKER_HOST": "tcp://"},
    {"DOCKER_HOST": "tcp://h"},
    {"DOCKER_HOST": "tcp://:99"},
    {"DOCKER_HOST": "h:99"},
    {"DOCKER_HOST": "tcp://h:99/p"},
    {"DOCKER_HOST": "tcp://[::1]:5"},
    {"DOCKER_HOST": "ssh://u@h:22"},
    {"DOCKER_HOST": "http://h:99"},
    {"DOCKER_HOST": "foo://x"},
    {"DOCKER_HOST": "tcp://h:abc"},
    {"DOCKER_HOST": "tcp://h:1", "DOCKER_CONTEXT": "whole"},
    {"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "certs"},
    {"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "certs", "DOCKER_TLS_VERIFY": "1"},
    {"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "certs", "DOCKER_TLS": "1"},
    {"DOCKER_CERT_PATH": "certs", "DOCKER_TLS_VERIFY": "1"},
    {"DOCKER_CERT_PATH": "nowhere", "DOCKER_TLS_VERIFY": "1"},
    {"DOCKER_CONTEXT": "default"},
    {"DOCKER_CONTEXT": "whole"},
    {"DOCKER_CONTEXT": "authority"},
    {"DOCKER_CONTEXT": "blind"},
    {"DOCKER_CONTEXT": "ssh", "DOCKER_TLS_VERIFY": "1"},
    {"DOCKER_CONTEXT": "gone"},
    {"currentContext": "ssh"},
    {"currentContext": "whole", "DOCKER_CONTEXT": "ssh"},
    {"currentContext": "gone"},
)
CONTEXTS = {
    "whole": "host=tcp://h:1,ca={0}/ca.pem,cert={0}/cert.pem,key={0}/key.pem",
    "authority": "host=tcp://h:1,ca={0}/ca.pem",
    "blind": "host=tcp://h:1,skip-tls-verify=true",
    "ssh": "host=ssh://u@h",
}


def docker(environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", "context", *words], env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def base(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    if shutil.which("docker") is None:
        missing(request.config, "there is no docker command to compare with")
    folder = tmp_path_factory.mktemp("docker")
    certs = folder / "certs"
    certs.mkdir()
    make_certificates(certs)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "DOCKER_CONFIG": f"{folder}/config"}
    for name, endpoint in CONTEXTS.items():
        made = docker(environ, "create", name, "--docker", endpoint.format(certs))
        assert made.returncode == 0, made.stderr
    return environ


def words(shown: str) -> list[str]:
    """In an order of their own: the command tells certificates in any."""
    return sorted(re.split(r"[\s\[\]]+", shown.strip()))


def told_by_docker(environ: dict[str, str]) -> list[str]:
    """Name, address, verification and certificates; nothing where it refuses."""
    done = docker(environ, "inspect", "--format", SHOWN)
    return words(done.stdout) if done.returncode == 0 else []


def told_by_us(environ: dict[str, str]) -> list[str]:
    try:
        endpoint = resolve(read_settings(environ).docker)
    except ConfigError:
        return []
    name = endpoint.source.removeprefix("context ").replace("DOCKER_HOST", "default")
    tls = endpoint.tls
    paths = [] if tls is None else [tls.authority, *(tls.certificate or ())]
    material = " ".join(path.name for path in paths if path)
    skips = "true" if tls is not None and not tls.verifies else "false"
    return words(f"{name} {endpoint.url} {skips} map[{f'docker:[{material}]' if material else ''}]")


@pytest.mark.parametrize("given", ENVIRONMENTS, ids=str)
def test_what_is_meant_is_what_docker_means(base: dict[str, str], given: dict[str, str]) -> None:
    """R103."""
    environ = {**base, **{key: value for key, value in given.items() if key.isupper()}}
    if "DOCKER_CERT_PATH" in environ:
        environ["DOCKER_CERT_PATH"] = str(Path(base["HOME"]) / environ["DOCKER_CERT_PATH"])
    config = Path(base["DOCKER_CONFIG"]) / "config.json"
    current = given.get("currentContext")
    config.write_text(f'{{"currentContext": "{current}"}}' if current else "{}")

    assert told_by_us(environ) == told_by_docker(environ)
