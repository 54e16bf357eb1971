import docker.errors
import msgspec
import pytest
import requests
import urllib3.exceptions

from openshell_bootstrap.engine import failures
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

ENDPOINT = "unix:///run/e.sock (from DOCKER_HOST)"

ANSWERS = [
    (404, "No such container: a", NoSuchContainerError),
    (404, "No such image: a:b", NoSuchImageError),
    (404, "network 52b386591e86 not found", NoSuchNetworkError),
    (404, "get a: no such volume", NoSuchVolumeError),
    (404, "page not found", NoSuchContainerError),
    (
        409,
        'Conflict. The container name "/a" is already in use by container "b". You have to',
        NameConflictError,
    ),
    (409, "network with name a already exists", NameConflictError),
    (409, "Container a is not running", ContainerNotRunningError),
    (409, "Container a is paused, unpause the container before exec", ContainerNotRunningError),
    (
        409,
        "Container a is restarting, wait until the container is running",
        ContainerNotRunningError,
    ),
    (409, "remove a: volume is in use - [b]", EngineError),
    (
        500,
        "driver failed programming external connectivity on endpoint a (b): "
        "Bind for 127.0.0.1:80 failed: port is already allocated",
        PortConflictError,
    ),
    (
        500,
        "driver failed programming external connectivity on endpoint a (b): Error starting "
        "userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use",
        PortConflictError,
    ),
    (500, "ports are not available: exposing port TCP 127.0.0.1:80", PortConflictError),
    (500, "failed to bind host port for 127.0.0.1:80", PortConflictError),
    (403, "error while removing network: network a id b has active endpoints", EngineError),
    (
        400,
        "could not find an available, non-overlapping IPv4 address pool among the defaults",
        EngineError,
    ),
    (500, "all predefined address pools have been fully subnetted", EngineError),
    (500, "mkdir /var/lib/docker/a: no space left on device", EngineError),
    (400, "failed to create shim task: OCI runtime create failed: runc create failed", EngineError),
    (500, "OCI runtime create failed: container_linux.go", EngineError),
    (500, "something else", EngineUnavailableError),
    (503, "", EngineUnavailableError),
    (400, "invalid reference format", EngineError),
]


@pytest.mark.parametrize(("status", "answer", "kind"), ANSWERS)
def test_what_an_answer_means(status: int, answer: str, kind: type[EngineError]) -> None:
    error = failures.from_answer(status, answer, "start the container a", NoSuchContainerError)

    assert type(error) is kind
    assert "start the container a" in error.brief
    assert answer in error.details


def test_an_endless_answer_is_cut() -> None:
    error = failures.from_answer(500, "x" * 100_000, "list volumes", EngineError)

    assert len(error.details) < 3000


def chained(outer: Exception, root: BaseException) -> Exception:
    outer.__context__ = root
    return outer


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (requests.exceptions.ConnectionError("Connection aborted"), "Connection aborted"),
        (
            chained(
                requests.exceptions.ConnectionError("wrapped"), ConnectionRefusedError("refused")
            ),
            "refused",
        ),
        (chained(requests.exceptions.ReadTimeout("x"), TimeoutError("x")), "no answer in time"),
        (TimeoutError("timed out"), "no answer in time"),
        (urllib3.exceptions.ProtocolError("IncompleteRead"), "IncompleteRead"),
        (docker.errors.DockerException("Invalid bind address"), "Invalid bind address"),
        (ConnectionResetError("reset"), "reset"),
        (requests.exceptions.JSONDecodeError("Expecting value", "<html>", 0), "Expecting value"),
        (msgspec.ValidationError("Object missing required field"), "missing required field"),
    ],
)
def test_an_engine_that_cannot_be_spoken_to_is_unavailable(error: Exception, words: str) -> None:
    with (
        pytest.raises(EngineUnavailableError) as caught,
        failures.translated(ENDPOINT, "list volumes", EngineError),
    ):
        raise error

    assert caught.value.__cause__ is error
    assert caught.value.transient
    assert ENDPOINT in caught.value.details
    assert "list volumes" in caught.value.details
    assert words in caught.value.details
    assert caught.value.remedies


def test_a_socket_that_may_not_be_used_is_no_reason_to_start_docker() -> None:
    error = chained(requests.exceptions.ConnectionError("wrapped"), PermissionError(13, "denied"))

    with (
        pytest.raises(EngineUnavailableError) as caught,
        failures.translated(ENDPOINT, "list volumes", EngineError),
    ):
        raise error

    assert "group docker" in caught.value.remedies[0]


@pytest.mark.parametrize("error", [NameConflictError("a"), KeyError("a"), KeyboardInterrupt()])
def test_other_errors_pass(error: BaseException) -> None:
    with (
        pytest.raises(type(error)) as caught,
        failures.translated(ENDPOINT, "list volumes", EngineError),
    ):
        raise error

    assert caught.value is error
