"""A gateway in memory with all that stands beside it, which can be put back as it was.

Commands run as a user's do: words through the command line to an exit code and text.
"""

import hashlib
import io
import os
import pickle
import random
import secrets
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from openshell_bootstrap.cli.main import app
from openshell_bootstrap.cli.wiring import Wiring
from openshell_bootstrap.cluster.kubeconfig import build_kubeconfig
from openshell_bootstrap.gateway import kubeconfig as gateway_kubeconfig
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.starting import save_records
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE, Settings
from openshell_bootstrap.store.host import Store, open_store
from openshell_bootstrap.store.lock import LockFolders
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeEngine
from tests.fakes.host import FakeHost
from tests.fakes.kube import FakeKube
from tests.fakes.node import FakeNodes
from tests.faults.faulty import NOBODY, FaultyEngine, Injector
from tests.faults.kinds import Killed
from tests.unit.gateway.conftest import DECLARED, World

GATEWAY = "t1"
NAME = f"openshell-cluster-{GATEWAY}"
COMMAND: Any = typer.main.get_command(app)
"""Building it takes longer than most operations do in memory."""

DIAGNOSTICS = "/diagnostics/"
"""In the path of what a failure saved of itself, which is another one each time."""

HASTE = 20
"""Waits look that much less often: nothing changes between most looks here."""

KILLED = -9
"""Exit code of a process that SIGKILL ended, as ``subprocess`` tells it."""


_UNLINK = os.unlink
_BUILD_KUBECONFIG = cache(build_kubeconfig)
"""It is pure, and half of what a start costs here."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ran to its end, or was killed."""

    exit_code: int
    out: str
    err: str

    @property
    def told(self) -> str:
        return f"{self.out}\n{self.err}"


