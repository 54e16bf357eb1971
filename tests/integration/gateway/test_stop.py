"""A gateway stops without losing work, and k3s or a pod that ends leaves nothing behind."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.gateway.api import CREATED, Api
from tests.integration.gateway.driver import Gateway, docker, inspect
from tests.integration.gateway.workloads import (
    WORK_FOLDER,
    is_running,
    job,
    pod,
    running,
    stateful_set,
)
from tests.until import until

STOP_LIMIT_S = 60
MANY = 30
SLOW_TO_END = """
finish() { sleep 5; date >/work/slow; sync /work/slow; exit 0; }
trap finish TERM
while :; do sleep 0.2; done
"""
WORKS_UNTIL_TOLD = """
echo begun >>/work/"$0"
trap "exit 0" TERM
while [ ! -e /work/finish ]; do sleep 0.2; done
"""
IGNORES_TERM = 'trap "" TERM; while :; do sleep 1; done'
LIVES_ON = "trap : TERM; while :; do sleep 1; done"
CANNOT_CATCH_TERM = "exec sleep 98765"

FIND_K3S = """
for process in /proc/[0-9]*; do
    read -r _ comm _ parent _ <"$process/stat" || continue
    case $comm:$parent in '(k3s'*:1) echo "${process#/proc/}" ;; esac
done 2>/dev/null
"""
FIND_SLEEP = """
for process in /proc/[0-9]*; do
    case $(tr '\\0' ' ' <"$process/cmdline") in 'sleep 98765 ') echo "$process" ;; esac
