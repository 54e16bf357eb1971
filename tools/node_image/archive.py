"""The images that the node brings along for its pods, written without an engine."""

import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class PodImage:
    """One image: its reference, the folder that becomes its only layer, and what it runs."""

    reference: str
    root: Path
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    working_dir: str = "/"


def write(images: list[PodImage], target: Path) -> None:
    """Write all images into one archive of the form that `docker save` writes."""
    manifest = []
    with tarfile.open(target, "w") as archive:
        written: set[str] = set()
        for image in images:
            layer = _layer(image.root)
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
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        },
        sort_keys=True,
    ).encode()


def _layer(root: Path) -> bytes:
    """The folder as a tar whose bytes depend on the files' content alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(root.rglob("*")):
            info = archive.gettarinfo(path, str(path.relative_to(root)))
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = ""
            if info.isreg():
                with path.open("rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)
    return out.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
