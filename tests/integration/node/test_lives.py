"""One data volume under many containers: what k3s keeps, follows and refuses."""

import re
from collections.abc import Callable

import docker
import pytest

from tests.integration.node.nodes import (
    DATA,
    STAYING_SHELL,
    Node,
    claim,
    pod,
    run_once,
)
from tests.plugins.engine import NODE_IMAGE
from tests.until import until

WRITER = "date >> /work/starts; trap 'exit 0' TERM; while :; do sleep 1; done"
LEAVE_ARCHIVES = f"""
set -e
ctr images tag docker.io/openshell/busybox:1 docker.io/test/mine:1
ctr images export {DATA}/agent/images/mine.tar docker.io/test/mine:1
pigz {DATA}/agent/images/mine.tar
ctr images rm docker.io/test/mine:1
echo broken > {DATA}/agent/images/broken.tar
"""
SHELL = ["/bin/sh", "-c", STAYING_SHELL, "sh"]


def test_a_volume_keeps_its_cluster_over_containers(
    run_node: Callable[..., Node],
    volume: str,
    fresh_name: Callable[[str], str],
    docker_client: docker.DockerClient,
    run_labels: dict[str, str],
) -> None:
    name = fresh_name("lives")
    first = run_node(name, "--token=right", volume=volume)
    first.await_ready()
    first.apply(claim("work"), pod("writer", WRITER, claim_name="work"))
    first.kubectl("wait", "--for=condition=Ready", "pod/writer", "--timeout=60s")
    authority = first.sh(f"cat {DATA}/server/tls/server-ca.crt")
    uid = first.get("pvc", "work")["metadata"]["uid"]
    first.sh(LEAVE_ARCHIVES)

    first.container.stop(timeout=30)
    assert first.await_exit() == 0
    assert "Closing database connections..." in first.log()
    before = _digests(docker_client, volume)
    assert "server/db/state.db-wal" not in before
    first.container.remove(v=True)

    _check_is_turned_away(run_node(name, "--token=wrong", volume=volume))
    assert _without_store(_digests(docker_client, volume)) == _without_store(before)

    network = docker_client.networks.create(fresh_name("other-net"), labels=run_labels)
    second = run_node(name, volume=volume, network=network.name, entrypoint=SHELL)
    _check_address(second, network.name)
    assert second.sh(f"cat {DATA}/server/tls/server-ca.crt") == authority
    assert second.get("pvc", "work")["metadata"]["uid"] == uid
    _check_imports(second)
    _await_starts(second, 2)
    # kubectl exec goes through the API server to the kubelet's certificate of the new address.
    until(lambda: second.can("exec", "writer", "--", "true"), "exec into the pod", 20)
    until(lambda: _password_events(second), "the lost node password is told by an event")
    _check_restart_in_place(second)
    second.container.remove(force=True, v=True)
    network.remove()


def _check_is_turned_away(wrong: Node) -> None:
    assert wrong.await_exit() == 1
    assert (
        "starting kubernetes: preparing server: failed to bootstrap cluster data: "
        "bootstrap data already found and encrypted with different token"
    ) in wrong.log()
    wrong.container.remove(v=True)


def _check_address(node: Node, network: str) -> None:
    seen = node.await_ready()
    node.container.reload()
    address = node.container.attrs["NetworkSettings"]["Networks"][network]["IPAddress"]
    assert {"type": "InternalIP", "address": address} in seen["status"]["addresses"]


def _check_imports(node: Node) -> None:
    """All archives are through before the kubelet runs, the good one in and the broken one told."""
    signs = ("importing", "Imported", "Running")
    told = [line for line in node.log().splitlines() if any(sign in line for sign in signs)]

    def place(sign: str) -> int:
        return next((at for at, line in enumerate(told) if sign in line), len(told))

    imported = place(f"Imported images from {DATA}/agent/images/mine")
    broken = place(f"Error encountered while importing {DATA}/agent/images/broken.tar")
    assert max(imported, broken) < place("Running kubelet"), told
    present = node.sh("ctr images list -q")
    assert "docker.io/test/mine:1" in present, (present, told)


def _check_restart_in_place(node: Node) -> None:
    """k3s killed under a first process that stays: pods and shims live on, and are taken up."""
    node.kubectl("wait", "--for=condition=Ready", "pod/writer", "--timeout=60s")
    containers = _containers(node)
    shims = _shims(node)
    old = node.sh("cat /run/k3s.pid")
    node.sh("kill -9 $(cat /run/k3s.pid)")
    until(lambda: node.sh("cat /run/k3s.pid") != old, "k3s is started again")
    assert shims <= _shims(node)
    node.booted = float(node.sh("date +%s"))
    node.await_ready()
    # The kubelet takes its pods up again a moment after the node is Ready.
    until(lambda: node.can("exec", "writer", "--", "true"), "exec into the pod", 20)
    assert _containers(node) == containers
    node.kubectl("delete", "pod", "writer", "--timeout=30s")


