"""The entrypoint under the shells that it must run in, on a temporary root.

``node`` sources it and calls its functions. ``life`` runs the whole of it as PID 1 of a PID
namespace, with a network and a /proc of its own, so that signals, orphans and zombies are the
kernel's and nothing outside can be hurt.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.until import until

DEPLOY = Path(__file__).parents[2] / "deploy" / "docker"
PROGRAMS = Path(__file__).parent / "programs"
SHELLS = {"ash": ["busybox", "ash"], "dash": ["dash"]}
DEADLINE_S = 8.0

wait_for = partial(until, within_s=DEADLINE_S, every_s=0.01)
"""For what runs here, which is soon over."""


def unshare(*namespaces: str) -> list[str]:
    """Run what follows in namespaces of its own, as root there whoever runs the tests."""
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), *namespaces]


@pytest.fixture(params=list(SHELLS))
def shell(request: pytest.FixtureRequest) -> list[str]:
    argv = SHELLS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.fail(f"{argv[0]} is not installed: the node's scripts must be tested under it")
    return argv


@dataclass
class Node:
    """A temporary root with the bundle in it, as a created container has."""

    shell: list[str]
    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shutil.copytree(DEPLOY / "lib", self.bundle / "lib")
        shutil.copy(DEPLOY / "cluster-entrypoint.sh", self.bundle)
        self.bin.mkdir()
        for program in PROGRAMS.iterdir():
            shutil.copy(program, self.bin)
        self.write("proc/uptime", "1000.00 1000.00\n")
        self.write("proc/sys/kernel/hostname", "Box\n")
        (self.data / "openshell").mkdir(parents=True)  # made by lock_volume

    @property
    def bundle(self) -> Path:
        return self.root / "opt/openshell"

    @property
    def data(self) -> Path:
        return self.root / "var/lib/rancher/k3s"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def write(self, path: str, content: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "OPENSHELL_ENTRYPOINT_LIBRARY": str(self.bundle),
            "ROOT": str(self.root),
            **self.environment,
        }

    def argv(self, script: str, *arguments: str) -> list[str]:
        """A shell that has sourced the entrypoint, about to run ``script`` with ``arguments``."""
        source = 'root=$ROOT; . "$OPENSHELL_ENTRYPOINT_LIBRARY/cluster-entrypoint.sh"; '
        return [*self.shell, "-c", source + script, "entrypoint", *arguments]

    def call(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(script, *arguments),
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def answer(self, script: str, *arguments: str) -> str:
        """What ``script`` printed; it must have succeeded."""
        done = self.call(script, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def node(shell: list[str], tmp_path: Path) -> Node:
    # A path without the test's parameters: it is compared and split by the scripts.
    return Node(shell, tmp_path / "root")


class Life:
    """One run of the whole entrypoint as PID 1."""

    def __init__(self, node: Node, prepare: str, arguments: tuple[str, ...]) -> None:
        self.node = node
        self.journal = node.root / "journal"
        self.journal.touch()
        # PID 1 is the shell itself: what comes before it ends in exec.
        inside = 'ip link set lo up && ip route add default dev lo && exec "$@"'
        namespaces = unshare("--net", "--pid", "--fork", "--mount-proc", "--kill-child")
        self.stderr = node.root / "stderr"
        with self.stderr.open("w") as stderr:
            self.process = subprocess.Popen(
                [*namespaces, "sh", "-c", inside, "sh",
                 *node.argv(f'{prepare}; main "$@"', *arguments)],
                env=node.variables, stderr=stderr, stdout=stderr, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.pid: int = wait_for(self._find_pid_1, "PID 1") or 0

    def _find_pid_1(self) -> int | None:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(FileNotFoundError):
            if pids := children.read_text().split():
                return int(pids[0])
        return None

    def is_trapping(self) -> bool:
        """Whether the first statement has run: PID 1 has a handler for TERM."""
        with suppress(FileNotFoundError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) & 1 << signal.SIGTERM - 1)
        return False

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines()

    def await_line(self, line: str, times: int = 1) -> None:
        wait_for(lambda: self.lines().count(line) >= times, f"{line!r} in {self.lines()}")

    def processes(self) -> dict[int, Path]:
        """Host process id → /proc folder of everything in the namespace."""
        namespace = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "ns/pid").readlink() == namespace:
                    found[int(entry.name)] = entry
        return found

    def called(self, name: str) -> set[int]:
        """Process ids by the name that the kernel gives them.

        A shell's fork bears its name until it has become the program it is for; it is not meant.
        """
        parents: dict[int, int] = {}
        for pid, entry in self.processes().items():
            with suppress(OSError):
                _, _, fields = (entry / "stat").read_text().rpartition(")")
                if (entry / "comm").read_text() == f"{name}\n":
                    parents[pid] = int(fields.split()[1])
        return {pid for pid, parent in parents.items() if parent not in parents}

    def holders(self, path: Path) -> set[int]:
        """Who has this file open."""
        found = set()
        for pid, entry in self.processes().items():
            with suppress(OSError):
                if any(fd.readlink() == path for fd in (entry / "fd").iterdir()):
                    found.add(pid)
        return found

    def send(self, signal_number: int = signal.SIGTERM) -> None:
        os.kill(self.pid, signal_number)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> int:
        """Exit status of PID 1."""
        return self.process.wait(DEADLINE_S)

    @property
    def log(self) -> str:
        return self.stderr.read_text()


@pytest.fixture
def life(node: Node) -> Iterator[Callable[..., Life]]:
    lives: list[Life] = []
    (node.root / "proc").rename(node.root / "proc.fake")
    (node.root / "proc").symlink_to("/proc")
    node.write("etc/resolv.conf", "nameserver 192.0.2.1\n")

    def start(*arguments: str, prepare: str = ":") -> Life:
        lives.append(Life(node, prepare, arguments or ("server",)))
        return lives[-1]

    yield start
    for one in lives:
        one.process.kill()
        one.process.wait()
