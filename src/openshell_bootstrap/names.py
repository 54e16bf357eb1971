"""Names: from a gateway's name to those of its container, volume, network and node.

Everything follows from the gateway's name alone, so that a name is the same on every host, after
every reinstallation and for every image. Pure: no clock, no engine, no environment.
"""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass

from openshell_bootstrap.errors import ConfigError

DEFAULT_GATEWAY = "openshell"
MAX_GATEWAY_NAME = 53
"""``openshell-`` and the name must fit into a DNS label of 63 characters: the node's name."""

MAX_ADOPTED_NAME = 200
"""The longest name from which a volume of the gateway can be made; a file name has 255 at most."""

MAX_DNS_LABEL = 63

LABEL_GATEWAY = "openshell.ai/gateway"
LABEL_MANAGED_BY = "openshell.ai/managed-by"
LABEL_SCHEMA = "openshell.ai/schema"
LABEL_SPEC_DIGEST = "openshell.ai/spec-digest"
LABEL_BUNDLE_DIGEST = "openshell.ai/bundle-digest"
LABEL_ROLE = "openshell.ai/role"
"""What an object of a gateway is for: ``node``, ``scratch`` or ``helper``."""

MANAGED_BY = "openshell-bootstrap"
SCHEMA = "1"

NODE_NAME_ENV = "OPENSHELL_NODE_NAME"

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_ADOPTED = re.compile(r"[A-Za-z0-9._-]+")
_SUFFIX = 8


@dataclass(frozen=True, slots=True)
class GatewayNames:
    """The names of one gateway's Docker objects. All look-ups are by these exact names."""

    gateway: str

    @property
    def container(self) -> str:
        """The node's container."""
        return f"openshell-cluster-{self.gateway}"

    @property
    def volume(self) -> str:
        """The data volume, mounted at ``/var/lib/rancher/k3s``."""
        return self.container

    @property
    def network(self) -> str:
        """The gateway's own bridge network."""
        return self.container

    @property
    def helper(self) -> str:
        """The container that is never started and only opens the volume's files."""
        return f"openshell-helper-{self.gateway}"

    def scratch(self, generation: str, part: str) -> str:
        """A volume that lives and dies with one container of the gateway.

        Args:
            generation: Which container: eight hexadecimal digits, new for every container.
            part: ``kubelet``, ``cni`` or ``log``.
        """
        return f"openshell-scratch-{self.gateway}-{generation}-{part}"

    def aside(self, container_id: str) -> str:
        """The name under which a replaced container waits until its successor is ready."""
        return f"{self.container}-aside-{container_id[:12]}"


def check_new_name(name: str) -> str:
    """Return ``name`` if a new gateway may bear it.

    Raises:
        ConfigError: It is not an RFC 1123 label of at most 53 characters; with a suggestion.
    """
    if _LABEL.fullmatch(name) and len(name) <= MAX_GATEWAY_NAME:
        return name
    raise ConfigError(
        f"{name!r} cannot be a gateway's name",
        details="A gateway's name has lower-case letters, digits and '-', begins and ends with a "
        f"letter or digit, and has at most {MAX_GATEWAY_NAME} characters, because the node's "
        "name in Kubernetes is made of it.",
        remedies=[f"Use a name such as {suggest_name(name)!r}."],
    )


def check_adopted_name(name: str) -> str:
    """Return ``name`` if a gateway of a retired release may have borne it.

    Raises:
        ConfigError: It holds other characters, or could be taken for a path.
    """
    if (
        _ADOPTED.fullmatch(name)
        and name not in {".", ".."}
        and not name.startswith("-")
        and len(name) <= MAX_ADOPTED_NAME
    ):
        return name
    raise ConfigError(
        f"{name!r} cannot be a gateway's name",
        details="No release ever made a gateway with such a name.",
        remedies=["`openshell gateway list` shows the gateways that are there."],
    )


def suggest_name(name: str) -> str:
    """The legal gateway name nearest to ``name``."""
    cut = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_GATEWAY_NAME].strip("-")
    return cut or DEFAULT_GATEWAY


def node_name(gateway: str, taken: Collection[str] = ()) -> str:
    """The Kubernetes node name of a gateway, which is its container's host name too.

    New names map one to one. An adopted name may not: it is lower-cased, other characters become
    one ``-``, the ends are trimmed and nothing becomes ``gateway``, as the retired releases did;
    where that is too long or another gateway's, eight hexadecimal digits of the name's SHA-256
    tell it apart: the first eight, or the next where somebody has those too.

    Args:
        gateway: The gateway's name.
        taken: Node names of other gateways on the engine.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", gateway.lower()).strip("-") or "gateway"
    if _LABEL.fullmatch(gateway):
        stem = gateway
    plain = f"openshell-{stem}"
    if len(plain) <= MAX_DNS_LABEL and plain not in taken:
        return plain
    digest = hashlib.sha256(gateway.encode()).hexdigest()
    cut = plain[: MAX_DNS_LABEL - _SUFFIX - 1].rstrip("-")
    told_apart = (f"{cut}-{digest[at : at + _SUFFIX]}" for at in range(0, len(digest), _SUFFIX))
    return next(name for name in told_apart if name not in taken)


def is_node_name(text: str) -> bool:
    """Whether a node, and with it a container's host, can be called so."""
    return bool(_LABEL.fullmatch(text)) and len(text) <= MAX_DNS_LABEL
