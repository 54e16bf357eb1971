"""Parts of the evidence on a gateway, each read for itself: one that fails spoils no other."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from openshell_bootstrap import __version__
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import BootstrapError
from openshell_bootstrap.models import Container
from openshell_bootstrap.names import LABEL_GATEWAY, GatewayNames


@dataclass(slots=True)
class Collected:
    """What was read so far.

    Attributes:
        files: Content by path inside the archive.
        unread: Why something could not be read, by the same paths.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def read(self, path: str, reader: Callable[[], object]) -> None:
        """Add a part: text as it is, anything else as JSON. A failure is noted, not raised."""
        try:
            found = reader()
        except (BootstrapError, OSError, ValueError) as error:
            self.unread[path] = _cause(error)
            return
        self.files[path] = found if isinstance(found, bytes) else as_json(found)


def _cause(error: BootstrapError | OSError | ValueError) -> str:
    details = getattr(error, "details", "")
    return f"{error}: {details}" if details else str(error)


def as_json(found: object) -> bytes:
    """A part as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(found)) + b"\n"


def collect(collected: Collected, name: str, engine: Engine) -> None:
    """Read all that can be read of a gateway, the cheapest and surest first."""
    names = GatewayNames(name)
    collected.read("host.json", read_host)
    collected.read("engine.json", engine.info)
    collected.read("objects.json", lambda: read_objects(engine, names))


def read_host() -> Mapping[str, object]:
    """What runs here."""
    return {
        "openshell": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "system": platform.platform(),
    }


def read_objects(engine: Engine, names: GatewayNames) -> Mapping[str, object]:
    """The gateway's own objects on the engine, with their labels."""
    mine = {LABEL_GATEWAY: names.gateway}
    containers = [
        one
        for one in engine.containers.list()
        if one.labels.get(LABEL_GATEWAY) == names.gateway
        or one.name.startswith(names.container)
        or any(mount.source == names.volume for mount in one.mounts)
    ]
    return {
        "containers": [without_values(one) for one in containers],
        "networks": [*engine.networks.list_named(names.network)],
        "volumes": [*engine.volumes.list(mine)],
    }


def without_values(container: Container) -> Container:
    """Of its environment only the names: a user may keep a secret there."""
    return replace(container, environment=dict.fromkeys(container.environment, "***"))
