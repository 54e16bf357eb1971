"""The node's userland: Debian's files, laid out and thinned out as in the k3s image."""

import re
import shutil
from pathlib import Path

from node_image.recipe import SOURCES, NodeImageError, Userland
from node_image.shell import run

_SEARCH = ("bin", "usr/bin", "sbin", "usr/sbin")
_LIBRARIES = ("lib", "usr/lib")
_IPTABLES = tuple(
    f"{family}{part}" for family in ("iptables", "ip6tables") for part in ("", "-save", "-restore")
)


def apt_sources() -> list[Path]:
    """The machine's own sources of its distribution's packages (not those of other vendors)."""
    folder = Path("/etc/apt/sources.list.d")
    candidates = [
        Path("/etc/apt/sources.list"),
        *sorted(folder.glob("*.list")),
        *sorted(folder.glob("*.sources")),
    ]
    return [path for path in candidates if path.is_file() and _is_distribution(path.read_text())]


def _is_distribution(text: str) -> bool:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    words = " ".join(lines).split()
    names = re.compile(rf"https?://\S+/{_release('ID')}(-security)?/?")
    return "main" in words and any(names.fullmatch(word) for word in words)


def unpack(userland: Userland, target: Path) -> None:
    """Unpack Debian's packages, with what they depend on, below `target`.

    Raises:
        NodeImageError: The machine has no source of Debian packages, or they could not be had.
    """
    sources = apt_sources()
    if not sources:
        raise NodeImageError("/etc/apt configures no source of the distribution's own packages")
    packed = target.with_suffix(".tar")
    run(
        [
            "mmdebstrap",
            "--variant=extract",
            f"--include={','.join(userland.packages)}",
            _release("VERSION_CODENAME"),
            str(packed),
            *map(str, sources),
        ]
    )
    target.mkdir()
    run(["tar", "-C", str(target), "--exclude=./dev", "-xf", str(packed)])
    packed.unlink()


def _release(key: str) -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith(f"{key}="):
            return line.partition("=")[2].strip('"')
    raise NodeImageError(f"/etc/os-release names no {key}")


def lay_out(userland: Userland, debian: Path, root: Path) -> None:
    """Make the image's root folder from the unpacked packages."""
    for name in (
        "bin/aux",
        "dev",
        "etc/ssl/certs",
        "lib/firmware",
        "lib/modules",
        "proc",
        "run",
        "sbin",
        "sys",
        "tmp",
        "usr/bin",
        "usr/lib/cni",
        "usr/sbin",
        "var/run",
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    _copy_libraries(debian, root)
    for name in (*userland.gnu, *userland.programs):
        _copy_program(debian, name, root / "bin" / name)
    for name in userland.aux_programs:
        _copy_program(debian, name, root / "bin/aux" / name)
    for name in userland.cni:
        shutil.copy2(debian / "usr/lib/cni" / name, root / "usr/lib/cni" / name)
    _copy_program(debian, "busybox", root / "bin/busybox")
    _link_applets(userland, root)
    (root / "bin/unpigz").symlink_to("pigz")
    _certificates(debian, root)
    shutil.copytree(debian / "usr/share/zoneinfo", root / "usr/share/zoneinfo", symlinks=True)
    shutil.copytree(SOURCES / "files", root, dirs_exist_ok=True)
    for name in _IPTABLES[1:]:
        (root / "bin/aux" / name).symlink_to("iptables")


def _link_applets(userland: Userland, root: Path) -> None:
    for name in userland.applets:
        (root / "bin" / name).symlink_to("busybox")
    for name in userland.aux_applets:
        (root / "bin/aux" / name).symlink_to("../busybox")


def _copy_program(debian: Path, name: str, target: Path) -> None:
    for folder in _SEARCH:
        found = debian / folder / name
        if found.exists():
            shutil.copy2(found.resolve(), target)
            return
    raise NodeImageError(f"Debian's packages hold no program {name}")


def _copy_libraries(debian: Path, root: Path) -> None:
    """The shared libraries, with the folder of iptables' extensions; nothing else of lib."""
    for base in _LIBRARIES:
        for folder in (debian / base).glob("*-linux-gnu*"):
            for found in folder.iterdir():
                target = root / base / folder.name / found.name
                target.parent.mkdir(parents=True, exist_ok=True)
                if found.is_dir():
                    if found.name == "xtables":
                        shutil.copytree(found, target, symlinks=True)
                elif ".so" in found.name:
                    shutil.copy2(found, target, follow_symlinks=False)
    if (debian / "lib64").is_dir():
        shutil.copytree(debian / "lib64", root / "lib64", symlinks=True)


def _certificates(debian: Path, root: Path) -> None:
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    parts = sorted((debian / "usr/share/ca-certificates").rglob("*.crt"))
    bundle.write_bytes(b"".join(part.read_bytes() for part in parts))
