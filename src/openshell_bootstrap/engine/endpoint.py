"""Which engine is meant, as the ``docker`` command decides it.

The Docker library has contexts too, but takes another engine than the command where there is no
``config.json`` beside them, does not verify a context that says nothing of it, passes over an
authority without a client certificate, and uses TLS where only a folder for it was named. Here it
is as the command does it (docs.docker.com/reference/cli/docker, section Environment variables, and
docs.docker.com/engine/manage-resources/contexts); a test holds it against the command itself.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.settings import DockerSettings

DEFAULT_SOCKET = "unix:///var/run/docker.sock"
_DEFAULT_HOST = "localhost"
_DEFAULT_PORT, _DEFAULT_TLS_PORT = 2375, 2376
_DEFAULT_CONTEXT = "default"


@dataclass(frozen=True, slots=True)
class Tls:
    """How an engine is reached by TLS.

    Attributes:
        verifies: The engine must show a certificate of a known authority, for its own name.
        authority: The authority's certificate; None for those that the system knows.
        certificate: The client's, with its key; None where it shows none.
    """

    verifies: bool
    authority: Path | None = None
    certificate: tuple[Path, Path] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine is.

    Attributes:
        url: ``unix``, ``tcp`` or ``ssh``.
        source: What named it: ``DOCKER_HOST``, ``context NAME`` or ``default``.
        tls: None where it is not used, and always for a socket.
    """

    url: str
    source: str
    tls: Tls | None = None

    @property
    def scheme(self) -> str:
        """``unix``, ``tcp`` or ``ssh``."""
        return urlsplit(self.url).scheme

    @property
    def is_on_this_host(self) -> bool:
        """It is reached without leaving the host; it may still be a virtual machine."""
        return self.scheme == "unix" or urlsplit(self.url).hostname in {"127.0.0.1", "localhost"}

    def __str__(self) -> str:
        return f"{self.url} (from {self.source})"


class _Docker(msgspec.Struct, rename="pascal"):
    host: str = ""
    skips_verification: bool = msgspec.field(name="SkipTLSVerify", default=False)


class _Endpoints(msgspec.Struct):
    docker: _Docker | None = None


class _Meta(msgspec.Struct, rename="pascal"):
    """A context's ``meta.json``."""

    endpoints: _Endpoints


class _Config(msgspec.Struct, rename="camel"):
    """The Docker configuration, ``config.json``."""

    current_context: str | None = None


def resolve(settings: DockerSettings) -> Endpoint:
    """The engine that the ``docker`` command would speak to.

    Order: ``DOCKER_HOST``, ``DOCKER_CONTEXT``, the current context of the Docker configuration,
    the default socket.

    Raises:
        ConfigError: An address, a context or its files cannot be used.
    """
    if settings.host:
        return _of_environment(settings, "DOCKER_HOST")
    name = settings.context or _current_context(settings.config)
    if name == _DEFAULT_CONTEXT:
        return _of_environment(settings, "default")
    return _of_context(name, settings)


def _of_environment(settings: DockerSettings, source: str) -> Endpoint:
    uses_tls = settings.uses_tls or settings.verifies_tls
    url = settings.host.strip()
    if not url:
        url = f"tcp://{_DEFAULT_HOST}:{_DEFAULT_TLS_PORT}" if uses_tls else DEFAULT_SOCKET
    tls = _tls_in(settings.cert_path or settings.config, verifies=settings.verifies_tls)
    return _endpoint(url, source, tls if uses_tls else None)


def _current_context(config: Path) -> str:
    """The configuration's own.

    Where it cannot be read the command warns and takes the default engine. Here nothing is done
    on an engine that may not be the one that is meant.
    """
    path = config / "config.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Config).current_context or (
            _DEFAULT_CONTEXT
        )
    except FileNotFoundError:
        return _DEFAULT_CONTEXT
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"The Docker configuration {path} cannot be read",
            details=str(error),
            remedies=["Mend it, or set DOCKER_CONTEXT or DOCKER_HOST."],
        ) from error


