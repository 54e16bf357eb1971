"""What may go wrong with one call of the engine, as whoever speaks ``engine.api`` meets it.

What the engine answers is put through the product's own translation of answers to errors.
"""

import errno
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import requests
from docker.errors import APIError

from openshell_bootstrap.engine import failures
from openshell_bootstrap.errors import (
    EngineError,
    NoSuchContainerError,
    NoSuchNetworkError,
    NoSuchVolumeError,
    PullError,
    WaitTimeoutError,
)
from openshell_bootstrap.models import Completed
from tests.fakes.kube import REFUSED

MARK = "injected"
"""Is in every injected answer: a message that has it names the cause."""

MADE_UP_ID = "f" * 64
ENDPOINT = "unix:///injected.sock (from DOCKER_HOST)"
LOOKS = {"find", "list", "list_named", "using_volume", "get_file", "get_files", "info", "logs"}
COMMANDS = {"exec", "attach_exec"}
MISSING: dict[str, type[EngineError]] = {
    "containers": NoSuchContainerError,
    "networks": NoSuchNetworkError,
    "volumes": NoSuchVolumeError,
}
WORDS = {
    "name conflict": 'Conflict. The container name "/x" is already in use by container "ab". '
    f"You have to remove (or rename) that container to be able to reuse that name. ({MARK})",
    "network conflict": f"network with name x already exists ({MARK})",
    "running": "You cannot remove a running container ab. Stop the container before attempting "
    f"removal or force remove ({MARK})",
    "not running": f"Container ab is not running ({MARK})",
    "in use": f"remove x: volume is in use - [ab] ({MARK})",
    "endpoints": f"error while removing network: network x id ab has active endpoints ({MARK})",
    "marked": f"container is marked for removal and cannot be started ({MARK})",
}


class Killed(BaseException):
    """The process is gone, so nothing may catch this, and nothing that cleans up may work."""


@dataclass(frozen=True)
class Call:
    """One call, held back.

    Attributes:
        method: ``containers.start``.
        go_on: Makes the call.
        argv: The command, where one is to be run in a container.
        begin: Makes the call with half of the command's input.
    """

    method: str
    go_on: Callable[[], Any]
    argv: tuple[str, ...] = ()
    begin: Callable[[], Any] = lambda: None

    @cached_property
    def noun(self) -> str:
        return self.method.partition(".")[0]

    @cached_property
    def verb(self) -> str:
        return self.method.rpartition(".")[2]

    @property
    def is_look(self) -> bool:
        return self.verb in LOOKS

    @property
    def is_command(self) -> bool:
        return self.verb in COMMANDS

    @property
    def is_of_disk(self) -> bool:
        """It is no call of the engine: a file of this host is written."""
        return self.noun == "disk"

    def answered(self, status: int, words: str) -> Any:
        """The engine answers with an error."""
        response = requests.Response()
        response.status_code = status
        response.raw = io.BytesIO()
        with failures.translated(ENDPOINT, self.method, MISSING.get(self.noun, EngineError)):
            raise APIError("", response=response, explanation=words)

    def broken(self, error: Exception) -> Any:
        """No answer comes, or none that can be read."""
        with failures.translated(ENDPOINT, self.method, MISSING.get(self.noun, EngineError)):
            raise error


Kind = Callable[[Call], Any]
"""Does to a call what the kind is, and gives what the caller gets."""


def refused(call: Call) -> Any:
    raised = ConnectionRefusedError(errno.ECONNREFUSED, f"Connection refused ({MARK})")
    return call.broken(raised)


def reset(call: Call) -> Any:
    return call.broken(ConnectionResetError(errno.ECONNRESET, f"Connection reset ({MARK})"))


def timed_out(call: Call) -> Any:
    return call.broken(requests.ReadTimeout(f"Read timed out ({MARK})"))


def not_found(call: Call) -> Any:
    match call.verb:
        case "find" | "get_file" | "get_files":
            return None
        case "remove":
            return None
        case "pull":
            raise PullError(f"x could not be pulled: {MARK}")
    return call.answered(404, f"No such thing ({MARK})")


def conflict(call: Call) -> Any:
    """The 409 that the engine has for this call."""
    match call.method:
        case "containers.create" | "containers.rename":
            return call.answered(409, WORDS["name conflict"])
        case "networks.create":
            return call.answered(409, WORDS["network conflict"])
        case "containers.remove":
            return call.answered(409, WORDS["running"])
        case "containers.start":
            return call.answered(409, WORDS["marked"])
        case "volumes.remove":
            return call.answered(409, WORDS["in use"])
        case "networks.remove":
            return call.answered(403, WORDS["endpoints"])
    return call.answered(409, WORDS["not running"])


