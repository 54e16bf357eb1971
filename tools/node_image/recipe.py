"""What the node image is made from, and the digest that tells one recipe from another."""

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = REPOSITORY / "deploy/docker/source-node"
DEFAULT_KUBERNETES = "1.36"
DIGEST_LABEL = "openshell.ai/source-node-digest"


class NodeImageError(Exception):
    """The image could not be built; the text says why and what to do."""


@dataclass(frozen=True)
class Userland:
    """The tools of the image: where each name comes from."""

    packages: tuple[str, ...]
    gnu: tuple[str, ...]
    programs: tuple[str, ...]
    applets: tuple[str, ...]
    aux_applets: tuple[str, ...]
    aux_programs: tuple[str, ...]
    cni: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """One image: the Kubernetes minor chooses the module file, everything else is the folder's."""

    kubernetes: str

    @property
    def module_file(self) -> Path:
        """The go.mod that pins this minor; another minor's lies beside the default's."""
        name = "go.mod" if self.kubernetes == DEFAULT_KUBERNETES else f"k{self.kubernetes}.mod"
        return SOURCES / "k3s" / name

    @property
    def kubernetes_version(self) -> str:
        """The full version that the module file pins, as `1.36.3`."""
        return _required_version(self.module_file, "k8s.io/kubernetes")

    @property
    def k3s_version(self) -> str:
        """What the node says it is, as `v1.36.3+k3s1`."""
        return f"v{self.kubernetes_version}+k3s1"

    def userland(self) -> Userland:
        """The tools that the image gets."""
        data = tomllib.loads((SOURCES / "userland.toml").read_text())
        return Userland(**{key: tuple(value) for key, value in data.items()})

    def digest(self) -> str:
        """SHA-256 over every file of the recipe and of this builder, and the minor."""
        total = hashlib.sha256(self.kubernetes.encode())
        for path in _inputs():
            total.update(f"\0{path.relative_to(REPOSITORY)}\0{os.access(path, os.X_OK)}\0".encode())
            total.update(path.read_bytes())
        return total.hexdigest()

    def userland_digest(self) -> str:
        """SHA-256 over what the userland is made from."""
        files = [path for path in (SOURCES / "files").rglob("*") if path.is_file()]
        files += [SOURCES / "userland.toml", Path(__file__).with_name("userland.py")]
        total = hashlib.sha256()
        for path in sorted(files):
            total.update(path.read_bytes())
        return total.hexdigest()


def check_kubernetes(minor: str) -> Recipe:
    """The recipe of a Kubernetes minor.

    Raises:
        NodeImageError: No module file pins it.
    """
    recipe = Recipe(minor)
    if not recipe.module_file.is_file():
        raise NodeImageError(
            f"no recipe pins Kubernetes {minor}: {recipe.module_file.name} is not there"
        )
    return recipe


def _inputs() -> list[Path]:
    files = [path for path in SOURCES.rglob("*") if path.is_file()]
    files += Path(__file__).parent.glob("*.py")
    files.append(Path(__file__).parents[1] / "node-image")
    return sorted(path for path in files if not path.name.endswith("_test.go"))


def required_version(folder: str, module: str) -> str:
    """The version of a module that a folder of the recipe pins, without its `v`."""
    return _required_version(SOURCES / folder / "go.mod", module)


def _required_version(module_file: Path, module: str) -> str:
    found = re.search(
        rf"^\s*(?:require )?{re.escape(module)} v(\S+)", module_file.read_text(), re.MULTILINE
    )
    if not found:
        raise NodeImageError(f"{module_file} does not pin {module}")
    return found.group(1)
