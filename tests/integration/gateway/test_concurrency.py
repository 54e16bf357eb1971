"""Commands that meet on one gateway, on two, and from two hosts: real processes, a real node."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openshell_bootstrap.store.lock import LockFolders, lock_name
from openshell_bootstrap.store.paths import SHARED_LOCKS, user_locks_folder
from tests.integration.gateway.driver import Gateway, Ran, docker, finish
from tests.until import until

LOCKED = 10
PATIENT = ("--wait-lock", 120)


@pytest.fixture(scope="module")
def gateways(make_gateway: Callable[[], Gateway]) -> tuple[Gateway, Gateway]:
    """Two gateways; what an earlier test left of them is the next one's beginning."""
    return make_gateway(), make_gateway()


def begin(gateway: Gateway, verb: str, *words: object) -> subprocess.Popen[str]:
    return gateway.command.begin("gateway", verb, "--name", gateway.name, *words)


def lock_of(gateway: Gateway) -> Path:
    folders = LockFolders(SHARED_LOCKS, user_locks_folder())
    return folders.shared / lock_name(docker("info", "--format", "{{.ID}}"), gateway.name)


def holding(gateway: Gateway, verb: str, *words: object) -> subprocess.Popen[str]:
    """A command that has the gateway's lock now."""
    process, lock = begin(gateway, verb, *words), lock_of(gateway)
    until(lambda: lock.exists() and lock.read_text().startswith(f"{process.pid}\n"), "the lock")
    return process


def well(process: subprocess.Popen[str]) -> Ran:
    ran = finish(process)
    assert ran.exit_code == 0, str(ran)
    return ran


def containers_of(gateway: Gateway) -> list[str]:
    """All that bear its label: the node, a helper, one that was set aside."""
    label = f"label=openshell.ai/gateway={gateway.name}"
    return docker("ps", "--all", "--format", "{{.Names}}", "--filter", label).split()


def parts_of(gateway: Gateway) -> tuple[int, int, int]:
    """How many containers, volumes and networks it has."""
    named = ("--format", "{{.Name}}", "--filter")
    volumes = docker("volume", "ls", *named, f"name={gateway.name}").split()
    networks = docker("network", "ls", *named, f"name={gateway.container}").split()
    return len(containers_of(gateway)), len(volumes), len(networks)


WHOLE = (1, 4, 1)
"""The node; its data and three scratch volumes; its network."""


def check_ready(gateway: Gateway) -> None:
    assert gateway.run("status").exit_code == 0
    assert parts_of(gateway) == WHOLE


def test_first_starts_at_once_of_one_gateway_and_of_two(gateways):
    """One works, the other says who holds it or waits, and two gateways do not meet at all."""
    one, two = gateways
    hasty = [begin(one, "start") for _ in range(2)]
    patient = begin(one, "start", *PATIENT)
    beside = begin(two, "start")
    pids = [process.pid for process in (*hasty, patient)]
    ended = [finish(process) for process in hasty]
    well(patient)
    well(beside)
    refused = [ran for ran in ended if ran.exit_code]
    assert refused
    for ran in refused:
        assert ran.exit_code == LOCKED, str(ran)
        assert any(f"process {pid} (openshell gateway start)" in ran.err for pid in pids), str(ran)
        assert "--wait-lock" in ran.err
    check_ready(one)
    check_ready(two)
    endpoints = {each.start()["endpoint"] for each in gateways}
    assert len(endpoints) == 2


def test_ten_at_once_take_turns(gateways):
    one, _ = gateways
    one.start()
    before = one.inspect()["Id"]
    for process in [begin(one, "start", *PATIENT) for _ in range(10)]:
        well(process)
    assert one.inspect()["Id"] == before
    check_ready(one)


def test_a_holder_that_is_suspended_is_named_and_waited_for(gateways):
    """A start during a stop; Ctrl-C while waiting ends at once and touches nothing."""
    one, _ = gateways
    one.start()
    stopping = holding(one, "stop")
    os.kill(stopping.pid, signal.SIGSTOP)
    refused = one.run("start", expect=LOCKED)
    assert f"process {stopping.pid} (openshell gateway stop) holds" in refused.err
    assert " since 2" in refused.err
    late = one.run("start", "--wait-lock", 0.3, expect=LOCKED)
    assert f"Waiting up to 0.3 s: process {stopping.pid}" in late.err
    interrupted, waiting = (begin(one, "start", *PATIENT) for _ in range(2))
    assert interrupted.stderr is not None
    assert "Waiting up to 120 s" in interrupted.stderr.readline()
    os.kill(interrupted.pid, signal.SIGINT)
    assert finish(interrupted).exit_code == 130
    os.kill(stopping.pid, signal.SIGCONT)
    well(stopping)
    well(waiting)
    check_ready(one)


def test_a_holder_that_is_killed_blocks_nobody_and_its_work_is_finished(gateways):
    """Between the old container and the new: status tells it, the next start goes on with it."""
    one, _ = gateways
    one.start()
    one.exec("sh", "-c", "echo precious >/var/lib/rancher/k3s/storage/kept")
    program = (sys.executable, "-m", "tests.integration.gateway.killed_at_create")
    words = ("gateway", "start", "--name", one.name, "--recreate", "--k3s-arg=--kubelet-arg=v=1")
    killed = one.command.begin(*words, program=program)
    assert finish(killed).exit_code == -signal.SIGKILL
    assert containers_of(one) == []
    told = one.run("status", expect=None)
    assert f"(process {killed.pid}) and not finished" in told.err
    resumed = one.run("start")
    assert "it is finished now" in resumed.err
    assert "--kubelet-arg=v=1" in one.inspect()["Config"]["Cmd"]
    assert one.exec("cat", "/var/lib/rancher/k3s/storage/kept") == "precious"
    assert "not finished" not in one.run("status").err
    check_ready(one)


def test_a_destroy_during_a_start_and_a_start_during_a_destroy(gateways):
    """Each waits for the other: what was asked for last is what stands."""
    _, two = gateways
    starting = holding(two, "start", "--recreate")
    assert begin_and_end(two, "destroy", "--yes").exit_code == LOCKED
    destroying = begin(two, "destroy", "--yes", *PATIENT)
    well(starting)
    lock = lock_of(two)
    until(lambda: lock.read_text().startswith(f"{destroying.pid}\n"), "the destroy")
    again = begin(two, "start", *PATIENT)
    well(destroying)
    well(again)
    check_ready(two)


def begin_and_end(gateway: Gateway, verb: str, *words: object) -> Ran:
    return finish(begin(gateway, verb, *words))


def test_two_hosts_that_share_an_engine_end_with_one_gateway(gateways, tmp_path):
    """R06, R45, R87: no lock covers both; the engine's names decide, and nothing is lost."""
    _, two = gateways
    two.run("destroy", "--yes")
    hosts = []
    for number in range(2):
        program = (sys.executable, "-m", "tests.integration.gateway.other_host")
        home = tmp_path / f"host{number}"
        hosts.append(
            two.command.begin(
                tmp_path / f"locks{number}",
                *("gateway", "start", "--name", two.name),
                program=program,
                XDG_CONFIG_HOME=str(home / "config"),
                XDG_STATE_HOME=str(home / "state"),
            )
        )
    ended = [finish(process) for process in hosts]
    assert {ran.exit_code for ran in ended} <= {0, 5, LOCKED}, "\n".join(map(str, ended))
    two.start()
    check_ready(two)
    assert two.nodes() == [two.node]
