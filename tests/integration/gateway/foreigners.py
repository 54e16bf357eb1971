"""Containers that are nobody's gateway, brought up by Compose from an image of this host."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
