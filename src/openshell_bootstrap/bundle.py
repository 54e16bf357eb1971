"""The bundle: what is put into a node's container before its first start.

``deploy/`` is its single source and this module its only reader. In a wheel it lies inside the
package, in a checkout beside ``src/``.
"""

import hashlib
from functools import cache
from pathlib import Path

from openshell_bootstrap.models import FileEntry

BUNDLE_PATH = "/opt/openshell"
ENTRYPOINT = f"{BUNDLE_PATH}/cluster-entrypoint.sh"
HEALTH_CHECK = f"{BUNDLE_PATH}/cluster-healthcheck.sh"
TOKEN_FILE = f"{BUNDLE_PATH}/token"
REGISTRIES_FILE = f"{BUNDLE_PATH}/registries.yaml"

_EXECUTABLE = 0o755
_SECRET = 0o600


def deploy_folder() -> Path:
    """Where the shipped files are, in a wheel or in a checkout."""
    inside = Path(__file__).parent / "deploy"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "deploy"


@cache
def shipped_files() -> tuple[FileEntry, ...]:
    """The shipped part of the bundle, the entrypoint last: what was half put in cannot start."""
    deploy = deploy_folder()
    docker, kube = deploy / "docker", deploy / "kube"
    scripts = [
        FileEntry(f"{BUNDLE_PATH}/lib/{path.name}", path.read_bytes())
        for path in sorted((docker / "lib").glob("*.sh"))
    ]
    manifests = [
        FileEntry(f"{BUNDLE_PATH}/manifests/{path.name}", path.read_bytes(), _SECRET)
        for path in sorted(kube.glob("*.yaml"))
    ]
    health = (docker / "cluster-healthcheck.sh").read_bytes()
    entrypoint = (docker / "cluster-entrypoint.sh").read_bytes()
    return (
        *scripts,
        *manifests,
        FileEntry(HEALTH_CHECK, health, _EXECUTABLE),
        FileEntry(ENTRYPOINT, entrypoint, _EXECUTABLE),
    )


def files(*, token: bytes | None = None, registries: bytes | None = None) -> tuple[FileEntry, ...]:
    """The whole bundle of one gateway: its secrets first, then what is shipped."""
    secrets = [
        FileEntry(path, content, _SECRET)
        for path, content in ((TOKEN_FILE, token), (REGISTRIES_FILE, registries))
        if content is not None
    ]
    return (*secrets, *shipped_files())


def digest() -> str:
    """SHA-256 over the shipped files' paths, modes and bytes: tells one release from another."""
    total = hashlib.sha256()
    for file in shipped_files():
        content = file.content or b""
        total.update(f"{file.path}\0{file.mode:o}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()
