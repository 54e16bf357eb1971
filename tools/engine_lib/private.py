"""A second engine in a folder of its own, for tests that restart it, fill its disk or lose it.

It lives in its own network namespace: two dockerd in one namespace rewrite each other's NAT rules.
The namespace outlives dockerd, as a machine's does: a dockerd that was killed finds its containers
as they are, and takes them up as it does on any machine.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from engine_lib import daemon, leftovers, probe
from engine_lib.errors import EngineToolError
from engine_lib.process import Record, find_record, locked, write_record

# sun_path of unix(7) holds 108 bytes with its final zero; containerd's is the longest socket.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET = "exec/containerd/containerd.sock.ttrpc"
SIZE_UNITS = {"M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """Bytes from a size such as 512M or 8G.

    Raises:
        ValueError: not such a size.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})([MG])", text)
    if not match:
        raise ValueError(f"{text!r} is not a size such as 512M or 8G")
    return int(match[1]) * SIZE_UNITS[match[2]]


def layout_in(folder: Path) -> daemon.Layout:
    """The layout of a private engine.

    Raises:
        EngineToolError: the folder's path is too long for the sockets in it.
    """
    folder = folder.resolve()
    longest = folder / LONGEST_SOCKET
    if len(os.fsencode(longest)) > SOCKET_PATH_LIMIT:
        raise EngineToolError(
            f"{folder} is too long a path: {longest} would exceed the {SOCKET_PATH_LIMIT} bytes "
            "of a Unix socket's path. Choose a shorter folder."
        )
    return daemon.Layout(folder, folder / "docker.sock", folder / "exec", is_private=True)


def find_running(layout: daemon.Layout) -> Record | None:
    """The record of the private engine, if its daemon runs."""
    record = find_record(layout.record)
    return record if record and record.is_alive() else None


def up(layout: daemon.Layout, size_bytes: int | None) -> tuple[Record, bool]:
    """Start the private engine unless it runs; its record and whether it was started now.

    Raises:
        EngineToolError: the folder is not this tool's, or the engine does not come up.
    """
    with locked(layout.folder) as made_folder:
        if running := find_running(layout):
            if probe.find_engine(layout.endpoint) is None:
                raise EngineToolError(
                    f"dockerd runs but {layout.socket} is gone.\n"
                    f"Stop it and start again: tools/engine down --private {layout.folder}"
                )
            return running, False
        previous = find_record(layout.record)
        if previous is None and any(layout.folder.iterdir()):
            raise EngineToolError(
                f"{layout.folder} is not empty and holds no engine of this tool: left alone.\n"
                "Choose a folder that is empty or does not exist."
            )
        begun = Record(previous.made_folder if previous else made_folder)
        # Written before anything else is made, so that `down` can remove what a kill leaves.
        write_record(layout.record, begun)
        if not os.path.ismount(namespace_of(layout)):
            # The machine was started anew, or is to seem so.
            leftovers.remove(layout)
            _make_namespace(namespace_of(layout))
        _ensure_disk(layout.folder, size_bytes)
        return _start(layout, made_folder=begun.made_folder), True


def namespace_of(layout: daemon.Layout) -> Path:
    """The file at which the engine's network namespace is kept (ip-netns(8) does it likewise)."""
    return layout.folder / "netns"


def _make_namespace(file: Path) -> None:
    file.touch()
    _run("unshare", f"--net={file}", "ip", "link", "set", "lo", "up")


def _start(layout: daemon.Layout, *, made_folder: bool) -> Record:
    # An own configuration file keeps the machine's /etc/docker/daemon.json out, and an own
    # namespace keeps the two apart if both use a containerd that the system runs.
    configuration = layout.folder / "daemon.json"
    configuration.write_text("{}\n")
    namespace = f"private-{hashlib.sha256(os.fsencode(layout.folder)).hexdigest()[:12]}"
    return daemon.start(
        layout,
        made_folder=made_folder,
        prefix=["nsenter", f"--net={namespace_of(layout)}", "--"],
        options=[
            f"--data-root={layout.folder / 'data'}",
            f"--config-file={configuration}",
            f"--containerd-namespace={namespace}",
            f"--containerd-plugins-namespace={namespace}-plugins",
        ],
    )


def _ensure_disk(folder: Path, size_bytes: int | None) -> None:
    """Make the data folder, on a file system of the given size if one is wanted."""
    data, disk = folder / "data", folder / "disk.img"
    if size_bytes is not None and data.exists() and not disk.exists():
        raise EngineToolError(
            f"{data} was made without --size. Remove it first, with all that is in it: "
            f"tools/engine down --private {folder}"
        )
    data.mkdir(exist_ok=True)
    if size_bytes is not None and not disk.exists():
        unfinished = disk.with_suffix(".new")
        with unfinished.open("wb") as image:
            image.truncate(size_bytes)
        # No blocks kept back for root, who would fill them too.
        _run("mkfs.ext4", "-q", "-F", "-m", "0", str(unfinished))
        unfinished.replace(disk)
    if disk.exists() and not data.is_mount():
        _run("mount", "-o", "loop", str(disk), str(data))


def down(layout: daemon.Layout) -> bool:
    """Stop the private engine and remove all that it and this tool made. False if there is none.

    Raises:
        EngineToolError: the folder is not this tool's, or something in it cannot be let go.
    """
    if not layout.folder.exists():
        return False
    with locked(layout.folder):
        record = find_record(layout.record)
        if record is None:
            if any(layout.folder.iterdir()):
                raise EngineToolError(f"{layout.folder} holds no engine of this tool: left alone.")
            return False
        daemon.stop(layout, record)
        leftovers.remove(layout)
        for mount in mounts_below(layout.folder, Path("/proc/self/mountinfo").read_text()):
            _run("umount", str(mount))
        _remove(layout, made_folder=record.made_folder)
        return True


def _remove(layout: daemon.Layout, *, made_folder: bool) -> None:
    if mounts_below(layout.folder, Path("/proc/self/mountinfo").read_text()):
        raise EngineToolError(f"Something is still mounted below {layout.folder}: nothing removed.")
    for name in ("data", "exec"):
        if (layout.folder / name).exists():
            shutil.rmtree(layout.folder / name)
    for name in ("docker.sock", "dockerd.pid", "dockerd.log", "dockerd.log.1", "daemon.json"):
        (layout.folder / name).unlink(missing_ok=True)
    for name in ("runc-bounded", "runc-bounded.new", "disk.img", "disk.new", "netns"):
        (layout.folder / name).unlink(missing_ok=True)
    # Last, so that a command that is cut short can be repeated.
    layout.record.unlink()
    if made_folder:
        with contextlib.suppress(OSError):
            layout.folder.rmdir()


def mounts_below(folder: Path, mountinfo: str) -> list[Path]:
    """The mount points below a folder, the deepest and latest first (proc_pid_mountinfo(5))."""
    found = []
    for line in mountinfo.splitlines():
        escaped = line.split(" ")[4]
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped))
        if folder in point.parents:
            found.append(point)
    return found[::-1]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineToolError(f"{' '.join(command)} failed: {done.stderr.strip()}")
