"""A door before a real engine: counts the requests that come through, and breaks some of them.

It is a unix socket that speaks HTTP as the engine does, so that the product meets what it would
meet: half a body, a connection that is cut, a page of a proxy. Each request gets a connection of
its own (``Connection: close``), which ends where its answer does.
"""

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.kinds import MADE_UP_ID, MARK, WORDS

_CHUNK = 65536
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read and not yet passed on."""

    method: str
    path: str
    head: bytes
    body: bytes

    @property
    def is_upgrade(self) -> bool:
        return b"upgrade: tcp" in self.head.lower()


@dataclass(slots=True)
class Door:
    """The state of one door.

    Attributes:
        engine: The engine's own socket.
        is_due: Tells of a request, by its number from 0 and what it asks, whether it is broken.
        kind: One of ``KILLS`` or ``ERRORS``.
        seen: What was asked, in order.
        client: The process behind it, once whoever starts it has said so.
    """

    engine: str
    listener: socket.socket
    is_due: Callable[[int, str], bool]
    kind: str
    seen: list[str] = field(default_factory=list)
    client: "Future[subprocess.Popen[str]]" = field(default_factory=Future)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def kill(self, number: int) -> None:
        """Send the client a signal."""
        self.client.result(timeout=10).send_signal(number)

    def take(self, client: socket.socket) -> None:
        """Serve one connection."""
        with client:
            peeked = client.recv(_CHUNK, socket.MSG_PEEK)
            if not peeked:
                return
            what = what_of(peeked)
            with self.lock:
                number = len(self.seen)
                self.seen.append(what)
            is_due = self.is_due(number, what)
            if is_due and self.kind in {AWAY, RESET}:
                if self.kind == AWAY:
                    self.listener.shutdown(socket.SHUT_RDWR)
                return  # with the request unread: the client's connection is reset
            request = read_request(client)
            if request is not None and is_due:
                ANSWERS[self.kind](self, client, request)
            elif request is not None:
                self.pass_on(client, request)

    def pass_on(self, client: socket.socket, request: Request) -> None:
        """As if there were no door."""
        with self.ask(request) as engine:
            if request.is_upgrade:
                forth = threading.Thread(target=_pump, args=(client, engine), daemon=True)
                forth.start()
            _pump(engine, client)
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)  # lets go of the other pump

    def answer_of(self, request: Request) -> bytes:
        """The whole answer: the engine has done what it was asked."""
        with self.ask(request) as engine:
            parts = []
            if request.is_upgrade:  # nobody will send input: the command sees its end
                with suppress(OSError):
                    engine.shutdown(socket.SHUT_WR)
            while chunk := engine.recv(_CHUNK):
                parts.append(chunk)
        return b"".join(parts)

    def ask(self, request: Request) -> socket.socket:
        engine = socket.socket(socket.AF_UNIX)
        engine.connect(self.engine)
        engine.sendall(request.head + request.body)
        return engine


def what_of(head: bytes) -> str:
    """A request without version, query and ids: ``POST /containers/ID/start``."""
    method, _, rest = head.partition(b"\r\n")[0].decode(errors="replace").partition(" ")
    parts = [part for part in rest.split("?")[0].split(" ")[0].split("/") if part]
    parts = parts[1:] if parts and parts[0].startswith("v1.") else parts
    if len(parts) > 1 and parts[1] not in {"json", "create"}:
        parts[1] = "ID"
    return f"{method} /{'/'.join(parts)}"


def read_request(client: socket.socket) -> Request | None:
    """Read one request to its end; None where the client went away."""
    read = b""
    while _END_OF_HEAD not in read:
        chunk = client.recv(_CHUNK)
        if not chunk:
            return None
        read += chunk
    head, _, body = read.partition(_END_OF_HEAD)
    first, *lines = head.split(b"\r\n")
    length = next((int(one[15:]) for one in lines if one.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += client.recv(_CHUNK)
    is_upgrade = b"upgrade: tcp" in head.lower()
    if not is_upgrade:
        lines = [one for one in lines if not one.lower().startswith(b"connection:")]
        lines.append(b"Connection: close")
    method, path, _ = first.decode().split(" ")
    return Request(method, path, b"\r\n".join([first, *lines]) + _END_OF_HEAD, body)


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on all that comes, and its end. A side that went away ends it."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _head(status: str, length: int, kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "Connection: close"]).encode() + _END_OF_HEAD


def _say(client: socket.socket, status: str, body: bytes, kind: str = "application/json") -> None:
    with suppress(OSError):
        client.sendall(_head(status, len(body), kind) + body)


def _error(status: str, words: str) -> Callable[[Door, socket.socket, Request], None]:
    def answer(_door: Door, client: socket.socket, _request: Request) -> None:
        _say(client, status, json.dumps({"message": words}).encode())

    return answer


def _page(_door: Door, client: socket.socket, _request: Request) -> None:
    body = f"<html><h1>502 Bad Gateway</h1>{MARK}</html>".encode()
    _say(client, "502 Bad Gateway", body, "text/html")


def _hang(_door: Door, client: socket.socket, _request: Request) -> None:
    """No answer, until the client has had enough."""
    with suppress(OSError):
        while client.recv(_CHUNK):
            pass


def _empty(door: Door, client: socket.socket, request: Request) -> None:
    door.answer_of(request)
    _say(client, "200 OK", b"")


def _truncated(door: Door, client: socket.socket, request: Request) -> None:
    """The head tells of more than comes."""
    whole = door.answer_of(request)
    head, _, body = whole.partition(_END_OF_HEAD)
    with suppress(OSError):
        client.sendall(head + _END_OF_HEAD + body[: len(body) // 2] if body else head)


def _did_nothing(_door: Door, client: socket.socket, request: Request) -> None:
    body = json.dumps({"Id": MADE_UP_ID, "Warnings": [], "Name": "x", "Mountpoint": "/x"}).encode()
    made = request.method == "POST" and what_of(request.head).endswith(("create", "/exec"))
    _say(client, "201 Created" if made else "200 OK", body if made else b"")


def _lost(door: Door, client: socket.socket, request: Request) -> None:
    door.answer_of(request)
    del client  # is closed without a word


def _kill(number: int, *, after: bool) -> Callable[[Door, socket.socket, Request], None]:
    def answer(door: Door, client: socket.socket, request: Request) -> None:
        if number == signal.SIGINT:
            # A command that lives on needs its answer, before the signal or after it.
            if not after:
                door.kill(number)
            door.pass_on(client, request)
            if after:
                door.kill(number)
            return
        if after:
            door.answer_of(request)
        door.kill(number)

    return answer


AWAY = "refused from then on"
RESET = "reset"
TIME_OUT = "time-out"
SIGKILL, SIGKILL_AFTER, SIGINT = "SIGKILL", "SIGKILL after", "SIGINT"
ANSWERS: dict[str, Callable[[Door, socket.socket, Request], None]] = {
    SIGKILL: _kill(signal.SIGKILL, after=False),
    SIGKILL_AFTER: _kill(signal.SIGKILL, after=True),
    SIGINT: _kill(signal.SIGINT, after=False),
    TIME_OUT: _hang,
    "404": _error("404 Not Found", f"No such thing ({MARK})"),
    "409 name conflict": _error("409 Conflict", WORDS["name conflict"]),
    "409 running": _error("409 Conflict", WORDS["running"]),
    "409 in use": _error("409 Conflict", WORDS["in use"]),
    "409 removal in progress": _error(
        "409 Conflict", f"removal of container ab is already in progress ({MARK})"
    ),
    "500": _error("500 Internal Server Error", f"the engine fails ({MARK})"),
    "502 of a proxy": _page,
    "empty": _empty,
    "truncated": _truncated,
    "did nothing": _did_nothing,
    "answer lost": _lost,
}


KILLS = (SIGKILL, SIGKILL_AFTER, SIGINT)
ERRORS = (AWAY, RESET, *(kind for kind in ANSWERS if kind not in KILLS))


@contextmanager
def fault_door(
    path: Path, engine_socket: str, is_due: Callable[[int, str], bool], kind: str
) -> Iterator[Door]:
    """A door at this path, for one command."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        door = Door(engine_socket, listener, is_due, kind)
        threading.Thread(target=_serve, args=(listener, door), daemon=True).start()
        try:
            yield door
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            path.unlink()


def _serve(listener: socket.socket, door: Door) -> None:
    with suppress(OSError):  # the listener is closed when it is over
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_take, args=(door, client), daemon=True).start()


def _take(door: Door, client: socket.socket) -> None:
    with suppress(OSError, ValueError):
        door.take(client)
