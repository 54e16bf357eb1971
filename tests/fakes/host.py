"""This host, as tests want it to be."""

from dataclasses import dataclass, field

from openshell_bootstrap.gateway.host import Host, HostFacts
from openshell_bootstrap.models import EngineInfo, PublishedPort


@dataclass(slots=True)
class FakeHost(Host):
    """Stands for ``Host``: nothing of the machine is read.

    Attributes:
        known: What it says of itself.
        held: Why a port cannot be bound, by the host's port.
        asked: Every port that somebody asked about, in order.
    """

    known: HostFacts = field(
        default_factory=lambda: HostFacts(
            inotify_instances=8192, inotify_watches=1 << 20, free_bytes=1 << 40
        )
    )
    held: dict[int, str] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    def facts(self, engine: EngineInfo) -> HostFacts:
        return self.known

    def port_holder(self, port: PublishedPort) -> str | None:
        self.asked.append(port.host_port)
        return self.held.get(port.host_port)
