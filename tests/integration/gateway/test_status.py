"""What status says of a real node: its pods' names, its claims, and where their files are.

The tests follow one gateway and depend on their order.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.workloads import running, stateful_set
from tests.until import until

IPTABLES = "/bin/aux/iptables"
RESOLVER = "169.254.53.53"
WRITE = "dd if=/dev/zero of=/data/big bs=1M count=3; echo whole >/data/mark; sync; exec sleep 9999"


@pytest.fixture(scope="module")
def gateway(make_gateway: Callable[[], Gateway]) -> Gateway:
    made = make_gateway()
    made.start()
    return made


def status(gateway: Gateway, *words: str, expect: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = gateway.run("status", "-o", "json", *words, expect=expect).envelope[
        "result"
    ]
    assert result["exit_code"] == expect
    return result


@contextmanager
def unreachable_resolver(gateway: Gateway) -> Iterator[None]:
    """Pods' name server asks in vain, as where the host's resolver is on a loopback of its own."""
    rules = (("-t", "nat", "OPENSHELL-DNS", "RETURN"), ("-t", "filter", "FORWARD", "DROP"))
    for option, table, chain, verdict in rules:
        gateway.exec(IPTABLES, option, table, "-I", chain, "-d", RESOLVER, "-j", verdict)
    # A flow that was redirected before stays so.
    gateway.exec("sh", "-c", f"conntrack -D --orig-dst {RESOLVER} >/dev/null 2>&1 || :")
    try:
        yield
    finally:
        for option, table, chain, verdict in rules:
            gateway.exec(IPTABLES, option, table, "-D", chain, "-d", RESOLVER, "-j", verdict)


def test_names_that_pods_cannot_resolve_are_told(gateway: Gateway) -> None:
    """R98: asked in a pod's place, before anything of it is in a cache."""
    with unreachable_resolver(gateway):
        seen = status(gateway, expect=8)
        assert seen["word"] == "degraded"
        assert seen["dns"] == {"cluster": "answered", "outside": "failed"}
        assert seen["cause"] == "pods cannot resolve names outside of the cluster"
    well = until(lambda: status(gateway), "names are resolved again")
    assert well["dns"] == {"cluster": "answered", "outside": "answered"}


@pytest.fixture(scope="module")
def claim(gateway: Gateway) -> str:
    """A claim of 1 MiB that holds 3 of them, and a pod that runs on it."""
    made = stateful_set("full", WRITE, ready="test -e /data/mark")
    requests = made["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]
    requests["storage"] = "1Mi"
    gateway.apply(made)
    until(lambda: running(gateway, "full"), "the pod writes")
    return "default/data-full-0"


def test_a_claim_that_holds_more_than_it_asked_for_is_told(gateway: Gateway, claim: str) -> None:
    """R29: and another one starts beside it."""
    assert status(gateway)["claims"] == []
    (told,) = status(gateway, "--usage")["claims"]
    assert (told["claim"], told["requested_bytes"]) == (claim, 1 << 20)
    assert 3 << 20 <= told["used_bytes"] < 4 << 20
    assert told["problem"] == "it holds 3 MiB and asked for 1 MiB"
    assert told["pods"] == ["default/full-0"]
    gateway.apply(stateful_set("other", "exec sleep 9999", ready="true"))
    until(lambda: running(gateway, "other"), "another pod with a claim runs")


def test_a_claims_files_are_where_status_says(gateway: Gateway, claim: str) -> None:
    """R36: below the data volume, whose place on the host `info` tells."""
    told = {one["claim"]: one for one in status(gateway, "--usage")["claims"]}[claim]
    mountpoint = gateway.run("info", "-o", "json").envelope["result"]["data_mountpoint"]
    assert told["folder"].startswith(f"{mountpoint}/storage/")
    inside = told["folder"].removeprefix(mountpoint)
    assert gateway.exec("cat", f"/var/lib/rancher/k3s{inside}/mark") == "whole"
    image = gateway.inspect()["Config"]["Image"]
    volume = f"{gateway.container}:/v:ro"
    read = docker("run", "--rm", "--entrypoint", "cat", "-v", volume, image, f"/v{inside}/mark")
    assert read == "whole"


def test_a_claim_whose_volume_is_on_a_node_that_is_gone_is_told_and_rebound(
    gateway: Gateway, claim: str
) -> None:
    """R22, R25: nothing is made anew and empty; the next step that is told brings it back."""
    volume = gateway.get("pvc", "data-full-0")["spec"]["volumeName"]
    uid = gateway.get("pvc", "data-full-0")["metadata"]["uid"]
    pin(gateway, volume, "old-node")
    seen = status(gateway, expect=8)
    assert seen["word"] == "degraded"
    assert f"claim {claim} waits for a volume on node old-node" in seen["cause"]
    (told,) = seen["claims"]
    assert (told["claim"], told["volume"], told["node"]) == (claim, volume, "old-node")
    assert told["pods"] == ["default/full-0"]
    assert told["next_step"].startswith(f"`openshell gateway start --name {gateway.name}`")
    assert gateway.start()["cleaned"]["rebound_volumes"] == [volume]
    well = status(gateway)
    assert (well["word"], well["claims"]) == ("ready", [])
    assert gateway.get("pvc", "data-full-0")["metadata"]["uid"] == uid
    assert gateway.kubectl("exec", "full-0", "--", "cat", "/data/mark") == "whole"


def pin(gateway: Gateway, volume: str, node: str) -> None:
    """Pin a volume to another node; the image's API lets that be changed in place."""
    path = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0"
    patch = f'[{{"op": "replace", "path": "{path}", "value": "{node}"}}]'
    gateway.kubectl("patch", "pv", volume, "--type=json", "-p", patch)