@dataclass(slots=True)
class Stage:
    """One world at a time.

    Attributes:
        folder: The user's home.
        world: What there is now.
        injector: Between the command that runs and the engine.
    """

    folder: Path
    world: World = field(init=False)
    injector: Injector = field(default_factory=Injector)
    _seen: dict[str, Any] | None = None

    def new(self) -> None:
        """A host with an engine, and nothing of a gateway."""
        self._seen = None
        self._empty_home()
        engine, clock = FakeEngine(), FakeClock()
        engine.add_image(DEFAULT_NODE_IMAGE, declared_volumes=DECLARED)
        self.world = World(engine, FakeNodes(engine, clock), FakeHost(), self._store(), clock)

    def keep(self) -> bytes:
        """Everything as it is now."""
        return pickle.dumps((self.world, self.home()))

    def put_back(self, kept: bytes) -> None:
        self._seen = None
        self.world, wanted = pickle.loads(kept)
        present = self.home()
        for name in present.keys() - wanted.keys():
            _UNLINK(self.folder / name)
        for name, content in wanted.items():
            if present.get(name) != content:
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def home(self) -> dict[str, bytes]:
        """The user's files, but for the locks of gateways, which end with their holder."""
        found = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != "locks"]
            for name in names:
                path = f"{folder}/{name}"
                with open(path, "rb") as file:  # noqa: PTH123 - a Path for each costs more than the read
                    found[os.path.relpath(path, self.folder)] = file.read()
        return found

    def let_files_age(self) -> None:
        """Half-written files of a killed command are old when the next one comes."""
        for path in self.folder.rglob(".*"):
            os.utime(path, (0, 0))

    def run(self, *words: str, at: int = NOBODY, kind: str = "") -> Ran:
        """Run a command line, with one of its calls broken."""
        self._seen = None
        self.injector = injector = Injector(at, kind)
        random.seed(0)
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        try:
            with redirect_stdout(out), redirect_stderr(err):
                COMMAND.main(list(words), obj=self._wiring(), prog_name="openshell")
        except Killed:
            return Ran(KILLED, "", "")
        except SystemExit as ended:
            return Ran(int(ended.code or 0), _text(out), _text(err))
        finally:
            self.injector = Injector(calls=injector.calls)
        raise AssertionError(words)

    def now(self) -> float:
        """The time in whichever world there is now."""
        return self.world.clock.time()

    @property
    def kube(self) -> FakeKube | None:
        return self.world.nodes.clusters.get(NAME)

    def _wiring(self) -> Wiring:
        wiring = Wiring()
        found: Any = wiring
        found.engine = FaultyEngine(self.world.engine, self.injector)
        found.store = self.world.store
        found.settings = Settings(
            gateway=None,
            node_image=None,
            is_ci=False,
            proxies={},
            kubeconfig=self.folder / "kubeconfig",
        )
        return wiring

    def _store(self) -> Store:
        locks = LockFolders(self.folder / "locks", self.folder / "user" / "locks")
        return replace(open_store("openshell"), locks=locks)

    def _empty_home(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()

    def summary(self) -> dict[str, Any]:
        """Everything that a fault could change, without what differs from run to run."""
        self._seen = self._seen or self._look()
        return dict(self._seen)

    def _look(self) -> dict[str, Any]:
        state = self.world.engine.state
        return {
            "containers": {
                box.id: (box.name, box.status, box.restart_policy, sorted(box.spec.labels.items()),
                         [str(mount) for mount in box.mounts], box.attachments,
                         _digest(box.files.nodes))
                for box in state.boxes.values()
            },
            "volumes": {
                name: (sorted(disk.volume.labels.items()), _digest(disk.tree.nodes))
                for name, disk in state.disks.items()
            },
            "networks": {one.id: (one.name, one.containers) for one in state.networks.values()},
            "cluster": self.objects(),
            "home": {path: one for path, one in self.home().items() if DIAGNOSTICS not in path},
        }  # fmt: skip

    def objects(self) -> dict[str, str]:
        """The cluster's objects, each with what makes it another one."""
        kube = self.kube
        if kube is None:
            return {}
        return {
            "/".join(key): str(made["spec"].get("nodeAffinity", made["metadata"].get("uid")))
            if key[0] in {"PersistentVolume", "PersistentVolumeClaim"}
            else str(made["metadata"].get("deletionTimestamp"))
            for key, made in kube.objects.items()
        }


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _digest(nodes: Any) -> str:
    return hashlib.sha256(repr(sorted(nodes.items())).encode()).hexdigest()


def fingerprint(summary: dict[str, Any]) -> str:
    """Equal for equal summaries."""
    return hashlib.sha256(repr(summary).encode()).hexdigest()


@contextmanager
def staged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage, with clock, host, disk and chance of the machine replaced by its own."""
    stage = Stage(folder)
    with monkeypatch.context() as patched:
        patched.setattr(time, "sleep", lambda seconds: stage.world.clock.sleep(HASTE * seconds))
        patched.setattr(time, "monotonic", stage.now)
        patched.setattr(time, "time", stage.now)
        patched.setattr(secrets, "token_hex", lambda size=32: random.randbytes(size).hex())
        patched.setattr(secrets, "token_bytes", lambda size=32: random.randbytes(size))
        patched.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=random.randbytes(16)))
        for module in (save_records, gateway_kubeconfig.entries):
            patched.setattr(module, "build_kubeconfig", _BUILD_KUBECONFIG)
        _patch_host(stage, patched)
        _patch_disk(stage, patched)
        for variable in ("CONFIG", "DATA", "STATE", "CACHE"):
            patched.setenv(f"XDG_{variable}_HOME", str(folder / variable.lower()))
        stage.new()
        yield stage


def _patch_host(stage: Stage, patched: pytest.MonkeyPatch) -> None:
    """Every operation that makes its own ``Host`` gets the stage's."""

    def given_by(name: str) -> Callable[..., Any]:
        return lambda _host, *given: getattr(FakeHost, name)(stage.world.host, *given)

    for name in (name for name in vars(FakeHost) if callable(getattr(Host, name, None))):
        if not name.startswith("__"):
            patched.setattr(Host, name, given_by(name))


def _patch_disk(stage: Stage, patched: pytest.MonkeyPatch) -> None:
    """Before a file of the user gets its name there is a call too; the dead remove nothing."""

    def unlink_alive(*given: Any, **how: Any) -> None:
        stage.injector.check_alive()
        _UNLINK(*given, **how)

    patched.setattr(os, "fsync", lambda _file: stage.injector.call("disk.fsync", lambda: None))
    patched.setattr(os, "unlink", unlink_alive)
