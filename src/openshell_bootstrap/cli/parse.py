"""From what a user typed to values. Pure; every refusal says what, why and what instead."""

import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import PublishedPort

V = TypeVar("V")

API_PORT = 6443
"""The node's port of the Kubernetes API."""

LOOPBACK = "127.0.0.1"
_MAX_PORT = 65535

_ADDRESS = r"(?:(?P<address>\[[^\]]*\]|[^:\[\]]*):)?"
_ONE_PORT = re.compile(_ADDRESS + r"(?P<port>[0-9]+)")
_TWO_PORTS = re.compile(_ADDRESS + r"(?P<host>[0-9]+):(?P<node>[0-9]+)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAN = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_SINCE = re.compile(r"([0-9]+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

_OURS = {
    "node-name": "The node's name follows from the gateway's name.",
    "with-node-id": "The node's name follows from the gateway's name.",
    "data-dir": "The data is where the gateway's volume is mounted.",
    "d": "The data is where the gateway's volume is mounted.",
    "token": "Arguments can be read by everybody: use --token-file.",
    "t": "Arguments can be read by everybody: use --token-file.",
    "token-file": "The gateway puts the file into the node itself: use --token-file.",
    "agent-token": "Arguments can be read by everybody.",
    "agent-token-file": "There are no agents to give it to.",
}
"""Arguments of ``k3s server`` that are not the user's to give, and why."""

_OUR_VARIABLES = {
    "OPENSHELL_NODE_NAME": "node-name",
    **{
        f"K3S_{flag.upper().replace('-', '_')}": flag
        for flag in _OURS
        if len(flag) > 1 and flag != "with-node-id"
    },
}


def values_of(given: Sequence[str] | None, parse: Callable[[str], V]) -> tuple[V, ...] | None:
    """Values of a repeatable option: None if it was not given, none at all for an empty value."""
    if not given:
        return None
    return tuple(parse(text) for text in given if text)


def parse_api_port(text: str) -> PublishedPort:
    """Read ``[ADDRESS:]PORT``, where the Kubernetes API is to be published.

    Raises:
        ConfigError: It has another form.
    """
    usage = "Use a port, or an address and a port: `--api-port 16443`, `--api-port [::1]:16443`."
    match = _ONE_PORT.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{text!r} is not a port for the Kubernetes API",
            details="The form is [ADDRESS:]PORT; an IPv6 address stands in brackets.",
            remedies=[usage],
        )
    port = _port(text, match["port"], usage)
    return PublishedPort(_address(text, match["address"], usage), port, API_PORT)


def parse_port(text: str) -> PublishedPort:
    """Read ``[ADDRESS:]HOSTPORT:NODEPORT``.

    Raises:
        ConfigError: It has another form, or means the Kubernetes API.
    """
    usage = "Name the host's port and the node's: `-p 8080:30080`, `-p 0.0.0.0:8080:30080`."
    match = _TWO_PORTS.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{text!r} is not a published port",
            details="The form is [ADDRESS:]HOSTPORT:NODEPORT; an IPv6 address stands in brackets.",
            remedies=[usage],
        )
    host, node = (_port(text, match[part], usage) for part in ("host", "node"))
    if node == API_PORT:
        raise ConfigError(
            f"{text!r} would publish the Kubernetes API a second time",
            remedies=["Use --api-port to choose where it is published."],
        )
    return PublishedPort(_address(text, match["address"], usage), host, node)


def check_distinct(ports: Iterable[PublishedPort]) -> None:
    """Refuse two ports that want one place on the host.

    Raises:
        ConfigError: Two of them are on one address and host port.
    """
    seen: set[tuple[str, int]] = set()
    for port in ports:
        place = (port.address, port.host_port)
        if place in seen:
            raise ConfigError(
                f"The host's port {port.host_port} on {port.address} is asked for twice",
                remedies=["Give every published port another port of the host."],
            )
        seen.add(place)


def parse_variable(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE`` for the node's environment.

    Raises:
        ConfigError: It has another form, or says what the gateway says itself.
    """
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise ConfigError(
            f"{name!r} is not a variable with a value",
            details="The form is NAME=VALUE; a value is never taken from this environment.",
            remedies=["Write it out: `--env NAME=VALUE`."],
        )
    if name in _OUR_VARIABLES:
        raise ConfigError(
            f"{name} is not yours to set in the node",
            details=_OURS[_OUR_VARIABLES[name]],
            remedies=["Leave it out."],
        )
    return name, value


def parse_k3s_argument(text: str) -> str:
    """Check one argument of ``k3s server``.

    Raises:
        ConfigError: It says what the gateway says itself.
    """
    flag = re.split(r"[=\s]", text.lstrip("-"), maxsplit=1)[0]
    if text.startswith("-") and flag in _OURS:
        raise ConfigError(
            f"--{flag} is not yours to give to k3s", details=_OURS[flag], remedies=["Leave it out."]
        )
    return text


def parse_san(text: str) -> str:
    """Check a further name of the API server's certificate: a host name or an address.

    Raises:
        ConfigError: It is neither.
    """
    if _SAN.fullmatch(text) or _is_address(text):
        return text
    raise ConfigError(
        f"{text!r} cannot stand in a certificate",
        remedies=["Give a host name or an address: `--tls-san gateway.example.org`."],
    )


def parse_gpus(text: str) -> str:
    """Check ``all`` or a number of GPUs.

    Raises:
        ConfigError: It is neither.
    """
    if text == "all" or (text.isascii() and text.isdigit() and int(text) > 0):
        return text
    raise ConfigError(
        f"{text!r} is not a number of GPUs", remedies=["Use `--gpus all` or `--gpus 1`."]
    )


def parse_since(text: str, now: datetime) -> float:
    """Read ``10m``, ``2h``, ``1d`` or an RFC 3339 moment; seconds since the epoch.

    Raises:
        ConfigError: It is neither.
    """
    if match := _SINCE.fullmatch(text):
        return (now - timedelta(**{_UNITS[match[2]]: int(match[1])})).timestamp()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            f"{text!r} is not a moment",
            details=str(error),
            remedies=["Use `--since 10m` or `--since 2026-01-31T12:00:00Z`."],
        ) from error
    return moment.timestamp()


def _port(text: str, digits: str, usage: str) -> int:
    if len(digits) <= len(str(_MAX_PORT)) and 0 < int(digits) <= _MAX_PORT:
        return int(digits)
    raise ConfigError(
        f"{text!r} has a port that cannot be",
        details=f"{digits} is not between 1 and {_MAX_PORT}.",
        remedies=[usage],
    )


def _address(text: str, given: str | None, usage: str) -> str:
    if given is None:
        return LOOPBACK
    bare = given.removeprefix("[").removesuffix("]")
    if _is_address(bare) and (":" in bare) == given.startswith("["):
        return bare
    raise ConfigError(
        f"{text!r} has an address that cannot be",
        details=f"{bare!r} is not an IPv4 address, nor an IPv6 address in brackets.",
        remedies=[usage],
    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
