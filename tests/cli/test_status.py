"""How the state of a gateway is told."""

from dataclasses import replace

import pytest

from openshell_bootstrap.gateway import results
from tests.cli.noted import STATUS


@pytest.mark.parametrize("code", [0, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("output", ["table", "json", "yaml", "name"])
def test_status_ends_with_its_exit_code_in_every_form(cli, code, output):
    cli.answer(status=replace(STATUS, exit_code=code))
    assert cli("gateway", "status", "-o", output).exit_code == code


def test_status_of_a_healthy_gateway(cli):
    assert cli("gateway", "status").stdout.splitlines() == [
        "Gateway t1: ready",
        "  container  openshell-cluster-t1: running, healthy",
        "  node       openshell-t1: ready, v1.35.3+k3s1",
        "  workload   coredns: 1 of 1",
        "  API        https://127.0.0.1:16443",
        "  volume     openshell-cluster-t1: present",
        "  network    present",
        "  image      rancher/k3s:v1.35.3-k3s1",
    ]


def test_status_leads_with_the_cause_and_the_next_step(cli):
    cli.answer(
        status=replace(
            STATUS,
            word="failing",
            cause="k3s ended",
            next_step="look at the log",
            exit_code=8,
            node=results.NodeStatus(name="n", ready=False, detail="lease is old", foreign=("old",)),
            volume_present=None,
            network_present=False,
            drift=("image: a -> b",),
            notices=("be careful",),
        )
    )
    result = cli("gateway", "status")
    lines = result.stdout.splitlines()
    assert lines[:3] == ["Gateway t1: failing", "  k3s ended", "-> look at the log"]
    assert "  node        n: not ready, lease is old" in lines
    assert "  stale node  old" in lines
    assert "  volume      openshell-cluster-t1: unknown" in lines
    assert "  network     absent" in lines
    assert "  differs     image: a -> b" in lines
    assert result.stderr == "Note: be careful\n"


def test_status_tells_names_claims_and_what_the_node_runs_short_of(cli):
    """R22, R29, R98, R102."""
    waits = results.ClaimStatus(
        claim="default/data-s-0",
        volume="pvc-1",
        pods=("default/s-0",),
        node="old",
        folder="/v/_data/storage/pvc-1",
        reclaim_policy="Retain",
        requested_bytes=1 << 30,
        problem="its volume pvc-1 is on node old",
        next_step="start it",
    )
    full = results.ClaimStatus(
        claim="default/data-s-1", volume="pvc-2", requested_bytes=1 << 30, used_bytes=3 << 29
    )
    node = results.NodeStatus(name="n", ready=True, pressures=("DiskPressure",))
    dns = results.DnsStatus(cluster="answered", outside="failed")
    cli.answer(status=replace(STATUS, node=node, dns=dns, claims=(waits, full)))
    lines = cli("gateway", "status").stdout.splitlines()
    assert "  node       n: ready, DiskPressure" in lines
    assert "  names      answered in the cluster, failed outside of it" in lines
    assert [line for line in lines if line.startswith("  claim")] == [
        "  claim      default/data-s-0: asked for 1 GiB",
        "  claim        its volume pvc-1 is on node old",
        "  claim        -> start it",
        "  claim        mounted by default/s-0",
        "  claim        in /v/_data/storage/pvc-1 (Retain)",
        "  claim      default/data-s-1: holds 1.5 GiB, asked for 1 GiB",
    ]


def test_status_without_a_node(cli):
    cli.answer(status=replace(STATUS, word="absent", node=None, exit_code=3, endpoint=""))
    assert "node " not in cli("gateway", "status").stdout
