"""From signs of trouble to a cause and what to do about it. Pure; the most specific cause wins.

Signs are lines (of the node's log, of pods that are not well, of the engine) and how the node's
container ended. What is not known is not guessed: then there is no diagnosis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openshell_bootstrap.diagnosis.cause import Cause
from openshell_bootstrap.diagnosis.engine_causes import ENDS, ENGINE
from openshell_bootstrap.diagnosis.host_causes import HOST
from openshell_bootstrap.diagnosis.pod_causes import PODS
from openshell_bootstrap.diagnosis.volume_causes import NODE_PASSWORD_REJECTED, VOLUME
from openshell_bootstrap.models import Container, PublishedPort
from openshell_bootstrap.names import GatewayNames

__all__ = [
    "CAUSES",
    "DECISIVE",
    "NODE_PASSWORD_REJECTED",
    "About",
    "Diagnosis",
    "Signs",
    "diagnose",
]

CAUSES: tuple[Cause, ...] = (*VOLUME, *ENGINE, *HOST, *PODS, *ENDS)
"""In the order in which they are looked for: what an exit code alone says comes last."""

DECISIVE: tuple[Cause, ...] = tuple(
    cause for cause in VOLUME if cause.refused or cause.name == NODE_PASSWORD_REJECTED
)
"""Those that a wait acts on. It looks often, beside a booting node that needs the processor."""

_API_PORT = 6443


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Whose trouble it is, so that causes and remedies name it.

    Attributes:
        gateway: The gateway's name.
        node: The node's.
        image: The node image.
        address: Where the Kubernetes API is published.
        port: The port there, of the host.
    """

    gateway: str
    node: str
    image: str
    address: str
    port: int

    @classmethod
    def of(cls, container: Container) -> "About":
        """From the gateway's container."""
        nowhere = PublishedPort("127.0.0.1", 0, _API_PORT)
        api = next((port for port in container.ports if port.container_port == _API_PORT), nowhere)
        return cls(
            gateway=container.name.removeprefix(GatewayNames("").container),
            node=container.hostname,
            image=container.image,
            address=api.address,
            port=api.host_port,
        )

    @property
    def words(self) -> Mapping[str, str]:
        """What the placeholders of a cause stand for."""
        names = GatewayNames(self.gateway)
        return {
            "gateway": self.gateway,
            "container": names.container,
            "volume": names.volume,
            "network": names.network,
            "node": self.node,
            "image": self.image,
            "address": self.address,
            "port": str(self.port),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What there is to see of a trouble.

    Attributes:
        lines: Oldest first.
        exit_code: Of the node's container, where it ended.
        oom_killed: The kernel killed something in it for want of memory.
    """

    lines: Sequence[str] = ()
    exit_code: int | None = None
    oom_killed: bool = False

    @classmethod
    def of(cls, container: Container | None, lines: Sequence[str]) -> "Signs":
        """From a container as it is now and the last lines of its present life."""
        if container is None:
            return cls(lines=lines)
        ended = not container.is_up or container.status == "restarting"
        return cls(
            lines=(*lines, *([container.error] if container.error else ())),
            exit_code=container.exit_code if ended and container.has_started else None,
            oom_killed=container.oom_killed and ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A cause, and what to do about it.

    Attributes:
        cause: Names the cause, for code that acts on it.
        refused: Trying again changes nothing: such a node is stopped, so that it does not end for
            ever.
        evidence: The last line that shows it; empty where the end of the container does.
    """

    cause: str
    brief: str
    remedies: tuple[str, ...] = field(default=())
    refused: bool = False
    evidence: str = ""


def diagnose(signs: Signs, about: About, *, causes: Sequence[Cause] = CAUSES) -> Diagnosis | None:
    """The most specific cause that the signs show, or None.

    Args:
        signs: What there is to see.
        about: Whose trouble it is.
        causes: Those that are looked for, the most specific first.
    """
    text = "\n".join(signs.lines)
    for cause in causes:
        seen = cause.find(signs.lines, text)
        if seen is None and not cause.is_end(signs.exit_code, oom_killed=signs.oom_killed):
            continue
        words = {**about.words, **(seen.groupdict() if seen else {})}
        return Diagnosis(
            cause=cause.name,
            brief=cause.brief.format_map(words),
            remedies=tuple(remedy.format_map(words) for remedy in cause.remedies),
            refused=cause.refused,
            evidence=seen.string.strip() if seen else "",
        )
    return None
