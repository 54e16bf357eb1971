"""The two-way stream that an exec runs over, and its frames.

One loop sends and receives: two threads on one TLS connection crash Python before 3.13, and a
sender that waits for a command which waits for its output to be read would wait for ever.
"""

import os
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import requests

STDOUT = 1
STDERR = 2
_CHUNK = 65536
_HEADER = struct.Struct(">BxxxL")
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(slots=True)
class Input:
    """What is sent: bytes that are at hand, then what a descriptor gives, if there is one."""

    data: memoryview
    descriptor: int | None = None
    is_over: bool = False

    @classmethod
    def of(cls, data: bytes = b"", descriptor: int | None = None) -> "Input":
        """All of the bytes, then all that the descriptor gives."""
        return cls(memoryview(data), descriptor)

    @property
    def waits_for(self) -> int | None:
        """The descriptor whose next bytes are wanted now."""
        return None if self.data or self.is_over else self.descriptor

    def fill(self) -> None:
        """Take what the descriptor has; it has something, or is at its end."""
        if self.descriptor is not None:
            self.data = memoryview(os.read(self.descriptor, _CHUNK))
            if not self.data:
                self.descriptor = None

    @property
    def is_exhausted(self) -> bool:
        """Nothing more will come, and nobody was told so yet."""
        return not self.data and self.descriptor is None and not self.is_over


@dataclass(frozen=True, slots=True)
class Duplex:
    """An upgraded connection."""

    response: requests.Response
    reader: Any
    channel: socket.socket

    @classmethod
    def of(cls, response: requests.Response) -> "Duplex":
        """Take over the connection of an answer to an upgrade."""
        # Neither requests nor http.client hands out an upgraded connection; the Docker library
        # reaches for it the same way.
        raw: Any = response.raw
        reader = raw._fp.fp  # noqa: SLF001
        channel = reader.raw._sock  # noqa: SLF001
        channel.settimeout(0)
        return cls(response, reader, channel)

    @property
    def is_tls(self) -> bool:
        """It is encrypted, so that it can be ended in both directions only."""
        return isinstance(self.channel, ssl.SSLSocket)

    def exchange(self, given: Input, timeout_s: float | None = None) -> Iterator[bytes]:
        """Send input and give output as it comes, until the output ends.

        A command that wants no more input is no error: its output tells. Over TLS it cannot be
        told that its input has ended.

        Raises:
            TimeoutError: The time ran out.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if first := self._already_read():
            yield first
        while True:
            if given.is_exhausted:
                self._end_input(given)
            self._wait(given, deadline)
            self._send(given)
            chunk = self._receive()
            if chunk == b"":
                return
            if chunk:
                yield chunk

    def close(self) -> None:
        """Give up the connection."""
        self.response.close()

    def _already_read(self) -> bytes:
        """Output that came in one packet with the answer's head, out of the buffer that read it."""
        with suppress(*_NOT_NOW):
            return bytes(self.reader.read1(len(self.reader.peek())))
        return b""

    def _wait(self, given: Input, deadline: float | None) -> None:
        """Until something can be read or sent."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("no answer in time")
        # A TLS connection may hold what it has decrypted: the socket then has nothing to tell.
        if isinstance(self.channel, ssl.SSLSocket) and self.channel.pending():
            left = 0
        source, channel = given.waits_for, self.channel.fileno()
        wanted = [channel] if source is None else [channel, source]
        readable, _, _ = select.select(wanted, [channel] if given.data else [], [], left)
        if source in readable:
            given.fill()

    def _send(self, given: Input) -> None:
        if not given.data:
            return
        try:
            given.data = given.data[self.channel.send(given.data) :]
        except _NOT_NOW:
            return
        except OSError:  # the command wants no more of it
            given.data, given.is_over = memoryview(b""), True

    def _receive(self) -> bytes | None:
        """What is there; None for nothing yet, empty at the end."""
        try:
            return self.channel.recv(_CHUNK)
        except _NOT_NOW:
            return None
        except ConnectionResetError:
            # So ends a local socket whose other end left input unread; all output came before.
            if self.channel.family == socket.AF_UNIX:
                return b""
            raise

    def _end_input(self, given: Input) -> None:
        """Tell the command that there is no more input, and go on reading. Not over TLS."""
        given.is_over = True
        if not self.is_tls:
            with suppress(OSError):
                self.channel.shutdown(socket.SHUT_WR)


def frames(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Output told apart by ``STDOUT`` and ``STDERR``, as it comes.

    Raises:
        ConnectionResetError: It ended within a frame: what came is not all.
    """
    held = bytearray()
    for chunk in chunks:
        held += chunk
        while len(held) >= _HEADER.size:
            source, size = _HEADER.unpack_from(held)
            end = _HEADER.size + size
            if len(held) < end:
                break
            if size:
                yield source, bytes(held[_HEADER.size : end])
            del held[:end]
    if held:
        raise ConnectionResetError("the output of a command ended before its end")
