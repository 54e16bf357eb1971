"""From the Docker library's exceptions to our errors, in one place."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

import msgspec
import requests
from docker.errors import APIError, DockerException
from urllib3.exceptions import HTTPError as Urllib3Error

from openshell_bootstrap.errors import (
    ContainerNotRunningError,
    EngineError,
    EngineUnavailableError,
    NameConflictError,
    NoSuchContainerError,
    NoSuchImageError,
    NoSuchNetworkError,
    NoSuchVolumeError,
    PortConflictError,
)

SERVER_FAILED = 500
NOT_FOUND = 404
MAX_DETAILS = 2000
"""Characters of an engine's answer that are shown."""

_MEANINGS: tuple[tuple[str, type[EngineError], tuple[str, ...]], ...] = (
    (
        r"port is already allocated|address already in use|ports are not available"
        r"|failed to bind host port",
        PortConflictError,
        ("Free the port, or choose another one.",),
    ),
    (
        r"is already in use by container|network with name \S+ already exists",
        NameConflictError,
        (),
    ),
    (
        r"container \S+ is not running|is paused, unpause|is restarting, wait"
        r"|cannot exec in a (stopped|paused) (state|container)|is not paused",
        ContainerNotRunningError,
        (),
    ),
    (
        r"address pool|predefined address pools",
        EngineError,
        (
            "Remove networks that nobody uses: `docker network ls`, `docker network rm NAME`.",
            "Or give the gateway's network a range that is free: `--subnet 10.99.0.0/24`.",
        ),
    ),
    (
        r"pool overlaps with other one",
        EngineError,
        ("Give another range: `--subnet CIDR`.",),
    ),
    (
        r"no space left on device",
        EngineError,
        ("Free space on the engine's disk: `docker system df` shows what takes it.",),
    ),
    (r"no such image|image .* not found", NoSuchImageError, ()),
    (r"no such container", NoSuchContainerError, ()),
    (r"network \S+ not found|no such network", NoSuchNetworkError, ()),
    (r"no such volume", NoSuchVolumeError, ()),
    (r"OCI runtime|runc create failed|is ambiguous|invalid mount config", EngineError, ()),
)
"""What an answer's words mean, whatever its status: the engine gives 500 for a port in use."""


@contextmanager
def translated(endpoint: str, what: str, missing: type[EngineError]) -> Iterator[None]:
    """Raise our errors for the library's.

    Args:
        endpoint: The engine and where its address came from.
        what: The thing that is asked of the engine: ``"start the container x"``.
        missing: What a not-found means whose words say nothing more.
    """
    try:
        yield
    except APIError as error:
        answer = str(error.explanation or error)
        if error.response is not None:  # the library leaves a streamed answer open
            error.response.close()
        raise from_answer(int(error.status_code or 0), answer, what, missing) from error
    except msgspec.ValidationError as error:
        raise _unreadable(endpoint, what, error) from error
    except requests.exceptions.JSONDecodeError as error:
        raise _unreadable(endpoint, what, error) from error
    except (
        requests.exceptions.RequestException,
        Urllib3Error,
        HTTPException,
        DockerException,
        OSError,
    ) as error:
        raise _unreachable(endpoint, what, error) from error


def from_answer(status: int, answer: str, what: str, missing: type[EngineError]) -> EngineError:
    """The error that an answer other than success means."""
    details = answer[:MAX_DETAILS]
    for pattern, kind, remedies in _MEANINGS:
        if re.search(pattern, answer, re.IGNORECASE):
            return kind(f"The engine could not {what}", details, remedies)
    if status == NOT_FOUND:
        return missing(f"The engine could not {what}", details)
    if status >= SERVER_FAILED:
        return EngineUnavailableError(
            f"The engine failed to {what}",
            f"It answered {status}: {details}",
            ["Look at the engine's own log: `journalctl -u docker`.", "Try again."],
        )
    return EngineError(f"The engine could not {what}", details)


def is_removal_under_way(error: APIError) -> bool:
    """Whether the engine refused to remove a container because it is doing so already."""
    return "is already in progress" in str(error.explanation)


def _unreadable(endpoint: str, what: str, error: Exception) -> EngineUnavailableError:
    return EngineUnavailableError(
        "The engine's answer cannot be read",
        f"{endpoint}, asked to {what}: {error}",
        ["See whether the address leads to a Docker engine: `docker version`."],
    )


def _unreachable(endpoint: str, what: str, error: Exception) -> EngineUnavailableError:
    root = _root_of(error)
    remedies = [
        "Start Docker, or see why it does not answer: `docker version`.",
        "Where another engine is meant: set DOCKER_HOST, or `docker context use NAME`.",
    ]
    if isinstance(root, PermissionError):
        remedies = ["Run as a user who may use the Docker socket (root, or the group docker)."]
    if isinstance(root, TimeoutError):
        root = TimeoutError("no answer in time")
    return EngineUnavailableError(
        "The Docker engine does not answer", f"{endpoint}, asked to {what}: {root}", remedies
    )


def _root_of(error: BaseException) -> BaseException:
    """The operating system's error in a chain of wrappers, or what was raised."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and not isinstance(seen, requests.exceptions.RequestException):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error
