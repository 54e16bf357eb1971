"""Machines and engines that tests of tools/engine may start, break and throw away."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "engine"
IMAGE = "openshell-test/busybox:engine-tool"
WAIT_S = 20


def write_image_tar(path):
    """A root file system of one static busybox."""
    busybox = shutil.which("busybox")
    assert busybox, "busybox-static is not installed; tools/engine up installs it"
    with tarfile.open(path, "w") as tar:
        tar.add(Path(busybox).resolve(), "bin/busybox")
        for name in ("sh", "sleep", "httpd", "wget", "grep", "dd"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return path


def run(*command, prefix=(), check=True, **kwargs):
    words = [*map(str, prefix), *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **kwargs)
    assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done


class Machine:
    """A machine without an engine: namespaces with /run and the engine's folders of its own.

    Switching it off kills every process in it and keeps its folders, as a power cut does.
    """

    def __init__(self, root):
        self.root = root
        self.folders = {
            "/run": root / "run",
            "/var/lib/docker": root / "docker",
            "/var/lib/openshell-engine": root / "state",
            "/etc/docker": root / "etc-docker",
        }
        for folder in [*self.folders.values(), *map(Path, self.folders)]:
            folder.mkdir(parents=True, exist_ok=True)
        self.init = None

    def switch_on(self, *, files=()):
        bindings = [*self.folders.items(), *files]
        script = "".join(f"mount --bind {source} {target}\n" for target, source in bindings)
        script = f"set -e\n{script}ip link set lo up\necho on\nexec cat\n"
        namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.init = subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.init.stdout.readline() == "on\n"
        children = Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children").read_text()
        self.prefix = ["nsenter", "--mount", "--net", "--pid", "--target", children.split()[0]]

    def switch_off(self):
        if self.init:
            self.init.kill()
            self.init.communicate()
            self.init = None

    def run(self, *command, check=True, **kwargs):
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        kwargs = {"env": environment} | kwargs
        return run(*command, prefix=self.prefix, check=check, **kwargs)

    def tool(self, *arguments, check=True, **kwargs):
        return self.run(TOOL, *arguments, check=check, **kwargs)

    def programs(self):
        listed = self.run("ps", "-e", "-o", "stat=,comm=").stdout.splitlines()
        alive = [line.split()[1] for line in listed if not line.startswith("Z")]
        return sorted(name for name in alive if name not in ("ps", "cat"))

    def dockerd_pid(self):
        return int(re.search(r"dockerd pid (\d+)", self.tool("status").stdout)[1])


def traces(*names):
    """Lines that name one of these among mounts, loop devices, processes, cgroups and sockets."""
    backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    cgroups = [str(path) for path in Path("/sys/fs/cgroup").glob("**/docker/*")]
    programs = run("ps", "-e", "-o", "args=").stdout.splitlines()
    lines = Path("/proc/self/mountinfo").read_text().splitlines() + backing + cgroups + programs
    return [line for line in lines if any(str(name) in line for name in names)]


def start_container(run_there, image_tar, *options):
    run_there("docker", "import", image_tar, IMAGE)
    return run_there(
        "docker", "run", "--detach", "--stop-timeout=1", *options, IMAGE, "sleep", "1000"
    ).stdout.strip()


class Private:
    """A private engine of the tool, in a folder that it makes itself."""

    def __init__(self, folder):
        self.folder = folder

    def up(self, *options):
        said = run(TOOL, "up", "--private", self.folder, *options).stdout
        self.environment = os.environ | dict(
            [re.search(r"^(DOCKER_HOST)=(\S+)$", said, re.MULTILINE).groups()]
        )
        self.prefix = re.search(r"^(nsenter .*) COMMAND$", said, re.MULTILINE)[1].split()
        return said

    def run(self, *command, check=True):
        return run(*command, prefix=self.prefix, check=check, env=self.environment)

    def pid(self):
        return json.loads((self.folder / "engine.json").read_text())["process"]["pid"]