def _of_context(name: str, settings: DockerSettings) -> Endpoint:
    known_as = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()
    contexts = settings.config / "contexts"
    path = contexts / "meta" / known_as / "meta.json"
    try:
        meta = msgspec.json.decode(path.read_bytes(), type=_Meta)
    except FileNotFoundError as error:
        named = "DOCKER_CONTEXT" if settings.context else "the Docker configuration"
        raise ConfigError(
            f"There is no Docker context {name}",
            details=f"It is named by {named}.",
            remedies=["`docker context ls` shows those that are there."],
        ) from error
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"The Docker context {name} cannot be read",
            details=f"{path}: {error}",
            remedies=[f"Mend it, or make it again: `docker context rm -f {name}`."],
        ) from error
    docker = meta.endpoints.docker
    if docker is None or not docker.host:
        raise ConfigError(
            f"The Docker context {name} leads to no Docker engine",
            details=str(path),
            remedies=["`docker context use NAME` chooses another one."],
        )
    folder = contexts / "tls" / known_as / "docker"
    is_tls = docker.skips_verification or folder.is_dir()
    tls = _tls_in(folder, verifies=not docker.skips_verification, is_whole=False)
    return _endpoint(docker.host, f"context {name}", tls if is_tls else None)


def _tls_in(folder: Path, *, verifies: bool, is_whole: bool = True) -> Tls:
    """What a folder holds for TLS; ``is_whole``: an authority must be there."""
    authority, certificate, key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
    has_authority = is_whole or authority.exists()
    is_client = certificate.exists() and key.exists()
    return Tls(
        verifies=verifies,
        authority=authority if has_authority else None,
        certificate=(certificate, key) if is_client else None,
    )


def _endpoint(url: str, source: str, tls: Tls | None) -> Endpoint:
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "tcp", url
    match scheme:
        case "unix" if "://" not in rest:
            path = Path(rest).absolute() if rest else None
            return Endpoint(f"unix://{path}" if path else DEFAULT_SOCKET, source)
        case "tcp":
            return Endpoint(_tcp(rest, url, source), source, _checked(tls))
        case "ssh":
            _check_ssh(url, source)
            return Endpoint(url, source)
        case "npipe":
            raise _refused(url, source, "a named pipe is there on Windows alone")
        case "fd":
            raise _refused(url, source, "a file descriptor is for the engine itself to listen on")
        case _:
            raise _refused(url, source, "it is none of unix://, tcp:// and ssh://")


def _tcp(rest: str, url: str, source: str) -> str:
    parts = _split(f"tcp://{rest}", url, source)
    host = parts.hostname or _DEFAULT_HOST
    if ":" in host:
        if parts.port is None:
            raise _refused(url, source, "an IPv6 address needs its port")
        host = f"[{host}]"
    return f"tcp://{host}:{parts.port or _DEFAULT_PORT}{parts.path}"


def _check_ssh(url: str, source: str) -> None:
    parts = _split(url, url, source)
    if not parts.hostname or parts.hostname.startswith("-"):
        raise _refused(url, source, "it names no host")
    if parts.password is not None:
        raise _refused("ssh://…", source, "a password has no place in it")
    if parts.query or parts.fragment:
        raise _refused(url, source, "it ends in what is no path")


def _split(text: str, url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - it is read here, and may not be a number
    except ValueError as error:
        raise _refused(url, source, str(error)) from error
    return parts


def _checked(tls: Tls | None) -> Tls | None:
    for path in (tls.authority, *(tls.certificate or ())) if tls else ():
        if path is not None and not path.is_file():
            raise ConfigError(
                "The certificates for the Docker engine cannot be used",
                details=f"{path} is not there",
                remedies=["Set DOCKER_CERT_PATH to a folder with ca.pem, cert.pem and key.pem."],
            )
    return tls


def _refused(url: str, source: str, why: str) -> ConfigError:
    return ConfigError(
        f"{url!r} cannot be the address of a Docker engine: {why}",
        details=f"It comes from {source}.",
        remedies=[
            "Set DOCKER_HOST to unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST.",
            "Or choose an engine with `docker context use NAME`.",
        ],
    )
