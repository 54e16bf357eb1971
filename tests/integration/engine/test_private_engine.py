"""Private engines of tools/engine, beside the engine that all the other tests run on."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from tests.integration.engine.machines import (
    IMAGE,
    TOOL,
    Private,
    run,
    start_container,
    traces,
)
from tests.until import until

pytestmark = pytest.mark.usefixtures("engine_machine")


def shim_sockets(engine):
    pattern = "exec/containerd/daemon/io.containerd.runtime.v2.task/*/*/address"
    return [Path(path.read_text().removeprefix("unix://")) for path in engine.folder.glob(pattern)]


@pytest.fixture
def private():
    folder = Path(tempfile.mkdtemp(prefix="openshell-test-engine-")) / "e"
    engine = Private(folder)
    yield engine
    run(TOOL, "down", "--private", folder)
    folder.parent.rmdir()


def test_a_private_engine_leaves_nothing_behind(private, image_tar):
    assert run(TOOL, "status", "--private", private.folder, check=False).returncode == 3
    assert "Started a private engine." in private.up("--size", "512M")
    assert "runs already" in private.up()
    container = start_container(private.run, image_tar, "--privileged", "--volume=v:/v")
    assert len(traces(private.folder, container)) > 3
    assert run(TOOL, "status", "--private", private.folder).returncode == 0

    run(TOOL, "down", "--private", private.folder)
    assert not private.folder.exists()
    assert traces(private.folder, container) == []
    assert "There is no private engine" in run(TOOL, "down", "--private", private.folder).stdout


def test_a_private_engine_and_the_first_one_do_not_touch_each_others_networks(private, image_tar):
    name = f"openshell-test-engine-tool-{os.getpid()}"
    serve = ["docker", "run", "--detach", "--stop-timeout=1", "--publish=127.0.0.1::80"]
    serve += ["--name", name, IMAGE, "httpd", "-f", "-h", "/bin"]

    def fetch(run_there):
        address = run_there("docker", "port", name, "80/tcp").stdout.strip()
        return run_there(
            "curl", "--fail", "--silent", "--output", "/dev/null", f"http://{address}/wget"
        )

    try:
        run("docker", "import", image_tar, IMAGE)
        run(*serve)
        until(lambda: fetch(lambda *c: run(*c, check=False)).returncode == 0, "the first answer")
        private.up()
        private.run("docker", "import", image_tar, IMAGE)
        private.run(*serve)
        until(lambda: fetch(lambda *c: private.run(*c, check=False)).returncode == 0, "an answer")
        inside = private.run("docker", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", name)
        private.run(
            "docker",
            "run",
            "--rm",
            IMAGE,
            "wget",
            "-q",
            "-O",
            "/dev/null",
            f"http://{inside.stdout.strip()}/wget",
        )
        fetch(run)
        private.run("docker", "rm", "--force", name)
        run(TOOL, "down", "--private", private.folder)
        fetch(run)
        run("docker", "restart", "--time=1", name)
        until(lambda: fetch(lambda *c: run(*c, check=False)).returncode == 0, "a new answer")
    finally:
        run("docker", "rm", "--force", name, check=False)
        run("docker", "rmi", IMAGE, check=False)


def test_a_private_engines_disk_has_the_size_that_was_asked_for(private, image_tar):
    private.up("--size", "128M")
    container = start_container(private.run, image_tar)
    fill = ["docker", "exec", container, "dd", "if=/dev/zero", "of=/fill", "bs=1M", "count=256"]
    full = private.run(*fill, check=False)
    assert full.returncode != 0
    assert "No space left on device" in full.stderr
    refused = run(TOOL, "up", "--private", private.folder, "--size", "2X", check=False)
    assert refused.returncode == 2


def test_a_killed_private_engine_comes_up_again_with_its_containers(private, image_tar):
    private.up("--size", "512M")
    container = start_container(private.run, image_tar)
    run("kill", "-KILL", private.pid())
    until(
        lambda: run(TOOL, "status", "--private", private.folder, check=False).returncode == 3,
        "the end of the private dockerd",
    )
    private.up()
    assert private.run("docker", "start", container).stdout.strip() == container
    [shim_socket] = shim_sockets(private)
    assert shim_socket.is_socket()
    run("kill", "-KILL", private.pid())
    run(TOOL, "down", "--private", private.folder)
    assert not private.folder.exists()
    assert traces(private.folder, container) == []
    assert not shim_socket.exists()


MAKER = """
import os, signal
from tests.faults.soak.private_engine import PrivateEngine
made = PrivateEngine("512M")
print(made.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_engine_is_taken_down_although_the_process_that_made_it_was_killed():
    root = Path(__file__).resolve().parents[3]
    made = run(sys.executable, "-c", MAKER, cwd=root, check=False)
    folder = Path(made.stdout.strip())
    assert made.returncode == -signal.SIGKILL, made
    until(lambda: not folder.parent.exists(), "the end of the engine")
    assert traces(folder) == []


def test_what_finds_its_network_gone_takes_the_machine_for_a_new_one(private, image_tar):
    private.up("--size", "512M")
    container = start_container(private.run, image_tar, "--restart=always")
    before = private.run("docker", "inspect", "-f", "{{.State.Pid}}", container).stdout.strip()
    run("kill", "-KILL", private.pid())
    run("umount", private.folder / "netns")
    private.up()
    until(lambda: not Path(f"/proc/{before}").exists(), f"the end of {before}", 10)
    state = private.run("docker", "inspect", "-f", "{{.State.Running}}", container)
    assert state.stdout.strip() == "true"


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path_factory):
    # A name of its own, because the path of a socket is bounded.
    folder = tmp_path_factory.getbasetemp() / "f"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    for command in ("up", "down"):
        refused = run(TOOL, command, "--private", folder, check=False)
        assert refused.returncode == 1
        assert "left alone" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["mine"]
