"""A user at a terminal."""

import os
import pty
import subprocess
from collections.abc import Iterator

from tests.integration.gateway.driver import OPENSHELL, Gateway


def answer(gateway: Gateway, said: str) -> tuple[int, str]:
    """Destroy it on a terminal, and say this when asked."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [OPENSHELL, "gateway", "destroy", "--name", gateway.name],
        env=gateway.command.full_environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        told = b"".join(read_until(ours, b"[y/N]"))
        os.write(ours, f"{said}\n".encode())
        told += b"".join(read_until(ours, b"\0"))
    os.close(ours)
    return process.returncode, told.decode()


def read_until(terminal: int, end: bytes) -> Iterator[bytes]:
    """What a terminal shows up to this, or to the end of those who write to it."""
    shown = b""
    while end not in shown:
        try:
            shown = os.read(terminal, 4096)
        except OSError:  # EIO: nobody has the other side any more
            return
        yield shown
