"""The way to an engine behind ``ssh://``: the system's own ssh command, as ``docker`` takes it.

So keys, agents, known hosts and the user's ssh configuration count. The Docker library's own way
needs paramiko, which knows only a part of them. Each connection is one ssh whose standard streams
are one end of a pair of sockets; the other end is an engine's socket like any other.
"""

import shlex
import socket
import subprocess
import tempfile
from typing import Any
from urllib.parse import SplitResult, urlsplit

import urllib3.connection
import urllib3.connectionpool
from docker.transport.basehttpadapter import BaseHTTPAdapter

from openshell_bootstrap.settings import SSH_CONNECT_TIMEOUT_S

_SAID_BYTES = 2000


def ssh_command(url: str) -> list[str]:
    """The command that joins its standard streams to the engine's socket over there."""
    parts = urlsplit(url)
    there = ["docker", *_elsewhere(parts), "system", "dial-stdio"]
    return [
        "ssh",
        *(["-l", parts.username] if parts.username else []),
        *(["-p", str(parts.port)] if parts.port else []),
        *("-o", f"ConnectTimeout={SSH_CONNECT_TIMEOUT_S}", "-T"),
        *("--", str(parts.hostname), shlex.join(there)),
    ]


def _elsewhere(parts: SplitResult) -> list[str]:
    return ["--host", f"unix://{parts.path}"] if parts.path.strip("/") else []


class _SshConnection(urllib3.connection.HTTPConnection):
    def __init__(self, command: list[str], timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.last_words = ""

    def connect(self) -> None:
        """Start one ssh."""
        near, far = socket.socketpair()
        near.settimeout(self.timeout)
        # A file, because nobody reads along: a pipe could fill and hold ssh up.
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the connection
        try:
            # A session of its own: Ctrl-C is for this process to answer, in order.
            self.process = subprocess.Popen(  # noqa: S603 - no shell; every word is checked
                self.command,
                stdin=far.fileno(),
                stdout=far.fileno(),
                stderr=self.said,
                start_new_session=True,
            )
        except OSError:
            near.close()
            self.said.close()
            raise
        finally:
            far.close()
        self.sock = near

    def getresponse(self) -> Any:
        """The answer, or what ssh said instead of one."""
        try:
            return super().getresponse()
        except ConnectionError as error:
            self.close()
            if self.last_words:
                raise ConnectionError(self.last_words) from error
            raise

    def close(self) -> None:
        """End the connection and its ssh."""
        super().close()
        process, self.process = self.process, None
        if process is not None:
            process.terminate()
            process.wait()
            self.said.seek(0)
            self.last_words = self.said.read(_SAID_BYTES).decode(errors="replace").strip()
            self.said.close()


class _SshPool(urllib3.connectionpool.HTTPConnectionPool):
    def __init__(self, command: list[str], timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s, maxsize=10)
        self.command = command
        self.timeout_s = timeout_s

    def _new_conn(self) -> Any:
        return _SshConnection(self.command, self.timeout_s)


class SshAdapter(BaseHTTPAdapter):
    """Sends requests through ssh; to be mounted in the Docker library's client."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self.pool = _SshPool(ssh_command(url), timeout_s)
        super().__init__()

    def get_connection(self, url: Any, proxies: Any = None) -> Any:
        """One pool for all that is asked."""
        del url, proxies
        return self.pool

    def request_url(self, request: Any, proxies: Any) -> Any:
        """A socket has no host and no proxy."""
        del proxies
        return request.path_url

    def close(self) -> None:
        """End every connection."""
        super().close()
        self.pool.close()
