"""tools/engine on machines of their own, made of namespaces, without any engine at first.

Each test asks for `engine`, which says that engines may be used here at all; none changes it.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.integration.engine.machines import (
    TOOL,
    WAIT_S,
    Machine,
    run,
    start_container,
)
from tests.until import until

pytestmark = pytest.mark.usefixtures("engine_machine")


@pytest.fixture
def machine():
    # Not below tmp_path: an overlay's options and a socket's path are bounded.
    root = Path(tempfile.mkdtemp(prefix="openshell-test-machine-"))
    machine = Machine(root)
    machine.switch_on()
    yield machine
    machine.tool("down")
    machine.switch_off()
    shutil.rmtree(root)


def test_up_uses_the_engine_that_answers_as_often_as_it_is_called():
    first, second = run(TOOL, "up"), run(TOOL, "up")
    assert "An engine answers; it is used as it is." in first.stdout
    assert second.stdout == first.stdout.split("Raised", 1)[0] or "Raised" in first.stdout
    status = run(TOOL, "status")
    for fact in ("Engine:", "Started by:", "Version:", "Storage driver:", "Cgroup version:"):
        assert fact in status.stdout


def test_up_starts_an_engine_that_runs_privileged_containers_and_down_stops_it(machine, image_tar):
    assert machine.tool("status", check=False).returncode == 3
    assert "No engine runs." in machine.tool("down").stdout
    up = machine.tool("up").stdout
    assert "Started dockerd." in up
    assert "Started by:      tools/engine" in up
    pid = machine.dockerd_pid()
    assert "used as it is" in machine.tool("up").stdout
    assert machine.dockerd_pid() == pid

    container = start_container(machine.run, image_tar, "--privileged")
    capabilities = machine.run(
        "docker", "exec", "--privileged", container, "grep", "CapEff", "/proc/self/status"
    ).stdout
    assert int(capabilities.split()[1], 16) >> 21 & 1, "CAP_SYS_ADMIN"

    assert "Stopped the engine" in machine.tool("down").stdout
    assert machine.programs() == []
    assert machine.tool("status", check=False).returncode == 3
    machine.tool("up")
    assert machine.run("docker", "ps", "--all", "--quiet", "--no-trunc").stdout.split() == [
        container
    ]


def test_of_two_at_once_one_starts_the_engine_and_the_other_waits(machine):
    command = [*machine.prefix, str(TOOL), "up"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=50)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted("Started dockerd." in output for output in outputs) == [False, True]
    assert machine.programs().count("dockerd") == 1


def test_up_after_a_power_cut_although_other_programs_have_the_old_numbers(machine, image_tar):
    machine.tool("up")
    container = start_container(machine.run, image_tar)
    machine.switch_off()
    machine.switch_on()
    run_folder = machine.folders["/run"]
    stale = [run_folder / "docker.pid", run_folder / "docker/containerd/containerd.pid"]
    assert all(path.exists() for path in stale)
    bystander = ["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"]
    number = machine.run(*bystander).stdout.strip()
    for path in stale:
        path.write_text(number)
    assert "Started dockerd." in machine.tool("up").stdout
    assert machine.run("docker", "start", container).stdout.strip() == container
    assert machine.run("ps", "-o", "comm=", "-p", number).stdout.strip() == "sleep"


def test_up_after_dockerd_alone_was_killed(machine, image_tar):
    machine.tool("up")
    container = start_container(machine.run, image_tar)
    machine.run("kill", "-KILL", machine.dockerd_pid())
    until(lambda: "dockerd" not in machine.programs(), "the end of dockerd")
    assert machine.tool("status", check=False).returncode == 3
    machine.tool("up")
    assert machine.run("docker", "start", container).stdout.strip() == container
    machine.tool("down")
    assert machine.programs() == []


def test_an_engine_that_someone_else_started_is_used_and_left_alone(machine):
    log = (machine.root / "foreign.log").open("w")
    foreign = subprocess.Popen([*machine.prefix, "dockerd"], stdout=log, stderr=log)
    try:
        until(lambda: machine.tool("status", check=False).returncode == 0, "the foreign engine")
        up = machine.tool("up").stdout
        assert "used as it is" in up
        assert "not tools/engine" in up
        if "runc-bounded" in run(TOOL, "status").stdout:
            assert "Privileged containers may fail" in up
        assert "left alone" in machine.tool("down").stdout
        assert foreign.poll() is None
        assert machine.tool("status").returncode == 0
    finally:
        foreign.terminate()
        foreign.wait(WAIT_S)
        log.close()


def test_a_daemon_that_cannot_start_is_reported_with_its_own_words(machine):
    (machine.folders["/etc/docker"] / "daemon.json").write_text('{"storage-driver": "no-such"}')
    failed = machine.tool("up", check=False)
    assert failed.returncode == 1
    assert "dockerd ended with status 1: failed to start daemon:" in failed.stderr
    assert "no-such" in failed.stderr
    (machine.folders["/etc/docker"] / "daemon.json").unlink()
    machine.tool("up")


def test_what_holds_the_socket_but_is_no_engine_is_not_replaced(machine):
    path = machine.folders["/run"] / "docker.sock"
    with socket.socket(socket.AF_UNIX) as holder, contextlib.suppress(FileNotFoundError):
        holder.bind(str(path))
        holder.listen()
        holder.settimeout(WAIT_S)
        command = [*machine.prefix, str(TOOL), "up"]
        asking = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        connection, _ = holder.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 500 Oh no\r\nContent-Length: 4\r\n\r\noops")
        said = asking.communicate(timeout=WAIT_S)[1]
        connection.close()
        assert asking.returncode == 1
        assert "does not answer as an engine does" in said
        assert "500" in said
    assert machine.programs() == []


@pytest.mark.parametrize("url", ["unix:///run/no-such.sock", "tcp://127.0.0.1:1"])
def test_no_engine_is_started_for_an_address_that_names_another(machine, url):
    environment = {"PATH": os.environ["PATH"], "DOCKER_HOST": url}
    failed = machine.tool("up", check=False, env=environment)
    assert failed.returncode == 1
    assert url in failed.stderr
    assert "DOCKER_HOST" in failed.stderr
    assert machine.programs() == []


def test_elsewhere_it_says_what_to_install(machine):
    fedora = machine.root / "os-release"
    fedora.write_text("ID=fedora\n")
    machine.switch_off()
    machine.switch_on(files=[(os.path.realpath("/etc/os-release"), fedora)])
    failed = machine.tool("up", check=False)
    assert failed.returncode == 1
    assert "dnf install moby-engine" in failed.stderr
    assert machine.programs() == []
