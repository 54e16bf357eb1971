"""What a private engine's containers leave behind when its dockerd is killed instead of stopped."""

import contextlib
import os
import select
import signal
from collections.abc import Iterable
from pathlib import Path

from engine_lib import daemon
from engine_lib.errors import EngineToolError
from engine_lib.process import PROC

KILL_TIMEOUT_S = 20.0
CGROUPS = Path("/sys/fs/cgroup")
# Where every shim of a machine has its socket, whichever containerd started it.
SHIM_SOCKETS = Path("/run/containerd/s")


def remove(layout: daemon.Layout) -> None:
    """End the containers that still run, and their shims; remove their cgroups and sockets.

    Raises:
        EngineToolError: a process does not end.
    """
    containers = layout.folder / "data/containers"
    ids = {path.name for path in containers.iterdir()} if containers.exists() else set()
    address = str(layout.exec_root / "containerd/containerd.sock")
    kill(list_leftovers(address, ids))
    remove_cgroups(ids)
    remove_shim_sockets(layout.exec_root)


def list_leftovers(address: str, container_ids: Iterable[str], proc: Path = PROC) -> list[int]:
    """Shims that serve a containerd address, then processes in the cgroups of containers."""
    shims, members = [], []
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            cgroups = (folder / "cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if os.fsencode(address) in words:
            shims.append(int(folder.name))
        elif any(container_id in cgroups for container_id in container_ids):
            members.append(int(folder.name))
    return shims + members


def kill(pids: Iterable[int]) -> None:
    """Kill processes and wait until all have ended.

    Raises:
        EngineToolError: one does not end.
    """
    with contextlib.ExitStack() as opened:
        waiting = select.poll()
        descriptors = set()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                opened.callback(os.close, descriptor)
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                waiting.register(descriptor, select.POLLIN)
                descriptors.add(descriptor)
        while descriptors:
            ended = waiting.poll(KILL_TIMEOUT_S * 1000)
            if not ended:
                raise EngineToolError("Killed processes of an earlier private engine do not end.")
            for descriptor, _event in ended:
                waiting.unregister(descriptor)
                descriptors.remove(descriptor)


def remove_cgroups(container_ids: Iterable[str], cgroups: Path = CGROUPS) -> None:
    """Remove the cgroups of containers that have ended, of every v1 hierarchy and of v2."""
    for container_id in container_ids:
        for pattern in (f"*/docker/{container_id}", f"docker/{container_id}"):
            for top in cgroups.glob(pattern):
                for folder, _folders, _files in os.walk(top, topdown=False):
                    Path(folder).rmdir()


def remove_shim_sockets(exec_root: Path, sockets: Path = SHIM_SOCKETS) -> None:
    """Remove the sockets of killed shims, which containerd notes beside each container."""
    for note in exec_root.glob("containerd/daemon/io.containerd.runtime.v2.task/*/*/address"):
        socket = Path(note.read_text().strip().removeprefix("unix://"))
        if socket.parent == sockets:
            socket.unlink(missing_ok=True)
