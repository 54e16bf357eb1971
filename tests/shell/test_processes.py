"""What is read from /proc."""

import signal
import subprocess
import time

import pytest

from tests.shell.conftest import Node, wait_for

MASK = "SigPnd:\t0000000000000000\nSigBlk:\t{blk:016x}\nSigIgn:\t{ign:016x}\nSigCgt:\t{cgt:016x}\n"
TERM = 1 << signal.SIGTERM - 1
REST = (1 << 64) - 1 & ~TERM


@pytest.mark.parametrize(
    ("blk", "ign", "cgt", "may"),
    [
        (0, 0, TERM, True),
        (TERM, 0, 0, True),
        (0, 0, TERM | 1, True),
        (0, TERM, 0, False),
        (0, 0, 0, False),
        (REST, REST, REST, False),
        (REST | TERM, 0, 0, True),
    ],
)
def test_who_may_catch_term(node: Node, blk: int, ign: int, cgt: int, may: bool) -> None:
    node.write("proc/7/status", "Name:\tx\n" + MASK.format(blk=blk, ign=ign, cgt=cgt))
    answer = node.answer("if may_catch_term 7; then echo yes; else echo no; fi")
    assert answer == ("yes\n" if may else "no\n")


@pytest.mark.parametrize("script", ["may_catch_term 7", "read_process 7", "is_running 7"])
def test_a_process_that_is_gone(node: Node, script: str) -> None:
    done = node.call(f"if {script}; then echo there; fi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("7 (k3s-server) S 1 7 7 0", "k3s-server|S|1"),
        ("7 (a) b (c) Z) R 42 7 7 0", "a) b (c) Z|R|42"),
        ("7 (* $x) S 3 7 7 0", "* $x|S|3"),
    ],
)
def test_a_process_is_read_whatever_its_name(node: Node, stat: str, expected: str) -> None:
    node.write("proc/7/stat", stat + "\n")
    assert node.answer('read_process 7; printf %s "$comm|$state|$ppid"') == expected


def test_a_zombie_has_ended(node: Node) -> None:
    node.write("proc/7/stat", "7 (x) Z 1 7 7 0\n")
    node.write("proc/8/stat", "8 (x) S 1 8 8 0\n")
    assert node.answer("await_end 1 7; is_running 8; echo ended") == "ended\n"


def test_the_deadline_is_kept(node: Node) -> None:
    node.write("proc/8/stat", "8 (x) S 1 8 8 0\n")
    script = """
        pause() { now=$((now + 1)); printf '%s.00 0\n' "$now" >"$root/proc/uptime"; }
        await_end 3 7 8 || echo "$now $running" """
    assert node.answer(script) == "1003 8\n"


def test_a_pause_ends_with_a_signal_at_once(node: Node) -> None:
    shell = subprocess.Popen(
        node.argv("trap 'echo caught; exit' TERM; echo ready; pause 60"),
        env=node.variables, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shell.stdout
    assert shell.stdout.readline() == "ready\n"
    begun = time.monotonic()
    shell.terminate()
    assert shell.stdout.readline() == "caught\n"
    assert time.monotonic() - begun < 1
    wait_for(lambda: shell.poll() is not None, "the end")
    shell.stdout.close()


def test_a_thousand_processes_are_looked_at_in_a_moment(node: Node) -> None:
    shim_line = "containerd-shim-runc-v2\0-namespace\0k8s.io\0-address\0"
    address = f"{node.root}/run/k3s/containerd/containerd.sock\0"
    for pid in range(100, 1100):
        shim = pid % 4 == 0
        name = "containerd-shim" if shim else "worker"
        parent = 1 if shim else pid - pid % 4
        node.write(f"proc/{pid}/stat", f"{pid} ({name}) S {parent} {'0 ' * 90}\n")
        node.write(f"proc/{pid}/cmdline", shim_line + address if shim else "worker\0")
        if shim:
            node.write(f"proc/{pid}/cwd/init.pid", str(pid + 1))
    begun = time.monotonic()
    counted = node.answer(
        'count() { echo "$#"; }; find_pods; count $pod_processes; count $shims; count $sandboxes'
    )
    assert counted.split() == ["500", "250", "250"]
    assert time.monotonic() - begun < 2
