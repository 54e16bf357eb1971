"""This host, as tests want it to be."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from openshell_bootstrap.gateway.checks.host import Host, HostFacts
from openshell_bootstrap.gateway.checks.kernel import Kernel
from openshell_bootstrap.models import EngineInfo, PublishedPort


@dataclass(slots=True)
class FakeHost(Host):
    """Stands for ``Host``: nothing of the machine is read.

    Attributes:
        known: What it says of itself.
        held: Why a port cannot be bound, by the host's port.
        asked: Every port that somebody asked about, in order.
        known_kernel: What its kernel can.
        closed: Why a folder cannot be written.
        clock: Its time; the real one if it is None.
    """

    known: HostFacts = field(
        default_factory=lambda: HostFacts(
            inotify_instances=8192, inotify_watches=1 << 20, free_bytes=1 << 40
        )
    )
    held: dict[int, str] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    known_kernel: Kernel = field(
        default_factory=lambda: dict.fromkeys(
            ("overlay", "br_netfilter", "iptables", "nf_tables", "vxlan"), "there"
        )
    )
    closed: dict[Path, str] = field(default_factory=dict)
    clock: float | None = None

    def facts(self, engine: EngineInfo) -> HostFacts:
        return self.known

    def now(self) -> float:
        return time.time() if self.clock is None else self.clock

    def kernel(self, engine: EngineInfo) -> Kernel:
        return self.known_kernel if engine.is_local else {}

    def unwritable(self, folder: Path) -> str | None:
        return self.closed.get(folder)

    def port_holder(self, port: PublishedPort) -> str | None:
        self.asked.append(port.host_port)
        return self.held.get(port.host_port)
