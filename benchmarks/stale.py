"""Cleaning up after a node that had another name: how many commands it takes, and how long."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from unittest import mock

from benchmarks import measure, table
from benchmarks.product import Gateway
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.engine.connect import connect
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.gateway.inside.stale_nodes import clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import LEASE_WATCH_S, read_settings
from tests.fakes import kube_objects as objects
from tests.fakes.clock import FakeClock
from tests.unit.gateway.renamed import clean, make_adopted

RUNS_WITHOUT_VOLUMES = 3
MANY = 1000
REAL = 300
OLD_NODE = "bench-old"


def fake_rows() -> list[table.Row]:
    """On a cluster in memory, which understands the same commands and counts them."""
    none, one, many = (_runs_in_memory(volumes) for volumes in (0, 1, MANY))
    return [
        table.count("stale nodes, 0 volumes", runs=none, at_most=RUNS_WITHOUT_VOLUMES),
        table.count(f"stale nodes, {MANY} volumes against 1", runs=many, at_most=one),
    ]


def real_row(gateway: Gateway) -> table.Row:
    """On real Kubernetes, as many runs as the cluster in memory takes for one volume."""
    _make_departed(gateway, REAL)
    node = Counting(ContainerNode(connect(read_settings().docker), gateway.inspect()["Id"]))
    kept: list[Pod] = []
    begun = time.monotonic()
    cleaned = clean_stale_nodes(node, Identity(gateway.node, gateway.node), keep_pods=kept.extend)
    took = time.monotonic() - begun
    assert len(cleaned.rebound_volumes) == REAL, cleaned
    assert cleaned.removed_nodes == (OLD_NODE,), cleaned
    working = took - LEASE_WATCH_S
    return table.count(
        f"stale nodes, {REAL} volumes on a real node",
        runs=node.runs,
        at_most=_runs_in_memory(1),
        note=f"{table.seconds(working)} + {LEASE_WATCH_S:.0f} s watch",
    )


@dataclass
class Counting:
    """Counts the commands that are run in a node."""

    node: NodeExec
    runs: int = 0

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        self.runs += 1
        return self.node.run(argv, stdin=stdin, timeout_s=timeout_s)


def _runs_in_memory(volumes: int) -> int:
    clock = FakeClock()
    kube = make_adopted(clock, volumes)
    with mock.patch.multiple(time, sleep=clock.sleep, monotonic=clock.time, time=clock.time):
        cleaned = clean(kube)
    assert len(cleaned.rebound_volumes) == volumes
    return len(kube.runs)


def _make_departed(gateway: Gateway, volumes: int) -> None:
    """A node that nobody is behind, and volumes with their claims and folders that name it."""
    names = [f"bench-{number}" for number in range(volumes)]
    gateway.exec("xargs", "mkdir", "-p", stdin=" ".join(f"{objects.STORAGE}/{n}" for n in names))
    _create(gateway, [objects.node(OLD_NODE), *(objects.volume(n, OLD_NODE) for n in names)])
    _create(gateway, [objects.claim(name) for name in names])

    def are_bound() -> bool:
        phases = gateway.exec(
            "kubectl", "get", "pvc", "-n", "default", "-o", "jsonpath={.items[*].status.phase}"
        )
        return phases.split().count("Bound") >= volumes

    measure.until(are_bound, f"{volumes} claims that are bound")


def _create(gateway: Gateway, manifests: Sequence[objects.Manifest]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    gateway.exec("kubectl", "create", "-f", "-", stdin=json.dumps(listed))
