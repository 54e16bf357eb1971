"""The workloads that k3s itself brings up in a node. Pure."""

from collections.abc import Sequence

from openshell_bootstrap.cluster.workloads import Workload
from openshell_bootstrap.gateway.node_container import disabled_addons, k3s_command
from openshell_bootstrap.models import GatewaySpec

_ADDON_WORKLOADS = {"coredns": "coredns", "local-storage": "local-path-provisioner"}
"""Workloads by the addon that brings them; of k3s's addons these two are on in a gateway."""


def expected_workloads(spec: GatewaySpec) -> frozenset[str]:
    """Workloads that k3s brings up for the addons that are not off.

    On a new cluster they come some seconds after the API, so their absence proves nothing.
    """
    off = disabled_addons(k3s_command(spec))
    return frozenset(name for addon, name in _ADDON_WORKLOADS.items() if addon not in off)


def missing_workloads(seen: Sequence[Workload], expected: frozenset[str]) -> tuple[str, ...]:
    """Names of workloads that are not there yet or not available."""
    absent = expected - {one.name for one in seen}
    return (*sorted(absent), *(one.name for one in seen if not one.is_available))
