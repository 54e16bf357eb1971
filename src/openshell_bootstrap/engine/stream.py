"""The two-way stream that an exec runs over, and its frames."""

import io
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import requests

STDOUT = 1
STDERR = 2
_CHUNK = 65536
_HEADER = struct.Struct(">BxxxL")


class Channel(Protocol):
    """What a socket and an ssh channel have in common."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""

    def settimeout(self, value: float | None, /) -> None:
        """Let a read or write raise TimeoutError after so many seconds; None: never."""


@dataclass(frozen=True, slots=True)
class Duplex:
    """An upgraded connection.

    Reading goes through the buffer that read the answer's head: the first output may have come
    with it.
    """

    response: requests.Response
    reader: Any
    channel: Channel

    @classmethod
    def of(cls, response: requests.Response) -> "Duplex":
        """Take over the connection of an answer to an upgrade."""
        # Neither requests nor http.client hands out an upgraded connection; the Docker library
        # reaches for it the same way.
        raw: Any = response.raw
        reader = raw._fp.fp  # noqa: SLF001
        ssh_channel = getattr(reader, "channel", None)
        return cls(response, reader, ssh_channel or reader.raw._sock)  # noqa: SLF001

    @property
    def is_tls(self) -> bool:
        """It is encrypted, so that it can be ended in both directions only."""
        return isinstance(self.channel, ssl.SSLSocket)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Output as it comes, told apart by ``STDOUT`` and ``STDERR``, to its end.

        Raises:
            TimeoutError: The time set on the channel ran out.
        """
        while head := self.reader.read(_HEADER.size):
            source, size = _HEADER.unpack(head)
            if body := self.reader.read(size):
                yield source, body

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Output of a terminal as it comes: all of it is ``STDOUT``."""
        while chunk := self._read_some():
            yield STDOUT, chunk

    def _read_some(self) -> bytes:
        """What is there, one byte at least; an ssh channel's file can only be asked for a size."""
        if isinstance(self.reader, io.BufferedReader):
            return self.reader.read1(_CHUNK)
        return bytes(self.reader.read(1))

    def send(self, data: bytes) -> None:
        """Send input. A command that wants no more of it is no error: its output tells."""
        with suppress(OSError):
            self.channel.sendall(data)

    def end_input(self) -> None:
        """Tell the command that there is no more input, and go on reading. Not over TLS."""
        if self.is_tls:
            return
        with suppress(OSError):
            if isinstance(self.channel, socket.socket):
                self.channel.shutdown(socket.SHUT_WR)
            else:
                self.channel.shutdown_write()  # type: ignore[attr-defined]  # paramiko's

    def hang_up(self) -> None:
        """End both directions, so that a thread which still sends is let go.

        An engine whose command has ended may neither read what is left nor close its side.
        """
        with suppress(OSError):
            if isinstance(self.channel, socket.socket):
                self.channel.shutdown(socket.SHUT_RDWR)
            else:
                self.channel.close()  # type: ignore[attr-defined]  # paramiko's

    def close(self) -> None:
        """Give up the connection."""
        self.response.close()
