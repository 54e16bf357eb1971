"""Which engine answers, where, and what it is. Reads only."""

import http.client
import json
import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from typing import Any

from engine_lib.errors import EngineToolError

DEFAULT_ENDPOINT = "unix:///var/run/docker.sock"
ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Endpoint:
    """An address of an engine and what named it."""

    url: str
    source: str

    @property
    def socket_path(self) -> str | None:
        """The path of a Unix socket; None for every other kind of address."""
        return self.url.removeprefix("unix://") if self.url.startswith("unix://") else None

    @property
    def is_default(self) -> bool:
        """Whether this is the socket on which `up` starts an engine."""
        return self.url in (DEFAULT_ENDPOINT, "unix:///run/docker.sock")


@dataclass(frozen=True)
class Engine:
    """What an engine says about itself."""

    version: str
    api_version: str
    storage_driver: str
    cgroup_version: str
    runtime: str
    containers_running: int


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def resolve_endpoint() -> Endpoint:
    """The engine that the docker command would talk to, and why.

    Raises:
        EngineToolError: the docker context in use cannot be read.
    """
    if host := os.environ.get("DOCKER_HOST"):
        return Endpoint(host, "DOCKER_HOST")
    if not shutil.which("docker"):
        return Endpoint(DEFAULT_ENDPOINT, "default socket")
    shown = subprocess.run(
        ["docker", "context", "inspect", "--format", "{{.Name}} {{.Endpoints.docker.Host}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        raise EngineToolError(
            f"docker cannot say which context it uses: {shown.stderr.strip()}\n"
            "Choose one that exists: docker context use default"
        )
    name, _, url = shown.stdout.strip().partition(" ")
    return Endpoint(url, "default socket" if name == "default" else f"docker context {name}")


def find_engine(endpoint: Endpoint, timeout_s: float = ANSWER_TIMEOUT_S) -> Engine | None:
    """The engine behind an endpoint; None if certainly nothing listens there.

    Raises:
        EngineToolError: something is there but does not answer as an engine does.
    """
    path = endpoint.socket_path
    if path is None:
        return _ask_by_command(endpoint)
    try:
        return _engine(_get(path, "/version", timeout_s), _get(path, "/info", timeout_s))
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except PermissionError as error:
        raise EngineToolError(
            f"{path} may not be opened by this user ({error.strerror}).\n"
            "Run as root, or as a member of the group that owns it: usermod -aG docker USER"
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EngineToolError(
            f"Something holds {path} but does not answer as an engine does "
            f"({type(error).__name__}: {error})."
        ) from error


def _get(path: str, resource: str, timeout_s: float) -> dict[str, Any]:
    connection = _UnixConnection(path, timeout_s)
    try:
        connection.request("GET", resource)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise ValueError(f"{resource} answered {response.status}: {body[:200]!r}")
    answer = json.loads(body)
    if not isinstance(answer, dict):
        raise ValueError(f"{resource} answered {body[:200]!r}")  # noqa: TRY004 - bad data, not a bug
    return answer


def _ask_by_command(endpoint: Endpoint) -> Engine:
    """Ask an engine on TCP or SSH through the docker command, which knows how to reach it."""
    if not shutil.which("docker"):
        raise EngineToolError(
            f"{endpoint.source} names {endpoint.url}, which needs the docker command to be reached."
        )
    answers = []
    for arguments in (["version", "--format", "{{json .Server}}"], ["info", "-f", "{{json .}}"]):
        shown = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
        if shown.returncode:
            raise EngineToolError(
                f"No engine answers at {endpoint.url} ({endpoint.source}): {shown.stderr.strip()}\n"
                "Start that engine, or choose another: unset DOCKER_HOST, docker context use"
            )
        answers.append(json.loads(shown.stdout))
    return _engine(*answers)


def _engine(version: dict[str, Any], info: dict[str, Any]) -> Engine:
    return Engine(
        version=str(version.get("Version", "unknown")),
        api_version=str(version.get("ApiVersion", "unknown")),
        storage_driver=str(info.get("Driver", "unknown")),
        cgroup_version=str(info.get("CgroupVersion", "unknown")),
        runtime=str(info.get("DefaultRuntime", "unknown")),
        containers_running=int(info.get("ContainersRunning", 0)),
    )
