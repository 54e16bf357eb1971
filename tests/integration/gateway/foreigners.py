"""Containers and images that are nobody's gateway, made of an image of this host."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.gateway.driver import docker

COMPOSE = "docker-compose" if shutil.which("docker-compose") else "docker compose"


def compose_file(
    folder: Path, image: str, services: Mapping[str, dict[str, Any]], networks: Any = None
) -> str:
    """Write services that sleep. Compose reads JSON too."""
    sleeping = {"image": image, "command": ["sleep", "3600"], "init": True}
    file = folder / "compose.json"
    content = {
        "version": "2.4",
        "services": {name: sleeping | changes for name, changes in services.items()},
        "networks": networks or {"default": {}},
    }
    file.write_text(json.dumps(content))
    return str(file)


def make_image_with_old_k3s(tiny_image: str, like: str, folder: Path) -> str:
    """An image whose k3s says that it is of 1.20; named after another, with the tag `old`."""
    (folder / "k3s").write_text("#!/bin/sh\necho 'k3s version v1.20.1+k3s1 (0)'\n")
    (folder / "k3s").chmod(0o755)
    (folder / "Dockerfile").write_text(f"FROM {tiny_image}\nCOPY k3s /bin/k3s\n")
    tag = like.replace(":dev", ":old")
    docker("build", "--quiet", "--tag", tag, str(folder))
    return tag
