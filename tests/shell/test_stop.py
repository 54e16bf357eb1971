"""Signals, restarts in place and the order in which a node ends."""

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.shell.conftest import Life, Node, wait_for

Start = Callable[..., Life]


def test_term_stops_k3s_and_ends_with_status_0(life: Start) -> None:
    """R84."""
    run = life()
    run.await_line("started")
    run.send()
    assert run.end() == 0, run.log
    assert run.lines() == ["started", "term"]


@pytest.mark.parametrize("delay_ms", [0, 5, 15, 30, 60, 100])
def test_term_in_the_first_moments_is_never_missed(life: Start, delay_ms: int) -> None:
    run = life()
    wait_for(run.is_trapping, "the first statement")
    time.sleep(delay_ms / 1000)
    run.send()
    assert run.end() == 0, run.log


def test_more_signals_change_nothing(life: Start, node: Node) -> None:
    node.environment["BEHAVIOUR"] = "pods"
    run = life()
    run.await_line("started")
    while not run.has_ended():
        with suppress(ProcessLookupError):
            run.send()
        time.sleep(0.002)
    assert run.end() == 0, run.log
    assert run.lines() == ["started", "term", "one finished"], run.log


def test_a_k3s_that_ignores_term_is_killed(life: Start, node: Node) -> None:
    """R84."""
    node.environment["BEHAVIOUR"] = "deaf"
    run = life(prepare="k3s_grace_s=1")
    run.await_line("started")
    run.send()
    assert run.end() == 0
    assert "k3s did not end within 1 s: killing it" in run.log


def test_pods_finish_after_containerd_is_gone(life: Start, node: Node) -> None:
    """R84, R85."""
    node.environment["BEHAVIOUR"] = "pods"
    run = life()
    run.await_line("started")
    begun = time.monotonic()
    run.send()
    assert run.end() == 0, run.log
    # The foreign shim's pod is inside another pod: it is not asked, and the pause process neither.
    assert run.lines() == ["started", "term", "one finished"]
    assert time.monotonic() - begun < 4, "what ignores TERM must not use up the pods' time"


def test_a_pod_that_never_finishes_is_killed(life: Start, node: Node) -> None:
    """R84."""
    node.environment["BEHAVIOUR"] = "pods"
    pod = node.bin / "pod-process"
    pod.write_text(pod.read_text().replace("sleep 0.5", "sleep 60"))
    run = life(prepare="pods_grace_s=1")
    run.await_line("started")
    run.send()
    assert run.end() == 0
    assert "pods still running after 1 s are killed" in run.log
    assert "one finished" not in run.lines()


def test_k3s_is_started_again_with_its_pods_untouched(life: Start, node: Node) -> None:
    node.environment["BEHAVIOUR"] = "pods"
    run = life()
    run.await_line("started")
    first = (node.root / "run/openshell/k3s-started").stat().st_ino
    pods = run.called("pod-process")
    [k3s] = run.called("k3s")
    os.kill(k3s, signal.SIGKILL)
    run.await_line("started", times=2)
    assert pods <= set(run.processes())
    assert (node.root / "run/openshell/k3s-started").stat().st_ino != first
    assert not run.called("containerd"), "two must not run on one store"
    assert "with status 137: starting it again" in run.log


def test_three_restarts_then_status_70(life: Start, node: Node) -> None:
    node.environment["BEHAVIOUR"] = "dies"
    run = life()
    assert run.end() == 70
    assert run.lines().count("started") == 4
    assert "k3s ended by itself with status 3 after 3 restarts in 300 s" in run.log


def test_term_between_restarts(life: Start, node: Node) -> None:
    node.environment["BEHAVIOUR"] = "dies"
    run = life(prepare="restart_limit=1000")
    run.await_line("started", times=3)
    run.send()
    assert run.end() == 0, run.log


def test_restarts_long_ago_do_not_count(node: Node) -> None:
    script = """
        for at in 1000 1100 1200 1299 1301 1600; do
          printf '%s.00 0\n' "$at" >"$root/proc/uptime"
          may_restart && printf '%s ' "$at" || printf '(%s) ' "$at"
        done"""
    assert node.answer(script) == "1000 1100 1200 (1299) (1301) 1600 "


def test_orphans_leave_no_zombie(life: Start, node: Node) -> None:
    node.environment["BEHAVIOUR"] = "orphans"
    run = life()
    run.await_line("started")

    def zombies() -> list[str]:
        found = []
        for entry in run.processes().values():
            with suppress(OSError):
                found += re.findall(r"\) Z ", (entry / "stat").read_text())
        return found

    wait_for(lambda: not zombies(), "orphans to be reaped")