done 2>/dev/null
"""
FIND_ZOMBIES = "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null || :"


@pytest.fixture(scope="module")
def as_left(make_gateway: Callable[[], Gateway]) -> Gateway:
    """A gateway that never ran, or whatever the test before left of it."""
    return make_gateway()


@pytest.fixture
def gateway(as_left: Gateway) -> Gateway:
    """The same, running."""
    if as_left.name not in docker("ps", "--format", "{{.Names}}"):
        as_left.start()
    return as_left


def timed_stop(gateway: Gateway, stop: Callable[[], Any]) -> None:
    begun = time.monotonic()
    stop()
    assert time.monotonic() - begun < STOP_LIMIT_S
    state = gateway.inspect()["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 0), docker("logs", gateway.container)


def started_at(gateway: Gateway) -> str:
    return gateway.inspect()["State"]["StartedAt"]


def await_age(gateway: Gateway, age_s: float) -> None:
    """Until so many seconds after the container was seen to run."""
    until(lambda: inspect(gateway.container)["State"]["Running"], "the container to run")
    begun = time.monotonic()
    until(lambda: time.monotonic() - begun >= age_s, f"an age of {age_s} s")


def test_term_in_the_first_second_of_the_first_life(as_left):
    """What is on the volume then is half made, and the next start completes it.

    The failed start takes the container away again: how that ended only the engine's events tell.
    """
    since = time.time()
    with as_left.command.begin("gateway", "start", "--name", as_left.name) as first:
        await_age(as_left, 0.5)
        docker("stop", as_left.container)
        told = first.communicate(timeout=STOP_LIMIT_S)
    assert first.returncode == 8, told
    span = [f"--since={since:.6f}", f"--until={time.time():.6f}"]
    ended = ["--filter=event=die", f"--filter=container={as_left.container}"]
    assert docker("events", *span, *ended, "--format={{.Actor.Attributes.exitCode}}") == "0"
    docker("volume", "inspect", as_left.container)
    as_left.start()
    assert as_left.nodes() == [as_left.node]


def test_term_in_the_first_second_of_a_later_life(gateway):
    gateway.run("stop")
    for age_s in (0, 0.5):
        docker("start", gateway.container)
        await_age(gateway, age_s)
        timed_stop(gateway, lambda: docker("stop", gateway.container))
    gateway.start()
    assert gateway.nodes() == [gateway.node]


OTHERS = {
    "gateway stop": {"ignoring": IGNORES_TERM},
    "docker stop": {"stubborn": LIVES_ON, "deaf": CANNOT_CATCH_TERM},
}


@pytest.mark.parametrize("way", OTHERS)
def test_pods_end_in_their_own_time_and_unfinished_work_goes_on(gateway, way, tmp_path):
    """R84, R85: also when another pod ignores TERM, goes on after it, or cannot know of it."""
    names = ["slow", "once", "retried", "never", *OTHERS[way]]
    begin_work(gateway)
    gateway.apply(*(pod(name, script) for name, script in OTHERS[way].items()))
    for name in names:
        until(lambda name=name: running(gateway, name), f"pod {name}")
    if way == "docker stop":
        timed_stop(gateway, lambda: docker("stop", gateway.container))
    else:
        timed_stop(gateway, lambda: gateway.run("stop"))
    docker("cp", f"{gateway.container}:{WORK_FOLDER}/slow", str(tmp_path))
    assert (tmp_path / "slow").read_text()
    gateway.start()
    began = started_at(gateway)
    names.remove("never")  # its pod must not run again, so that the job makes another
    for name in names:
        until(lambda name=name: running(gateway, name, since=began), f"pod {name} again")
    until(lambda: alive(gateway, "never"), "another pod of the job")
    for name in ("retried", "never"):
        status = gateway.get("job", name)["status"]
        assert status.get("succeeded", 0) == 0
        assert status.get("conditions", []) == []
    finish_work(gateway)


def begin_work(gateway: Gateway) -> None:
    gateway.exec("rm", "-rf", WORK_FOLDER)
    gateway.apply(
        pod("slow", SLOW_TO_END),
        pod("once", WORKS_UNTIL_TOLD, policy="OnFailure"),
        job("retried", WORKS_UNTIL_TOLD, policy="OnFailure"),
        job("never", WORKS_UNTIL_TOLD, policy="Never"),
    )


def alive(gateway: Gateway, app: str) -> bool:
    """A pod of that label runs, whatever became of others."""
    found = gateway.get("pods", "-l", f"app={app}")["items"]
    return any(one["status"]["phase"] == "Running" for one in found)


def finish_work(gateway: Gateway) -> None:
    gateway.exec("touch", f"{WORK_FOLDER}/finish")
    for name in ("retried", "never"):
        until(
            lambda name=name: gateway.get("job", name)["status"].get("succeeded") == 1,
            f"job {name} to complete",
        )
    until(lambda: gateway.get("pod", "once")["status"]["phase"] == "Succeeded", "pod once to end")
    gateway.kubectl("delete", "pods,jobs", "--all", "--now")


def test_k3s_killed_inside_is_back_and_pods_were_not_touched(gateway):
    gateway.apply(pod("steady", CANNOT_CATCH_TERM))
    until(lambda: running(gateway, "steady"), "pod steady")
    process = gateway.exec("sh", "-c", FIND_SLEEP)
    assert len(process.split()) == 1
    before, life = lives(gateway), started_at(gateway)
    started = gateway.exec("cat", "/run/openshell/k3s-started")
    gateway.exec("kill", "-9", *gateway.exec("sh", "-c", FIND_K3S).split())
    until(lambda: gateway.exec("cat", "/run/openshell/k3s-started") != started, "another k3s")
    until(lambda: gateway.run("status", expect=None).exit_code == 0, "a ready gateway")
    assert started_at(gateway) == life
    assert gateway.exec("sh", "-c", FIND_SLEEP) == process
    assert lives(gateway) == before
    gateway.kubectl("exec", "steady", "--", "true")
    gateway.kubectl("delete", "pod", "steady", "--now")


def lives(gateway: Gateway) -> dict[str, list[tuple[str, int, str]]]:
    """What would change in a pod's status if its containers were started again."""
    return {
        one["metadata"]["uid"]: [
            (each["containerID"], each["restartCount"], each["state"]["running"]["startedAt"])
            for each in one["status"]["containerStatuses"]
        ]
        for one in gateway.get("pods", "-A")["items"]
    }


def test_workloads_made_at_once_all_come_up_and_leave_no_zombie(gateway, tmp_path):
    """R88: thirty with a claim each, and as many pods again that make their folders."""
    script, workspace = "(sleep 0.5 &); exec sleep 1000", {"data": "openshell-workspace"}
    sets = [
        stateful_set(f"many-{number}", script, ready="", claims=workspace) for number in range(MANY)
    ]
    with ThreadPoolExecutor(MANY) as pool:
        made = list(pool.map(Api(gateway, tmp_path).create, sets))
    assert made == [CREATED] * MANY
    until(lambda: are_running(gateway, MANY), f"{MANY} pods")
    claims = gateway.get("persistentvolumeclaims")["items"]
    assert [one["status"]["phase"] for one in claims] == ["Bound"] * MANY
    gateway.kubectl("delete", "statefulsets,pods", "--all", "--now")
    until(lambda: not gateway.exec("sh", "-c", FIND_ZOMBIES), "the end of all zombies", 15)


def are_running(gateway: Gateway, count: int) -> bool:
    found = gateway.get("pods")["items"]
    return sum(is_running(one) for one in found) == count == len(found)
