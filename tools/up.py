"""`make up`: choose a node image, start the gateway, say how to use it.

The product never builds an image and never chooses one by what is present. A checkout may: it has
the recipe of the source node, so it ends with a running gateway where no registry can be reached.
"""

import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.connect import connect
from openshell_bootstrap.errors import BootstrapError
from openshell_bootstrap.names import DEFAULT_GATEWAY, GatewayNames
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE, Settings, read_settings

SOURCE_NODE = "openshell/source-node:dev"
PULL_BEGINS_WITHIN_S = 10
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Choice:
    """A node image and why it is taken; no image where the gateway keeps its own."""

    image: str | None
    why: str
    must_build: bool = False


def main() -> int:
    """Bring the gateway up; the exit code is the command's."""
    settings = read_settings()
    try:
        chosen = choose(connect(settings.docker), settings)
    except BootstrapError as error:
        print(f"up: {error.brief}\n{error.details}", file=sys.stderr)
        return error.exit_code
    print(f"up: node image: {chosen.image or 'the one it was made with'} ({chosen.why})")
    if chosen.must_build:
        subprocess.run([ROOT / "tools" / "node-image"], check=True)
    name = settings.gateway or DEFAULT_GATEWAY
    command = [sys.executable, "-m", "openshell_bootstrap", "gateway", "start", "--name", name]
    environment = {"OPENSHELL_NODE_IMAGE": chosen.image} if chosen.image else {}
    done = subprocess.run(["env", *map("=".join, environment.items()), *command], check=False)
    if done.returncode == 0:
        print(_how_to_use(name))
    return done.returncode


def choose(engine: Engine, settings: Settings) -> Choice:
    """Decide which node image a checkout's gateway gets."""
    name = settings.gateway or DEFAULT_GATEWAY
    names = GatewayNames(name)
    if engine.containers.find(names.container) is not None:
        return Choice(None, f"the gateway {name!r} exists")
    if settings.node_image:
        return Choice(settings.node_image, "OPENSHELL_NODE_IMAGE names it")
    if engine.images.find(DEFAULT_NODE_IMAGE) is not None:
        return Choice(DEFAULT_NODE_IMAGE, "it is present")
    if settings.is_ci:
        return Choice(SOURCE_NODE, "CI is set, so nothing is pulled", must_build=True)
    print(f"up: pulling {DEFAULT_NODE_IMAGE}")
    if failure := pull(engine, DEFAULT_NODE_IMAGE):
        return Choice(SOURCE_NODE, f"the pull of k3s did not deliver: {failure}", must_build=True)
    return Choice(DEFAULT_NODE_IMAGE, "it was pulled")


def pull(engine: Engine, image: str) -> str:
    """Pull an image if it begins to arrive soon; returns why it did not come, or nothing."""
    moving = threading.Event()
    failures: list[str] = []

    def arrived(_item: str, done: int, _total: int) -> None:
        if done:
            moving.set()

    def work() -> None:
        try:
            engine.images.pull(image, arrived)
        except BootstrapError as error:
            failures.append(error.details or error.brief)
        finally:
            moving.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    if not moving.wait(PULL_BEGINS_WITHIN_S):
        return f"nothing arrived within {PULL_BEGINS_WITHIN_S} s"
    thread.join()
    return failures[0].strip().splitlines()[0] if failures else ""


def _how_to_use(name: str) -> str:
    return f"""
The gateway {name!r} is ready. With .venv/bin on your PATH:
  openshell gateway status
  openshell gateway kubectl -- get pods -A
  openshell gateway kubeconfig merge     # for your own kubectl
  openshell gateway stop                 # its volume stays
"""


if __name__ == "__main__":
    sys.exit(main())
