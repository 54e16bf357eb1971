"""The images that the node brings along for its pods, written without an engine."""

import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass
from pathlib import Path

SANDBOX_USER = 1000
"""User and group of those who work in a sandbox."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class PodImage:
    """One image: its reference, the folder that becomes its only layer, and what it runs.

    What lies at or below a path of `owned` belongs to user and group 1000, the rest to root.
    """

    reference: str
    root: Path
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    working_dir: str = "/"
    user: str = ""
    owned: str = ""


def write(images: list[PodImage], target: Path) -> None:
    """Write all images into one archive of the form that `docker save` writes."""
    manifest = []
    with tarfile.open(target, "w") as archive:
        written: set[str] = set()
        for image in images:
            layer = _layer(image)
            digest = hashlib.sha256(layer).hexdigest()
            config = _config(image, digest)
            config_name = f"{hashlib.sha256(config).hexdigest()}.json"
            for name, content in ((f"{digest}/layer.tar", layer), (config_name, config)):
                if name not in written:
                    _add(archive, name, content)
                    written.add(name)
            manifest.append(
                {
                    "Config": config_name,
                    "RepoTags": [image.reference],
                    "Layers": [f"{digest}/layer.tar"],
                }
            )
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _config(image: PodImage, layer_digest: str) -> bytes:
    machine = platform.machine()
    return json.dumps(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Cmd": list(image.command),
                "WorkingDir": image.working_dir,
                "User": image.user,
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        },
        sort_keys=True,
    ).encode()


def _layer(image: PodImage) -> bytes:
    """The folder as a tar whose bytes depend on the files' content alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(image.root.rglob("*")):
            name = path.relative_to(image.root)
            info = archive.gettarinfo(path, str(name))
            info.uid = info.gid = SANDBOX_USER if _is_owned(name, image.owned) else 0
            info.mtime = 0
            info.uname = info.gname = ""
            if info.isreg():
                with path.open("rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)
    return out.getvalue()


def _is_owned(name: Path, owned: str) -> bool:
    return bool(owned) and name.is_relative_to(owned)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
