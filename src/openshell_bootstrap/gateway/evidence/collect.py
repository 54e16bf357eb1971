"""Parts of the evidence on a gateway, each read for itself: one that fails spoils no other."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from openshell_bootstrap import __version__
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.evidence.collect_node import collect_node
from openshell_bootstrap.gateway.evidence.collected import Collected
from openshell_bootstrap.gateway.evidence.masking import MASK, Mask
from openshell_bootstrap.gateway.evidence.node_log import lines_of_lives
from openshell_bootstrap.gateway.evidence.volume_secrets import read_mask
from openshell_bootstrap.gateway.record import OWN_FOLDER
from openshell_bootstrap.models import Container
from openshell_bootstrap.names import LABEL_GATEWAY, NODE_NAME_ENV, GatewayNames
from openshell_bootstrap.settings import PROXY_VARIABLES
from openshell_bootstrap.store.host import Store

LOG_LINES = 2000
"""Of this life of the node; of the one before it half as many."""

_TOLD_VARIABLES = frozenset({NODE_NAME_ENV, *PROXY_VARIABLES})
"""Variables of a container whose value is told; of others, only that they are set."""

_TOLD_FILES = frozenset({"gateway.json", "journal.json"})
"""Of our folder on the volume."""


def collect(collected: Collected, name: str, engine: Engine, store: Store) -> None:
    """Read all that can be read of a gateway, the surest first."""
    names = GatewayNames(name)
    collected.read("host.json", _read_host)
    collected.mask = Mask(is_blind=True)
    containers = collected.look("containers.json", lambda: _find_containers(engine, names)) or ()
    ours = [one for one in containers if one.name in {names.container, names.aside(one.id)}]
    if "containers.json" not in collected.unread:
        collected.mask = read_mask(engine, ours)
        collected.add("containers.json", [_without_values(one) for one in containers])
    if collected.mask.is_blind:
        collected.unread["secrets"] = (
            "the gateway's own could not be read, so all that could be one is masked"
        )
    collected.read("host-record.json", lambda: store.records.find(name))
    info = collected.read("engine.json", engine.info)
    if info is not None:
        collected.read("disk-and-memory.json", lambda: Host().facts(info))
    collected.read("networks.json", lambda: _find_networks(engine, names))
    collected.read("volumes.json", lambda: _find_volumes(engine, names))
    for container in ours:
        _collect_container(collected, container, names, engine)


def _read_host() -> Mapping[str, str]:
    return {
        "openshell": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }


def _find_containers(engine: Engine, names: GatewayNames) -> Sequence[Container]:
    """The gateway's own, a replaced one that was set aside, and strangers on its volume."""
    named = engine.containers.find(names.container)
    found = [
        *([] if named is None else [named]),
        *engine.containers.list({LABEL_GATEWAY: names.gateway}),
        *engine.containers.using_volume(names.volume),
    ]
    return list({one.id: one for one in found}.values())


def _without_values(container: Container) -> Container:
    """A user may keep a secret in any variable."""
    told = {
        name: value if name.upper() in _TOLD_VARIABLES else MASK
        for name, value in container.environment.items()
    }
    return replace(container, environment=told)


def _find_networks(engine: Engine, names: GatewayNames) -> Sequence[object]:
    return [*engine.networks.list_named(names.network)]


def _find_volumes(engine: Engine, names: GatewayNames) -> Sequence[object]:
    named = engine.volumes.find(names.volume)
    labelled = engine.volumes.list({LABEL_GATEWAY: names.gateway})
    found = [*([] if named is None else [named]), *labelled]
    return list({one.name: one for one in found}.values())


def _collect_container(
    collected: Collected, container: Container, names: GatewayNames, engine: Engine
) -> None:
    """The log, also of a replaced one that was set aside, and all else of the present one."""
    is_present = container.name == names.container
    place = "node" if is_present else "aside"
    lives = collected.look(f"{place}/log.txt", lambda: lines_of_lives(engine, container, LOG_LINES))
    if lives is not None:
        collected.add(f"{place}/log.txt", b"\n".join((*lives.present, b"")))
    if lives is not None and lives.before:
        collected.add(f"{place}/log-before.txt", b"\n".join((*lives.before, b"")))
    if is_present:
        _collect_volume(collected, container, engine)
        collect_node(collected, container, engine)


def _collect_volume(collected: Collected, container: Container, engine: Engine) -> None:
    """Our own folder on the data volume: the record, and the journal of unfinished work."""
    found = collected.look("volume", lambda: engine.containers.get_files(container.id, OWN_FOLDER))
    for file in found or ():
        name = file.path.removeprefix(f"{OWN_FOLDER}/")
        if name in _TOLD_FILES and file.content is not None:
            collected.add(f"volume/{name}", _without_settings_values(file.content))


def _without_settings_values(content: bytes) -> object:
    """A record as JSON without the values of the environment; damaged ones as they are."""
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content
    spec = found.get("spec") if isinstance(found, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("environment"), dict):
        spec["environment"] = {
            name: value if name.upper() in _TOLD_VARIABLES else MASK
            for name, value in spec["environment"].items()
        }
    return found