def removal_in_progress(call: Call) -> Any:
    """The adapter waits for the end of a removal that somebody else began: it does not come."""
    raise WaitTimeoutError(f"No sign of the removal after 60 s ({MARK})")


def failed(call: Call) -> Any:
    return call.answered(500, f"the engine fails ({MARK})")


def empty(call: Call) -> Any:
    """A command that prints nothing; any other answer without a body cannot be read."""
    if call.is_command:
        return _cut(call.go_on(), 0)
    call.go_on()
    return call.broken(requests.exceptions.JSONDecodeError(f"Expecting value ({MARK})", "", 0))


def truncated(call: Call) -> Any:
    if call.is_command:
        return _cut(call.go_on(), 0.5)
    call.go_on()
    return call.broken(requests.exceptions.ChunkedEncodingError(f"Incomplete read ({MARK})"))


def did_nothing(call: Call) -> Any:
    """Success, and nothing was done. The adapter looks after a removal whether it was one."""
    match call.method:
        case "containers.remove":
            return removal_in_progress(call)
        case "volumes.remove" | "networks.remove":
            raise EngineError(f"The engine said that it is removed, and it is there ({MARK})")
        case "images.pull":
            raise PullError(f"The engine said that it pulled it, and has no image ({MARK})")
        case "containers.create" | "networks.create":
            return MADE_UP_ID
        case "containers.exec":
            return Completed(call.argv, 0, b"", b"")
        case "containers.attach_exec":
            return 0
    return None


def lost(call: Call) -> Any:
    """The call has its effect, and its answer does not arrive."""
    call.go_on()
    return reset(call)


def api_away(call: Call) -> Any:
    """The command runs, and the API server that it asks does not answer."""
    return Completed(call.argv, 1, b"", REFUSED.encode() + MARK.encode())


def killed(call: Call) -> Any:
    raise Killed


def killed_after(call: Call) -> Any:
    call.go_on()
    raise Killed


def killed_within(call: Call) -> Any:
    """Half of its input has reached the command, which meets the end of it then."""
    call.begin()
    raise Killed


def interrupted(call: Call) -> Any:
    raise KeyboardInterrupt


def interrupted_after(call: Call) -> Any:
    call.go_on()
    raise KeyboardInterrupt


def disk_full(call: Call) -> Any:
    raise OSError(errno.ENOSPC, f"No space left on device ({MARK})")


def _cut(done: Any, share: float) -> Any:
    if not isinstance(done, Completed):  # a command whose output went straight to the user
        return done
    return replace(done, stdout=done.stdout[: int(len(done.stdout) * share)])


KINDS: dict[str, Kind] = {
    "SIGKILL": killed,
    "SIGKILL after": killed_after,
    "SIGKILL within": killed_within,
    "SIGINT": interrupted,
    "SIGINT after": interrupted_after,
    "500": failed,
    "refused from then on": refused,
    "reset": reset,
    "time-out": timed_out,
    "404": not_found,
    "409": conflict,
    "409 removal in progress": removal_in_progress,
    "empty": empty,
    "truncated": truncated,
    "did nothing": did_nothing,
    "answer lost": lost,
    "API away": api_away,
    "disk full": disk_full,
}
KILLS = {"SIGKILL", "SIGKILL after", "SIGKILL within", "SIGINT", "SIGINT after"}
LASTING = {"refused from then on"}


TO_LOOKS = ("404", "refused from then on", "reset", "time-out")
TO_CHANGES = ("SIGKILL after", "SIGINT after", "404", "409", "did nothing", "answer lost")
NO_ANSWER = ("reset", "time-out")
NOT_WHOLE = ("empty", "truncated")


def kinds_for(method: str, at: int) -> tuple[str, ...]:
    """The kinds that happen to the call with this number.

    Whoever speaks ``engine.api`` is told the same of an engine that fails, resets, or does not
    answer in time: nobody could say. So these take turns from call to call, but for 500, which
    every call meets; a call that only looks is met by the others in turn too.
    """
    call = Call(method, lambda: None)
    if call.is_of_disk:
        return ("SIGKILL", "SIGINT", "disk full")
    every = ("SIGKILL", "SIGINT", "500")
    if call.is_look:
        return (*every, TO_LOOKS[at % len(TO_LOOKS)])
    changing = (*every, "refused from then on", *TO_CHANGES, NO_ANSWER[at % len(NO_ANSWER)])
    if call.verb == "exec":
        return (*changing, *NOT_WHOLE, "API away", "SIGKILL within")
    if call.verb == "create":
        return (*changing, NOT_WHOLE[at % len(NOT_WHOLE)])
    if call.method == "containers.remove":
        return (*changing, "409 removal in progress")
    return changing
