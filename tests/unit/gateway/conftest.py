"""A host, an engine with nodes in it and a store, all in memory but for the store's folder."""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from openshell_bootstrap.cluster.kubeconfig import build_kubeconfig
from openshell_bootstrap.events import Event, Notice
from openshell_bootstrap.gateway.destroy import destroy, losses
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import Destroyed, Losses, Started
from openshell_bootstrap.gateway.start import start
from openshell_bootstrap.gateway.starting import save_records
from openshell_bootstrap.models import DATA_PATH, SCRATCH_PATHS, Container, ContainerSpec, Mount
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeEngine
from tests.fakes.host import FakeHost
from tests.fakes.kube import FakeKube
from tests.fakes.node import FakeNodes

_build_kubeconfig = cache(build_kubeconfig)
"""It is pure, and half of what a start costs here."""

DECLARED = (DATA_PATH, *SCRATCH_PATHS.values())
NAME = "openshell-cluster-t1"
"""Container, volume and network of the gateway ``t1``."""


@dataclass(slots=True)
class World:
    """Everything that a gateway meets."""

    engine: FakeEngine
    nodes: FakeNodes
    host: FakeHost
    store: Store
    clock: FakeClock
    events: list[Event] = field(default_factory=list)

    def start(self, name: str = "t1", **asked: Any) -> Started:
        request = StartRequest(name=name, **asked)
        return start(
            request,
            engine=self.engine,
            store=self.store,
            host=self.host,
            report=self.events.append,
        )

    def evidence(self, name: str = "t1") -> Evidence:
        return Evidence(
            name=name,
            operation="start",
            engine=self.engine,
            store=self.store,
            report=self.events.append,
        )

    def destroy(self, name: str = "t1") -> Destroyed:
        return destroy(name, engine=self.engine, store=self.store, report=self.events.append)

    def losses(self, name: str = "t1") -> Losses:
        return losses(name, engine=self.engine, store=self.store)

    @property
    def notices(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Notice))

    @property
    def kube(self) -> FakeKube:
        return self.nodes.clusters[NAME]

    def changes(self) -> list[str]:
        """What was called that can change something, exec left out; and forget it."""
        done = [name for name in self.engine.methods() if name != "containers.exec"]
        self.engine.calls.clear()
        return done

    def run_foreign(self, name: str, *, volume: str = "", network: str = "") -> str:
        """Somebody else's running container."""
        if self.engine.images.find("busybox") is None:
            self.engine.add_image("busybox")
        mounts = (Mount(kind="volume", source=volume, target="/x"),) if volume else ()
        made = self.engine.containers.create(
            ContainerSpec(
                name=name,
                image="busybox",
                hostname=name,
                entrypoint=("sleep",),
                command=("9",),
                environment={},
                labels={},
                mounts=mounts,
                network=network,
            )
        )
        self.engine.state.box(made).status = "running"
        return made

    def run_retired(self, name: str = "t1", **changes: Any) -> Container:
        """A gateway as a retired release left it: no labels, named after its container."""
        spec = ContainerSpec(
            name=f"openshell-cluster-{name}",
            image=DEFAULT_NODE_IMAGE,
            hostname="0f3a9c1b2d4e",
            entrypoint=("/bin/k3s",),
            command=("server", "--disable=traefik", "--tls-san=127.0.0.1", "--tls-san=example.org"),
            environment={"SECRET": "no", "https_proxy": "http://proxy:3128"},
            labels={},
            mounts=(Mount(kind="volume", source=f"openshell-cluster-{name}", target=DATA_PATH),),
            network=f"openshell-cluster-{name}",
            restart_policy="unless-stopped",
            **changes,
        )
        self.engine.networks.create(spec.network, {})
        made = self.engine.containers.create(spec)
        self.engine.containers.start(made)
        self.engine.calls.clear()
        return self.engine.seen(made)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folders = LockFolders(shared=tmp_path / "locks", user=tmp_path / "user" / "locks")
    return Store(
        tmp_path / "config" / "openshell",
        folders,
        "openshell gateway start",
        state=tmp_path / "state" / "openshell",
    )


@pytest.fixture
def world(clock: FakeClock, store: Store, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # how fast a disk is, is not tested here
    monkeypatch.setattr(save_records, "build_kubeconfig", _build_kubeconfig)
    engine = FakeEngine()
    engine.add_image(DEFAULT_NODE_IMAGE, declared_volumes=DECLARED)
    return World(engine, FakeNodes(engine, clock), FakeHost(), store, clock)
