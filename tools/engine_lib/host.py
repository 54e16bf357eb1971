"""What the machine must offer before an engine can run: packages, limits, modules, a runtime."""

import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from engine_lib.errors import EngineToolError

RUNTIME_NAME = "runc-bounded"
RUNTIME_SOURCE = Path(__file__).resolve().parent.parent / RUNTIME_NAME

# Command needed -> the package of Debian and Ubuntu that brings it.
PACKAGES = {
    "dockerd": "docker.io",
    "docker-compose": "docker-compose",
    "iptables": "iptables",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "busybox": "busybox-static",
}
# Releases that cut the command out of docker.io have it in a package of its own; the others have
# no such package, so it is asked for only when docker.io did not bring the command.
LATER_PACKAGES = {"docker": "docker-cli"}

# Every kubelet, containerd and sandbox watches files; the kernel's own limits fit a desktop.
INOTIFY_MINIMUM = {"max_user_instances": 512, "max_user_watches": 524288}

# Module -> a path that exists once the kernel has it, built in or loaded.
MODULES = {"br_netfilter": "/proc/sys/net/bridge", "overlay": "/sys/module/overlay"}

INSTALL_ADVICE = (
    "Install Docker Engine 20.10 or newer and start it, for example:\n"
    "  Fedora:          dnf install moby-engine && systemctl start docker\n"
    "  Alpine:          apk add docker && rc-service docker start\n"
    "  macOS, Windows:  Docker Desktop\n"
    "or let DOCKER_HOST or a docker context name an engine that runs elsewhere."
)


def is_debian_like(os_release: str) -> bool:
    """Whether an /etc/os-release describes Debian, Ubuntu or a distribution made from them."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    names = [" ".join(shlex.split(fields.get(key, ""))) for key in ("ID", "ID_LIKE")]
    return not {"debian", "ubuntu"}.isdisjoint(" ".join(names).split())


def find_obstacle(os_release: str, uid: int) -> str | None:
    """Why this tool may not install and start an engine here, with what to do; None if it may."""
    if not is_debian_like(os_release):
        return (
            "No engine can be started: this tool does that on Debian and Ubuntu only.\n"
            + INSTALL_ADVICE
        )
    if uid != 0:
        return (
            "No engine can be started: only root may install and start one.\n"
            "Run the same command as root, with sudo."
        )
    return None


def read_os_release() -> str:
    """The text of os-release; empty where there is none."""
    for path in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        if path.exists():
            return path.read_text()
    return ""


def missing_packages(
    wanted: dict[str, str], which: Callable[[str], str | None] = shutil.which
) -> list[str]:
    """The packages whose commands are not there."""
    return [package for command, package in wanted.items() if not which(command)]


def install_packages(log: Path) -> list[str]:
    """Install what is missing; the packages that were installed.

    Raises:
        EngineToolError: the package manager failed.
    """
    installed = []
    for stage in (PACKAGES, LATER_PACKAGES):
        packages = missing_packages(stage)
        if packages:
            print(f"Installing {', '.join(packages)} …", flush=True)
            _apt_get(log, "update")
            _apt_get(log, "install", "--yes", "--no-install-recommends", *packages)
            installed += packages
    return installed


def _apt_get(log: Path, *arguments: str) -> None:
    command = ["apt-get", "--quiet", "--option", "DPkg::Lock::Timeout=300", *arguments]
    with log.open("a") as output:
        status = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
        ).returncode
    if status:
        lines = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise EngineToolError(
            f"{' '.join(command)} ended with status {status}; the last lines of {log}:\n{lines}\n"
            "Repair the package manager's trouble and run this again."
        )


def raise_limits(sysctl: Path = Path("/proc/sys")) -> list[str]:
    """Raise what kubelets need and never lower anything; one line for each change or refusal."""
    wanted = {f"fs/inotify/{name}": least for name, least in INOTIFY_MINIMUM.items()}
    wanted["net/ipv4/ip_forward"] = 1
    said = []
    for key, least in wanted.items():
        path = sysctl / key
        now = int(path.read_text())
        if now >= least:
            continue
        name = key.replace("/", ".")
        try:
            path.write_text(f"{least}\n")
        except OSError as error:
            said.append(
                f"{name} is {now}, below the {least} that a gateway needs, and could not be raised "
                f"({error.strerror}): sysctl -w {name}={least}"
            )
        else:
            said.append(f"Raised {name} from {now} to {least}.")
    return said


def load_modules(modules: dict[str, str] = MODULES) -> list[str]:
    """Load the kernel modules that are not there yet; one line for each that was or could not be.

    A module that cannot be loaded is no failure: the engine says so itself if it needs it.
    """
    said = []
    for module, sign in modules.items():
        if Path(sign).exists() or (module == "overlay" and _knows_filesystem("overlay")):
            continue
        if not shutil.which("modprobe"):
            said.append(f"Kernel module {module} is not loaded and there is no modprobe here.")
            continue
        loaded = subprocess.run(["modprobe", module], capture_output=True, text=True, check=False)
        said.append(
            f"Could not load kernel module {module}: {loaded.stderr.strip()}"
            if loaded.returncode
            else f"Loaded kernel module {module}."
        )
    return said


def _knows_filesystem(name: str) -> bool:
    return name in Path("/proc/filesystems").read_text().split()


def load_runtime_module(path: Path = RUNTIME_SOURCE) -> ModuleType:
    """The runtime wrapper as a module; its file has no .py, since the engine calls it by name."""
    loader = importlib.machinery.SourceFileLoader("runc_bounded", str(path))
    spec = importlib.util.spec_from_loader("runc_bounded", loader)
    assert spec is not None  # noqa: S101 - spec_from_loader with a loader gives one
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def lacking_capabilities() -> list[str]:
    """The capabilities that the kernel knows and this machine does not grant."""
    runtime = load_runtime_module()
    mask = runtime.bounding_set(Path("/proc/self/status").read_text())
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    return list(runtime.missing_capabilities(mask, last))


def install_runtime(folder: Path) -> Path:
    """Put the runtime wrapper beside the engine's state; where it is.

    A copy, since containers name it for their whole life while a checkout changes. Its first line
    names an interpreter that starts fast: the one on PATH may be a version manager's shim.
    """
    system_python = Path("/usr/bin/python3")
    interpreter = system_python if system_python.exists() else Path(sys.executable).resolve()
    body = RUNTIME_SOURCE.read_text().partition("\n")[2]
    target = folder / RUNTIME_NAME
    temporary = target.with_suffix(".new")
    temporary.write_text(f"#!{interpreter} -IS\n{body}")
    temporary.chmod(0o755)
    temporary.replace(target)
    return target


def say(lines: Iterable[str]) -> None:
    """Print lines at once, so that they stand in order beside what other programs print."""
    for line in lines:
        print(line, flush=True)
