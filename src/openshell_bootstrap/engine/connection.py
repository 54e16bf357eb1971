"""Which engine is meant, and the way to it. The Docker library is loaded at the first call."""

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

import docker
import docker.errors
import requests
from docker.context import Context, ContextAPI
from docker.tls import TLSConfig

from openshell_bootstrap.engine import failures
from openshell_bootstrap.engine.wire import VersionAnswer, convert
from openshell_bootstrap.errors import ConfigError, EngineError, EngineTooOldError
from openshell_bootstrap.settings import DockerSettings

OLDEST_API = "1.41"
"""Of Docker 20.10. The first to tell the cgroup version."""

SPOKEN_API = "1.44"
"""The newest that this adapter was written for; a newer engine is asked to speak this one."""

REQUEST_TIMEOUT_S = 60
DEFAULT_SOCKET = "unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine is.

    Attributes:
        source: What named it: ``DOCKER_HOST``, ``context NAME`` or ``default``.
    """

    url: str
    source: str
    tls: TLSConfig | None = None

    @property
    def is_on_this_host(self) -> bool:
        """It is reached without leaving the host; it may still be a virtual machine."""
        parts = urlsplit(self.url)
        return parts.scheme in {"unix", "npipe"} or parts.hostname in {"127.0.0.1", "localhost"}

    @property
    def is_network(self) -> bool:
        """It is reached by an address and a port."""
        return urlsplit(self.url).scheme not in {"unix", "npipe"}

    def __str__(self) -> str:
        return f"{self.url} (from {self.source})"


def resolve(settings: DockerSettings) -> Endpoint:
    """The engine that the ``docker`` command would speak to.

    Order: ``DOCKER_HOST``, ``DOCKER_CONTEXT``, the current context of the Docker configuration,
    the default socket
    (docs.docker.com/engine/manage-resources/contexts and reference/cli/docker).

    Raises:
        ConfigError: The context or its files cannot be read.
    """
    if settings.host:
        return Endpoint(settings.host, "DOCKER_HOST", _tls_of(settings))
    try:
        # None for an unknown name, whatever the library's types say.
        context = cast("Context | None", ContextAPI.get_context(settings.context))
    except Exception as error:  # the library raises bare Exception for a damaged context file
        raise ConfigError("The Docker context cannot be read", details=str(error)) from error
    if context is None:
        named = "DOCKER_CONTEXT" if settings.context else "the Docker configuration"
        raise ConfigError(
            f"There is no Docker context {settings.context or ''}".rstrip(),
            details=f"It is named by {named}.",
            remedies=["`docker context ls` shows those that are there."],
        )
    if context.name == "default":
        return Endpoint(DEFAULT_SOCKET, "default", _tls_of(settings))
    return Endpoint(context.Host or DEFAULT_SOCKET, f"context {context.name}", context.TLSConfig)


def _tls_of(settings: DockerSettings) -> TLSConfig | None:
    if not settings.verifies_tls and settings.cert_path is None:
        return None
    folder = settings.cert_path or Path.home() / ".docker"
    try:
        return TLSConfig(
            client_cert=(str(folder / "cert.pem"), str(folder / "key.pem")),
            ca_cert=str(folder / "ca.pem"),
            verify=settings.verifies_tls,
        )
    except docker.errors.TLSParameterError as error:
        raise ConfigError(
            "The certificates for the Docker engine cannot be used",
            details=f"{folder}: {error.msg}",
            remedies=["Set DOCKER_CERT_PATH to a folder with ca.pem, cert.pem and key.pem."],
        ) from error


@dataclass(frozen=True)
class Connection:
    """An engine's endpoint with the library's client, which is made at the first call."""

    endpoint: Endpoint

    @cached_property
    def version(self) -> VersionAnswer:
        """What the engine says of its versions."""
        with self.doing("tell its version"):
            client = self._client(OLDEST_API)
            try:
                response = client.get(f"{client.base_url}/version", timeout=REQUEST_TIMEOUT_S)
                _raise_for_status(response)
                return convert(response.json(), VersionAnswer)
            finally:
                client.close()

    @cached_property
    def api(self) -> docker.APIClient:
        """The library's client, speaking a version that both sides know.

        Raises:
            EngineTooOldError: There is none.
        """
        oldest, newest = _numbers(self.version.min_api_version), _numbers(self.version.api_version)
        if newest < _numbers(OLDEST_API):
            raise EngineTooOldError(
                f"The Docker engine is too old: it speaks API {self.version.api_version}",
                details=f"{self.endpoint} is version {self.version.version}. "
                f"The oldest that works is API {OLDEST_API}, of Docker 20.10.",
                remedies=["Update Docker, or set DOCKER_HOST to a newer engine."],
            )
        spoken = max(oldest, min(newest, _numbers(SPOKEN_API)))
        return self._client(".".join(str(number) for number in spoken))

    def is_older_than(self, api_version: str) -> bool:
        """Whether the engine itself is, whatever version is spoken with it."""
        return _numbers(self.version.api_version) < _numbers(api_version)

    def is_local(self, engine_host: str) -> bool:
        """Whether the engine runs on this very host.

        A socket that was handed into a container, or that leads into a virtual machine, is an
        engine elsewhere: its paths and ports are not ours.
        """
        return self.endpoint.is_on_this_host and engine_host == platform.node()

    def request(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, **how: Any
    ) -> requests.Response:
        """Send one request to a path below the API's version; the answer is one of success.

        For what the library has no public call for. ``how`` is passed on to ``requests``.
        """
        url = f"{self.api.base_url}/v{self.api.api_version}{quote(path)}"
        how.setdefault("timeout", REQUEST_TIMEOUT_S)
        response = self.api.request(method, url, params=params, **how)
        _raise_for_status(response)
        return response

    @contextmanager
    def doing(self, what: str, missing: type[EngineError] = EngineError) -> Iterator[None]:
        """Turn the library's exceptions into ours.

        Args:
            what: The thing that is asked of the engine: ``"start the container x"``.
            missing: What a plain not-found means here.
        """
        with failures.translated(str(self.endpoint), what, missing):
            yield

    def close(self) -> None:
        """Give the connections back. The next call opens new ones."""
        if "api" in self.__dict__:
            self.api.close()

    def _client(self, version: str) -> docker.APIClient:
        client = docker.APIClient(
            base_url=self.endpoint.url,
            version=version,
            timeout=REQUEST_TIMEOUT_S,
            tls=self.endpoint.tls or False,
        )
        # REQUESTS_CA_BUNDLE and its like would win over the authority that was given for it, and
        # no proxy leads to a socket: looking for one would cost more than the request itself.
        client.trust_env = self.endpoint.tls is None and self.endpoint.is_network
        return client


def _raise_for_status(response: requests.Response) -> None:
    try:
        response.raise_for_status()
    except requests.exceptions.HTTPError as error:
        with response:
            docker.errors.create_api_error_from_http_exception(error)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
