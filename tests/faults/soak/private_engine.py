"""An engine of its own, which a test may stop, kill, cut off from power, or fill to the brim."""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.integration.engine.machines import TOOL, Private, run, traces

STOP_S = 150
DOWN_S = 200
GUARD = 'cat >/dev/null; "$1" down --private "$2" >/dev/null && rmdir "$3"'
CHUNKS = (1 << 20, 1 << 12, 1)


class PrivateEngine(Private):
    """Its data is on a disk of its own.

    A guard outlives the process that made it, however that ends, and takes everything down.
    """

    def __init__(self, size: str) -> None:
        # Not below pytest's folder: the path of a socket is bounded.
        parent = Path(tempfile.mkdtemp(prefix="openshell-soak-"))
        super().__init__(parent / "e")
        self.guard = subprocess.Popen(
            ["sh", "-c", GUARD, "sh", TOOL, self.folder, parent],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.up("--size", size)

    @property
    def host(self) -> str:
        """For DOCKER_HOST."""
        return self.environment["DOCKER_HOST"]

    def load(self, *images: str) -> None:
        """Copy images from the machine's own engine."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as save:
            loaded = subprocess.run(
                ["docker", "load", "--quiet"],
                env=self.environment,
                stdin=save.stdout,
                capture_output=True,
                check=False,
            )
        assert (save.returncode, loaded.returncode) == (0, 0), loaded.stderr.decode()

    def stop(self) -> None:
        """As the machine's service manager does: containers get their time to end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Only the daemon: its containers run on until the next one takes them up."""
        self._end(signal.SIGKILL)

    def lose_power(self) -> None:
        """Daemon, containers and network; what was written stays on the disk's cache."""
        self.kill()
        run("umount", self.folder / "netns")

    def fill(self) -> None:
        """Until not one more byte goes onto its disk."""
        with (self.folder / "data/fill").open("ab", buffering=0) as file:
            free = os.statvfs(file.fileno())
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
            file.seek(0, os.SEEK_END)
            for size in CHUNKS:
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def free(self) -> None:
        """Give back what :meth:`fill` took."""
        (self.folder / "data/fill").unlink(missing_ok=True)

    def close(self) -> None:
        """Take everything down, and see that it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.kill()  # nothing on it is worth the time that containers get to end
        _out, told = self.guard.communicate(timeout=DOWN_S)
        assert self.guard.returncode == 0, told
        assert not traces(self.folder.parent)

    def _end(self, number: signal.Signals) -> None:
        process = os.pidfd_open(self.pid())
        try:
            signal.pidfd_send_signal(process, number)
            ended = select.poll()
            ended.register(process, select.POLLIN)
            assert ended.poll(STOP_S * 1000), f"dockerd did not end within {STOP_S} s"
        finally:
            os.close(process)
