"""The health check's verdict and its reason."""

import subprocess

import pytest

from tests.shell.conftest import DEPLOY, Node

STARTED = "1767225600"  # 2026-01-01T00:00:00Z
FRESH = "True 2026-01-01T00:00:00Z KubeletReady"
STALE = "True 2025-12-31T23:59:59Z KubeletReady"
NOT_READY = "False 2026-01-01T00:01:00Z KubeletNotReady"
NOT_YET = (
    r'E0101 memcache.go:265] "Unhandled Error"'
    "\nError from server (InternalError): an error on the"
    r' server ("[+]ping ok\n[-]etcd-readiness failed: reason withheld\n[-]informer-sync failed: x")'
)
OK = "healthy: the Kubernetes API and node openshell-t1 are ready"


@pytest.mark.parametrize(
    ("started", "readyz", "condition", "expected"),
    [
        (STARTED, "ok", FRESH, OK),
        (None, "ok", FRESH, "unhealthy: k3s has not been started yet"),
        (STARTED, None, FRESH, "unhealthy: the Kubernetes API is not ready: connection refused"),
        (STARTED, NOT_YET, FRESH,
         "unhealthy: the Kubernetes API is not ready: [-]etcd-readiness [-]informer-sync "),
        (STARTED, "ok", None, "unhealthy: node openshell-t1 cannot be read: connection refused"),
        (STARTED, "ok", NOT_READY, "unhealthy: node openshell-t1 is not ready: KubeletNotReady"),
        (STARTED, "ok", STALE,
         "unhealthy: node openshell-t1 has not reported since k3s was started"),
        (STARTED, "ok", "", "unhealthy: node openshell-t1 is not ready: "),
    ],
)  # fmt: skip
def test_verdict(
    node: Node, started: str | None, readyz: str | None, condition: str | None, expected: str
) -> None:
    """R05: the node is asked for by its own name, though the host has another."""
    for path, content in (
        ("run/openshell/k3s-started", started),
        ("readyz", readyz),
        ("condition", condition),
    ):
        if content is not None:
            node.write(path, content + "\n")
    node.write("expected-node", "openshell-t1")
    done = check(node, OPENSHELL_NODE_NAME="openshell-t1")
    assert done.stdout == f"{expected}\n"
    assert done.returncode == (0 if expected is OK else 1)
    assert done.stderr == ""


def test_a_refusal_is_told(node: Node) -> None:
    node.write("run/openshell/refused", "token-differs: the given token is not it\n")
    done = check(node)
    assert done.stdout == (
        "unhealthy: k3s is not started: token-differs: the given token is not it\n"
    )
    assert done.returncode == 1


def test_without_the_variable_the_host_name_is_the_node_s(node: Node) -> None:
    node.write("run/openshell/k3s-started", STARTED)
    node.write("readyz", "ok")
    node.write("condition", FRESH)
    node.write("expected-node", "box")
    assert check(node).stdout == "healthy: the Kubernetes API and node box are ready\n"


def check(node: Node, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*node.shell, DEPLOY / "cluster-healthcheck.sh"],
        env={**node.variables, "OPENSHELL_HEALTHCHECK_ROOT": str(node.root), **variables},
        capture_output=True, text=True, timeout=8, check=False,
    )  # fmt: skip
