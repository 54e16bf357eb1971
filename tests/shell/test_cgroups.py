"""The container's cgroup, over a temporary tree and, where the machine has one, a real tree."""

import fcntl
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.shell.conftest import Node, wait_for

V1 = "4:memory:/docker/0f3a\n0::/docker/0f3a\n"
PRIVATE = "0::/\n"
HOST = "0::/system.slice/docker-0f3a.scope\n"
FLAG = "--kubelet-arg=fail-cgroupv1=false\n"


def tree(node: Node, membership: str, *, v2: bool) -> Path:
    cgroup = node.root / "sys/fs/cgroup"
    cgroup.mkdir(parents=True)
    node.write("proc/self/cgroup", membership)
    if v2:
        (cgroup / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
        (cgroup / "cgroup.procs").write_text("1\n0\n77\n")
        (cgroup / "cgroup.subtree_control").touch()
    return cgroup


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("v2", "minor", "user", "expected"),
    [
        (False, "36", "", FLAG),
        (False, "35", "", FLAG),
        (False, "", "", FLAG),
        (False, "34", "", ""),
        (False, "36", "--kubelet-arg=fail-cgroupv1=true", ""),
        (True, "36", "", ""),
    ],
)
def test_kubelet_is_told_of_cgroup_v1_alone(
    node: Node, v2: bool, minor: str, user: str, expected: str
) -> None:
    """R97."""
    tree(node, PRIVATE, v2=v2)
    script = f'minor={minor}; set_cgroup_arguments "$@"; printf %s "$extra_arguments"'
    assert node.answer(script, "server", user) == expected


@pytest.mark.parametrize(("membership", "v2"), [(V1, False), (HOST, True)])
def test_a_tree_that_is_not_the_container_s_own_is_not_touched(
    node: Node, membership: str, v2: bool
) -> None:
    cgroup = tree(node, membership, v2=v2)
    before = contents(cgroup)
    node.answer("leave_root_cgroup")
    assert contents(cgroup) == before
    assert not (cgroup / "init").exists()


class Moved:
    """Collects what is written to init/cgroup.procs, one process id a write as the kernel wants."""

    def __init__(self, cgroup: Path) -> None:
        (cgroup / "init").mkdir()
        pipe = cgroup / "init/cgroup.procs"
        os.mkfifo(pipe)
        self._fd = os.open(pipe, os.O_RDWR)
        self.writes: list[str] = []
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def _collect(self) -> None:
        while (chunk := os.read(self._fd, 4096).decode()) != "end\n":
            self.writes += [line for line in chunk.splitlines() if line != "end"]
            if chunk.endswith("end\n"):
                break

    def stop(self) -> list[str]:
        os.write(self._fd, b"end\n")
        self._thread.join()
        os.close(self._fd)
        return self.writes


def test_a_private_root_is_emptied_and_passes_its_controllers_on(node: Node) -> None:
    """R96."""
    cgroup = tree(node, PRIVATE, v2=True)
    moved = Moved(cgroup)
    node.answer("leave_root_cgroup")
    assert moved.stop() == ["1", "0", "77"]
    assert (cgroup / "cgroup.subtree_control").read_text() == "+cpuset +cpu +memory +pids\n"


def test_processes_that_keep_coming_are_moved_again(node: Node) -> None:
    """R96: the write fails, as with EBUSY, until the third wait is over."""
    cgroup = tree(node, PRIVATE, v2=True)
    (cgroup / "cgroup.subtree_control").unlink()
    (cgroup / "cgroup.subtree_control").symlink_to("later/file")
    moved = Moved(cgroup)
    script = """
        waits=0
        pause() { waits=$((waits + 1)); [ "$waits" -lt 3 ] || mkdir -p "$cgroup/later"; }
        leave_root_cgroup
        echo "$waits" """
    assert node.answer(script) == "3\n"
    assert moved.stop() == ["1", "0", "77"] * 4
    assert (cgroup / "later/file").read_text() == "+cpuset +cpu +memory +pids\n"


def test_a_root_that_never_empties_ends_with_71(node: Node) -> None:
    """R96."""
    cgroup = tree(node, PRIVATE, v2=True)
    (cgroup / "cgroup.subtree_control").unlink()
    (cgroup / "cgroup.subtree_control").symlink_to("never/file")
    done = node.call("pause() { :; }; leave_root_cgroup")
    assert done.returncode == 71
    assert "the container's cgroup still holds processes: 1" in done.stderr


@pytest.fixture
def own_cgroup() -> Iterator[Path]:
    """A cgroup of the machine's v2 tree with a controller to pass on, for one run of tests."""
    with (Path(tempfile.gettempdir()) / "openshell-entrypoint-cgroup.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield from made_cgroup()


def is_removed(cgroup: Path) -> bool:
    """A process that was killed leaves its cgroup a little later."""
    try:
        cgroup.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def made_cgroup() -> Iterator[Path]:
    root = next((p for p in map(Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
                 if (p / "cgroup.controllers").exists()), None)  # fmt: skip
    controllers = root.joinpath("cgroup.controllers").read_text().split() if root else []
    if root is None or not controllers or os.geteuid() != 0:
        pytest.skip("no cgroup v2 tree with a controller that may be written")
    passed = (root / "cgroup.subtree_control").read_text().split()
    folder = root / f"openshell-entrypoint-{os.getpid()}"
    added = [] if passed else controllers[:1]
    try:
        if added:
            (root / "cgroup.subtree_control").write_text(f"+{added[0]}")
        folder.mkdir()
    except OSError as denied:
        pytest.skip(f"the cgroup v2 tree cannot be written: {denied}")
    yield folder
    for child in (folder / "init", folder):
        wait_for(partial(is_removed, child), f"{child} to be empty")
    if added:
        (root / "cgroup.subtree_control").write_text(f"-{added[0]}")


def test_the_kernel_takes_it_on_a_real_tree(node: Node, own_cgroup: Path) -> None:
    """R96."""
    tree(node, PRIVATE, v2=False)
    script = """
        sleep 60 >/dev/null 2>&1 &
        other=$!
        printf '+%s' "$(cat "$cgroup/cgroup.controllers")" >"$cgroup/cgroup.subtree_control" &&
          exit 1 # the kernel's rule is in force here
        leave_root_cgroup
        cat "$cgroup/cgroup.procs" "$cgroup/cgroup.subtree_control"
        grep ^0:: /proc/self/cgroup
        kill -KILL "$other" # one that is still on its way to sleep would lose a TERM"""
    enter = (
        'echo $$ >"$0/cgroup.procs" && exec unshare --cgroup --mount sh -c '
        '\'mount -t cgroup2 none "$ROOT/sys/fs/cgroup" && exec "$@"\' sh "$@"'
    )
    done = subprocess.run(
        ["sh", "-c", enter, str(own_cgroup), *node.argv(script)],
        env=node.variables, capture_output=True, text=True, timeout=8, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    controllers = (own_cgroup / "cgroup.controllers").read_text()
    assert done.stdout == f"{controllers}0::/init\n"