def test_lost_authorities_come_back_with_the_token_and_a_lost_token_is_refused(
    run_node: Callable[..., Node],
    volume: str,
    fresh_name: Callable[[str], str],
    docker_client: docker.DockerClient,
) -> None:
    name = fresh_name("lost")
    first = run_node(name, "--token=right", volume=volume)
    first.await_log("Kube API server is now running")
    first.container.remove(force=True, v=True)
    before = _digests(docker_client, volume)["server/tls/server-ca.crt"]
    _in_volume(docker_client, volume, "rm -r /d/server/tls /d/server/cred /d/server/token")
    again = run_node(name, "--token=right", volume=volume)
    again.await_log("Kube API server is now running")
    again.container.remove(force=True, v=True)
    assert _digests(docker_client, volume)["server/tls/server-ca.crt"] == before

    _in_volume(docker_client, volume, "rm -r /d/server/tls /d/server/cred /d/server/token")
    for token, told in (
        ("", "bootstrap data already found and encrypted with different token"),
        ("--token=right", "newer than datastore and could cause a cluster outage"),
    ):
        refused = run_node(name, *([token] if token else []), volume=volume)
        assert refused.await_exit() == 1
        assert told in refused.log()
        refused.container.remove(v=True)
        # Past the 3 seconds in which k3s takes a differing file for its own.
        _in_volume(docker_client, volume, "touch -d '1 hour' /d/server/tls/* /d/server/cred/*")


def test_old_mode_rejects_a_lost_node_password(
    run_node: Callable[..., Node], fresh_name: Callable[[str], str]
) -> None:
    """Before 1.33: the API runs, but the node does not join."""
    old_mode = {"OPENSHELL_SOURCE_NODE_PASSWORD_MODE": "reject"}
    node = run_node(fresh_name("reject"), entrypoint=SHELL, environment=old_mode)
    node.await_ready()
    secret = f"{node.name}.node-password.k3s"
    until(lambda: node.can("get", "secret", "-n", "kube-system", secret), secret)
    node.sh("rm /etc/rancher/node/password; kill -TERM $(cat /run/k3s.pid)")
    node.await_log(
        "Waiting to retrieve agent configuration; server is not ready: Node password rejected, "
        "duplicate hostname or contents of '/etc/rancher/node/password' may not match"
    )
    assert node.kubectl("get", "--raw=/readyz") == "ok"
    assert node.sh("pidof kubelet || true") == ""
    node.container.remove(force=True, v=True)


@pytest.mark.parametrize("component", ["kube-scheduler", "containerd"])
def test_a_dead_component_ends_the_node_with_its_name(
    run_node: Callable[..., Node], fresh_name: Callable[[str], str], component: str
) -> None:
    node = run_node(fresh_name("dead"))
    node.await_log("Running kube-proxy")
    node.sh(f"kill -9 $(pidof {component})")
    assert node.await_exit() == 1
    assert f"{component} exited: signal: killed" in node.log()[-2000:]
    node.container.remove(v=True)


def test_second_signal_ends_at_once(
    run_node: Callable[..., Node], fresh_name: Callable[[str], str]
) -> None:
    node = run_node(fresh_name("twice"))
    node.await_log("Kube API server is now running")
    node.sh("kill -STOP $(pidof kube-apiserver); kill -TERM 1")
    node.await_log("Shutdown request received")
    node.sh("kill -TERM 1")
    assert node.await_exit() == 1
    assert "Second shutdown signal received" in node.log()
    node.container.remove(v=True)


def test_cgroup_v1_is_refused_without_the_flag(
    run_node: Callable[..., Node], fresh_name: Callable[[str], str], is_cgroup_v1: bool
) -> None:
    if not is_cgroup_v1:
        pytest.skip("this engine runs cgroup v2")
    node = run_node(fresh_name("v1"), fit=False)
    assert node.await_exit(90) == 1
    assert "kubelet is configured to not run on a host using cgroup v1" in node.log()
    node.container.remove(v=True)


def _containers(node: Node) -> dict[str, str]:
    return {
        one["metadata"]["name"]: one["status"]["containerStatuses"][0]["containerID"]
        for one in node.get("pods", "-A")["items"]
    }


def _shims(node: Node) -> set[str]:
    return set(node.sh("pidof containerd-shim-runc-v2").split())


def _await_starts(node: Node, count: int) -> None:
    script = f"cat {DATA}/storage/pvc-*_default_work/starts | wc -l"
    until(lambda: int(node.sh(script)) == count, f"the pod has started {count} times")


def _password_events(node: Node) -> list[str]:
    events = node.get("events", "--field-selector=reason=NodePasswordValidationFailed")["items"]
    return [one for one in events if re.search(r"hash does not match$", one["message"])]


def _in_volume(client: docker.DockerClient, volume: str, script: str) -> str:
    status, output = run_once(
        client,
        NODE_IMAGE,
        "-c",
        script,
        entrypoint="/bin/sh",
        volumes={volume: {"bind": "/d", "mode": "rw"}},
    )
    assert status == 0, output
    return output


def _digests(client: docker.DockerClient, volume: str) -> dict[str, str]:
    """Every file of the server's folder with its digest."""
    told = _in_volume(client, volume, "cd /d; find server -type f -exec sha256sum {} +")
    found = (line.split(maxsplit=1) for line in told.splitlines())
    return {path: digest for digest, path in found}


def _without_store(digests: dict[str, str]) -> dict[str, str]:
    """Opening the datastore to look into it compacts it; everything else must be untouched."""
    return {path: digest for path, digest in digests.items() if "/db/" not in path}
