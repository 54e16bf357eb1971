"""What the build needs of the machine, checked before anything is done."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from node_image.recipe import NodeImageError
from node_image.shell import run

_GO_MINIMUM = (1, 26)
_DISK_MINIMUM = 12 * 1024**3
_PACKAGES = {"gcc": "gcc", "mmdebstrap": "mmdebstrap", "tar": "tar"}


def check(cache: Path) -> None:
    """Check everything, install what Debian has if that may be done, and name all that is missing.

    Raises:
        NodeImageError: Something is missing; the text lists it all.
    """
    _install_missing()
    problems = [
        *(
            f"{name} is missing: install the package {package}"
            for name, package in _PACKAGES.items()
            if not shutil.which(name)
        ),
        *_go_problems(),
        *engine_problems(),
        *_disk_problems(cache),
    ]
    if problems:
        raise NodeImageError("cannot build the node image:\n  - " + "\n  - ".join(problems))


def _install_missing() -> None:
    missing = [package for name, package in _PACKAGES.items() if not shutil.which(name)]
    if not missing or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print(f"node-image: installing {', '.join(missing)}", flush=True)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], environment=quiet)
    run(
        [
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            *missing,
            *(["libc6-dev"] if "gcc" in missing else []),
        ],
        environment=quiet,
    )


def _go_problems() -> list[str]:
    wanted = ".".join(map(str, _GO_MINIMUM))
    if not shutil.which("go"):
        return [f"go is missing: install Go {wanted} or later (Debian's is too old)"]
    found = re.search(r"go(\d+)\.(\d+)", run(["go", "env", "GOVERSION"]))
    if not found or (int(found[1]), int(found[2])) < _GO_MINIMUM:
        return [f"go is {found[0] if found else 'of unknown version'}: {wanted} or later is needed"]
    return []


def engine_problems() -> list[str]:
    """Why the engine cannot be used; empty if it can."""
    if not shutil.which("docker"):
        return ["docker is missing: run tools/engine up"]
    done = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return [f"the Docker engine does not answer: run tools/engine up ({done.stderr.strip()})"]
    return []


def _disk_problems(cache: Path) -> list[str]:
    free = shutil.disk_usage(cache).free
    if free < _DISK_MINIMUM:
        return [
            f"{cache} has {free / 1024**3:.1f} GiB free: "
            f"{_DISK_MINIMUM / 1024**3:.0f} GiB are needed"
        ]
    return []
