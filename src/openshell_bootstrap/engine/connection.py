"""The way to an engine: the Docker library's client, and what it gets wrong of our endpoint."""

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

import docker
import docker.errors
import requests
import urllib3
from docker.tls import TLSConfig

from openshell_bootstrap.engine import failures
from openshell_bootstrap.engine.endpoint import Endpoint, Tls
from openshell_bootstrap.engine.ssh import SshAdapter
from openshell_bootstrap.engine.wire import VersionAnswer, convert
from openshell_bootstrap.errors import EngineError, EngineTooOldError
from openshell_bootstrap.settings import REQUEST_TIMEOUT_S

OLDEST_API = "1.41"
"""Of Docker 20.10. The first to tell the cgroup version."""

SPOKEN_API = "1.44"
"""The newest that this adapter was written for; a newer engine is asked to speak this one."""


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
        endpoint = self.endpoint
        is_ssh = endpoint.scheme == "ssh"
        client = _Client(
            base_url="unix://" if is_ssh else endpoint.url,
            version=version,
            timeout=REQUEST_TIMEOUT_S,
            tls=tls_config(endpoint.tls),
        )
        if is_ssh:
            client.mount("http+docker://", SshAdapter(endpoint.url, REQUEST_TIMEOUT_S))
        # REQUESTS_CA_BUNDLE and its like would win over the authority that was given for it, and
        # no proxy leads to a socket: looking for one would cost more than the request itself.
        client.trust_env = endpoint.tls is None and endpoint.scheme == "tcp"
        return client


class _Client(docker.APIClient):
    """The library's client, which gives back what it does not hand out."""

    def _get_result(self, container: str, stream: bool, res: requests.Response) -> Any:  # noqa: FBT001
        # It opens a log first and then looks at the container; where the look fails, nobody is
        # left who could close the log.
        try:
            return super()._get_result(container, stream, res)  # type: ignore[misc]  # not in its types
        except BaseException:
            res.close()
            raise


def tls_config(tls: Tls | None) -> TLSConfig | bool:
    """How the Docker library wants to be told of TLS, or of none."""
    if tls is None:
        return False
    if not tls.verifies:  # the user said so; once for every request is too often
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    certificate, authority = tls.certificate, tls.authority
    return TLSConfig(
        client_cert=None if certificate is None else (str(certificate[0]), str(certificate[1])),
        ca_cert=None if authority is None else str(authority),
        verify=tls.verifies,
    )


def _raise_for_status(response: requests.Response) -> None:
    try:
        response.raise_for_status()
    except requests.exceptions.HTTPError as error:
        with response:
            docker.errors.create_api_error_from_http_exception(error)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
