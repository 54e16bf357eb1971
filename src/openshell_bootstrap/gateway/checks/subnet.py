"""The range of addresses of a gateway's network, where the user chooses it. Pure."""

import ipaddress
from collections.abc import Iterable

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Network
from openshell_bootstrap.settings import CLUSTER_NO_PROXY

_CLUSTER_RANGES = tuple(
    ipaddress.IPv4Network(part) for part in CLUSTER_NO_PROXY if part[0].isdigit()
)
"""This host itself, pods and services: a node with an address among theirs reaches none of them."""
_LONGEST_PREFIX = 29
"""Leaves six addresses: the bridge's, the node's and some for containers beside it."""


def parse_subnet(text: str) -> str:
    """Check a range such as ``10.99.0.0/24`` and return it as the engine writes it.

    Raises:
        ConfigError: It is none, or one that a node's network cannot have.
    """
    try:
        found = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise _refused(text, str(error)) from error
    if "/" not in text or found.prefixlen > _LONGEST_PREFIX:
        raise _refused(text, f"it needs a prefix length of {_LONGEST_PREFIX} at most")
    for ours in _CLUSTER_RANGES:
        if found.overlaps(ours):
            raise _refused(text, f"it overlaps with {ours}, which the cluster itself uses")
    if found.is_multicast or found.is_reserved or found.is_link_local or found.is_unspecified:
        raise _refused(text, "no host can have such an address")
    return str(found)


def fits(network: Network, subnet: str) -> bool:
    """Whether a network has the range; without one that was asked for, every network does."""
    return not subnet or subnet in network.subnets


def overlapping(subnet: str, networks: Iterable[Network]) -> list[Network]:
    """The networks that have addresses of a range."""
    wanted = ipaddress.IPv4Network(subnet)
    return [one for one in networks if any(_overlaps(wanted, theirs) for theirs in one.subnets)]


def _overlaps(wanted: ipaddress.IPv4Network, text: str) -> bool:
    theirs = ipaddress.ip_network(text, strict=False)
    return isinstance(theirs, ipaddress.IPv4Network) and wanted.overlaps(theirs)


def _refused(text: str, why: str) -> ConfigError:
    return ConfigError(
        f"{text!r} cannot be the range of a gateway's network: {why}",
        remedies=["Give a private range that is free, such as `--subnet 10.99.0.0/24`."],
    )
