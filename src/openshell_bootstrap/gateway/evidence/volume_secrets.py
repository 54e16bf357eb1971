"""The secrets that a gateway's container and volume hold, read to be masked and then forgotten."""

import re
from collections.abc import Iterator, Sequence

from openshell_bootstrap.bundle import TOKEN_FILE
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError
from openshell_bootstrap.gateway.evidence.masking import (
    Mask,
    is_secret_key,
    parts_of_token,
    secrets_of,
)
from openshell_bootstrap.gateway.observe import NODE_FOLDER, RETIRED_NODE_FOLDER
from openshell_bootstrap.gateway.record import OWN_FOLDER
from openshell_bootstrap.models import DATA_PATH, Container, FileEntry

_TOKENS = (f"{DATA_PATH}/server/token", f"{DATA_PATH}/server/agent-token", TOKEN_FILE)
_CREDENTIALS = f"{DATA_PATH}/server/cred"
_KEYS = f"{DATA_PATH}/server/tls"
_PASSWORD = f"{RETIRED_NODE_FOLDER}/password"
_VALUE = re.compile(
    r"[\"']?(?P<key>[\w-]+)[\"']?\s*:[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"',}]+))"
)
"""A key with its value, in JSON or YAML."""

_ARGUMENT = re.compile(r"--(?P<key>[\w-]+)=(?P<value>.+)")


def read_mask(engine: Engine, containers: Sequence[Container]) -> Mask:
    """What takes this gateway's secrets out of text.

    Where they cannot be read the mask is blind: it takes all that could be one.
    """
    values: set[str] = set()
    is_blind = False
    for container in containers:
        values.update(_of_settings(container))
        try:
            values.update(_of_files(engine, container.id))
        except EngineError:
            is_blind = True
    return Mask(secrets_of(values), is_blind=is_blind)


def _of_settings(container: Container) -> Iterator[str]:
    for name, value in container.environment.items():
        if is_secret_key(name):
            yield value
    for word in container.command:
        said = _ARGUMENT.fullmatch(word)
        if said and is_secret_key(said["key"]):
            yield said["value"]


def _of_files(engine: Engine, container_id: str) -> Iterator[str]:
    for path in _TOKENS:
        yield from parts_of_token(_text(engine.containers.get_file(container_id, path)).strip())
    yield _text(engine.containers.get_file(container_id, _PASSWORD))
    for file in engine.containers.get_files(container_id, _CREDENTIALS) or ():
        yield from _of_credentials(file)
    for file in engine.containers.get_files(container_id, _KEYS) or ():
        if file.path.endswith(".key"):
            yield from _of_key(_text(file))
    for file in engine.containers.get_files(container_id, OWN_FOLDER) or ():
        if file.path.startswith(f"{NODE_FOLDER}/"):
            yield _text(file)
        elif file.path.endswith("/registries.yaml"):
            yield from _of_mapping(_text(file))


def _of_credentials(file: FileEntry) -> Iterator[str]:
    """``passwd`` has lines of password, user, …; others are one secret or JSON."""
    text = _text(file)
    if file.path.endswith("/passwd"):
        yield from (line.partition(",")[0] for line in text.splitlines())
    elif file.path.endswith(".psk"):
        yield text
    else:
        yield from _of_mapping(text)


def _of_key(text: str) -> Iterator[str]:
    """A private key in PEM: as a whole, and each line of it, which may be told alone."""
    yield text
    yield from (line for line in text.splitlines() if not line.startswith("-----"))


def _of_mapping(text: str) -> Iterator[str]:
    for key, *values in _VALUE.findall(text):
        value = "".join(values)
        if is_secret_key(key) and not value.startswith("/"):  # a path tells where a secret is
            yield value


def _text(file: FileEntry | None) -> str:
    content = None if file is None else file.content
    return "" if content is None else content.decode(errors="replace")
