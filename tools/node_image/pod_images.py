"""Which images the node brings along: pause, busybox, the sandbox, CoreDNS, the provisioner."""

import re
import shutil
import subprocess
from pathlib import Path

from node_image.archive import PodImage, write
from node_image.recipe import required_version


def build(binaries: Path, node_root: Path, work: Path, target: Path) -> None:
    """Write the archive of all pod images, from built binaries and the node's userland."""
    pause = _folder(work / "pause", {"pause": binaries / "pause"})
    coredns = _folder(work / "coredns", {"coredns": binaries / "coredns"})
    provisioner = _folder(
        work / "provisioner",
        {"usr/bin/local-path-provisioner": binaries / "local-path-provisioner"},
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
    shutil.copytree(busybox, root, symlinks=True)
    home = root / "home/user"
    home.mkdir(parents=True)
    (home / ".profile").write_text("# The home of a sandbox, seeded from its image.\n")
    return root
