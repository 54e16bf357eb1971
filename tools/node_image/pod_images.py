"""Which images the node brings along: for its own pods, for sandboxes, and for their controller."""

import re
import shutil
import subprocess
from pathlib import Path

from node_image.archive import PodImage, write
from node_image.recipe import required_version

_NONROOT = "65532:65532"
"""Who upstream's image of the controller runs as (distroless `nonroot`)."""
_HOME = {
    ".profile": (0o644, "# The home of a sandbox, seeded from its image.\nPATH=$HOME/bin:$PATH\n"),
    ".config/tool/settings": (0o644, "colour = never\n"),
    ".private/notes": (0o600, "Only user 1000 reads this.\n"),
    "bin/greet": (0o755, '#!/bin/sh\necho "hello from $(id -u)"\n'),
}
"""What the home of a sandbox has: files with modes, a private folder and a tool."""


def build(binaries: Path, node_root: Path, work: Path, target: Path) -> None:
    """Write the archive of all pod images, from built binaries and the node's userland."""
    pause = _folder(work / "pause", {"pause": binaries / "pause"})
    coredns = _folder(work / "coredns", {"coredns": binaries / "coredns"})
    provisioner = _folder(
        work / "provisioner",
        {"usr/bin/local-path-provisioner": binaries / "local-path-provisioner"},
    )
    controller = _folder(
        work / "controller", {"agent-sandbox-controller": binaries / "sandbox-controller"}
    )
    for root in (coredns, provisioner):
        _folder(
            root,
            {"etc/ssl/certs/ca-certificates.crt": node_root / "etc/ssl/certs/ca-certificates.crt"},
        )
        (root / "tmp").mkdir()
    busybox = _busybox(node_root, work / "busybox")
    sandbox = _sandbox(busybox, work / "sandbox")
    version = required_version("addons", "github.com/rancher/local-path-provisioner")
    dns_version = required_version("addons", "github.com/coredns/coredns")
    write(
        [
            PodImage("openshell/pause:1", pause, entrypoint=("/pause",)),
            PodImage("openshell/busybox:1", busybox, command=("sh",)),
            PodImage(
                "openshell/sandbox:latest",
                sandbox,
                command=("sleep", "infinity"),
                working_dir="/home/user",
                owned="home/user",
            ),
            PodImage(
                "openshell/sandbox-controller:dev",
                controller,
                entrypoint=("/agent-sandbox-controller",),
                user=_NONROOT,
            ),
            PodImage(f"openshell/coredns:{dns_version}", coredns, entrypoint=("/coredns",)),
            PodImage(
                f"openshell/local-path-provisioner:v{version}",
                provisioner,
                command=("local-path-provisioner",),
            ),
        ],
        target,
    )


def _folder(root: Path, files: dict[str, Path]) -> Path:
    for name, source in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, root / name)
    return root


def _busybox(node_root: Path, root: Path) -> Path:
    """Busybox with a link for every applet it has, and the libraries that it needs."""
    _folder(root, {"bin/busybox": node_root / "bin/busybox"})
    listed = subprocess.run(
        [root / "bin/busybox", "--list"], capture_output=True, text=True, check=True
    )
    for applet in listed.stdout.split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    for library in _libraries(root / "bin/busybox"):
        _folder(root, {library.lstrip("/"): Path(node_root, library.lstrip("/")).resolve()})
    _folder(root, {"etc/nsswitch.conf": node_root / "etc/nsswitch.conf"})
    (root / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
    )
    (root / "etc/group").write_text("root:x:0:\nuser:x:1000:\n")
    for name in ("root", "tmp"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    return root


def _libraries(program: Path) -> list[str]:
    """The paths at which the program looks for its libraries and its loader."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    return re.findall(r"(/\S+\.so\S*)", listed.stdout)


def _sandbox(busybox: Path, root: Path) -> Path:
    """Busybox with a home that a claim mounted over it would hide; user 1000 owns all of it."""
    shutil.copytree(busybox, root, symlinks=True)
    home = root / "home/user"
    for name, (mode, content) in _HOME.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
    (home / ".profile-link").symlink_to(".profile")
    # Modes are given, never left to the umask of who builds.
    for folder in (root / "home", home, *(path for path in home.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    (home / ".private").chmod(0o700)
    return root
