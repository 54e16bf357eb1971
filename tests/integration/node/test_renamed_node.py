"""A data volume whose node had another name, on real Kubernetes, killed at every step."""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from openshell_bootstrap import bundle
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.gateway.inside import stale_nodes
from openshell_bootstrap.gateway.inside.readiness import find_failure, is_ready, observe_readiness
from openshell_bootstrap.gateway.inside.stale_nodes import clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from openshell_bootstrap.gateway.node_container import build_container
from openshell_bootstrap.models import (
    Completed,
    ContainerSpec,
    GatewaySpec,
    Patience,
    PublishedPort,
)
from openshell_bootstrap.names import GatewayNames, node_name
from openshell_bootstrap.waits import wait_until
from tests.fakes import kube_objects as objects

PATIENCE = Patience(timeout_s=120, interval_s=0.5)
COMMANDS = 5
"""Look, look again, folders, replace, delete."""

POD = {
    "terminationGracePeriodSeconds": 0,
    "containers": [
        {
            "name": "c",
            "image": "openshell/sandbox:latest",
            "imagePullPolicy": "IfNotPresent",
            "command": [
                "sh",
                "-c",
                "[ -e /data/f ] || hostname >/data/f; sync; exec sleep 100000",
            ],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
    ],
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "serviceName": "web",
        "replicas": 4,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    },
}
ALONE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone", "namespace": "default"},
    "spec": {**POD, "volumes": [{"name": "data", "emptyDir": {}}]},
}


@dataclass
class Killed:
    """A node whose user loses patience before one of its commands."""

    node: NodeExec
    before: int
    ran: int = 0

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        if self.ran == self.before:
            raise KeyboardInterrupt
        self.ran += 1
        return self.node.run(argv, stdin=stdin, timeout_s=timeout_s)


@dataclass(frozen=True)
class Lives:
    """The two containers of one data volume."""

    engine: Engine
    spec: ContainerSpec

    def begin_old(self, host_name: str) -> ContainerNode:
        """As a retired release ran it: the image's own entrypoint, named after its host name."""
        return self._begin(
            replace(
                self.spec,
                name=f"{self.spec.name}-old",
                hostname=host_name,
                entrypoint=("/bin/k3s",),
                command=("server", "--kubelet-arg=fail-cgroupv1=false"),
                environment={},
                health_command=(),
            )
        )

    def begin_new(self, *arguments: str) -> ContainerNode:
        spec = replace(self.spec, command=(*self.spec.command, *arguments))
        return self._begin(spec, with_bundle=True)

    def _begin(self, spec: ContainerSpec, *, with_bundle: bool = False) -> ContainerNode:
        container = self.engine.containers.create(spec)
        if with_bundle:
            self.engine.containers.put_files(container, bundle.files())
        self.engine.containers.start(container)
        return ContainerNode(self.engine, container)

    def end(self, node: ContainerNode) -> None:
        self.engine.containers.remove(node.container_id, force=True)


@pytest.fixture
def lives(
    engine: Engine, docker_client: object, node_image: str, gateway_name: Callable[[], str]
) -> Lives:
    names = GatewayNames(gateway_name())
    spec = GatewaySpec(
        name=names.gateway,
        node_name=node_name(names.gateway),
        image=node_image,
        api_port=PublishedPort("127.0.0.1", 0, 6443),
    )
    made = build_container(spec, engine.info(), generation=secrets.token_hex(4), has_modules=False)
    engine.networks.create(names.network, made.labels)
    return Lives(engine, made)


def kubectl(node: NodeExec, *words: str, stdin: object = None) -> str:
    done = node.run(["kubectl", *words], stdin=json.dumps(stdin).encode())
    assert done.exit_status == 0, done.stderr
    return done.stdout.decode()


def get(node: NodeExec, kind: str) -> dict[str, Any]:
    items = json.loads(kubectl(node, "get", kind, "-A", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each for each in items}


def uids(found: dict[str, Any]) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in found.items()}


def folder_of(volumes: dict[str, Any], claim: str) -> str:
    """Of the volume that is bound to the claim."""
    specs = [each["spec"] for each in volumes.values()]
    (spec,) = [each for each in specs if each["claimRef"]["name"] == claim]
    return spec.get("local", spec.get("hostPath"))["path"]


def kill_at_every_command(node: NodeExec, identity: Identity, kept: list[Pod]) -> None:
    before = set(get(node, "nodes"))
    for number in range(COMMANDS):
        with pytest.raises(KeyboardInterrupt):
            clean_stale_nodes(Killed(node, number), identity, keep_pods=kept.extend)
        assert set(get(node, "nodes")) == before


def wait_for_pods(node: NodeExec, *names: str) -> None:
    def look() -> dict[str, str]:
        done = node.run(["kubectl", "get", "pods", "-n", "default", "-o", "json"])
        items = json.loads(done.stdout or b"{}").get("items", [])
        return {each["metadata"]["name"]: each["status"].get("phase") for each in items}

    wait_until(
        look,
        lambda seen: all(seen.get(name) == "Running" for name in names),
        patience=PATIENCE,
        what=f"running pods {', '.join(names)}",
    )


def wait_for_node(lives: Lives, node: ContainerNode) -> None:
    wait_until(
        lambda: observe_readiness(lives.engine, node.container_id, lives.spec.hostname),
        is_ready,
        failed=find_failure,
        patience=PATIENCE,
        what="the node",
    )


def apply(node: NodeExec, *manifests: object) -> None:
    def attempt() -> int:
        listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
        done = node.run(["kubectl", "apply", "-f", "-"], stdin=json.dumps(listed).encode())
        return done.exit_status

    wait_until(attempt, lambda status: status == 0, patience=PATIENCE, what="an API that takes it")


def test_a_renamed_node_keeps_every_claim_and_byte_whenever_it_is_killed(lives, monkeypatch):
    """R03, R21, R25: the brown-field case, where the old repair lost data."""
    old_name = secrets.token_hex(6)
    old = lives.begin_old(old_name)
    apply(old, WEB, ALONE)
    wait_for_pods(old, "web-0", "web-1", "web-2", "web-3", "alone")
    claims = uids(get(old, "pvc"))
    volumes = get(old, "pv")
    missing = folder_of(volumes, "data-web-3")
    old.run(["rm", "-rf", missing])
    lives.end(old)
    node = lives.begin_new()
    wait_for_node(lives, node)
    identity = Identity(lives.spec.hostname, lives.spec.hostname)
    kept: list[Pod] = []
    # Nobody renews the old lease here, which the last run sees by the whole time.
    with monkeypatch.context() as impatient:
        impatient.setattr(stale_nodes, "LEASE_WATCH_S", 1.0)
        kill_at_every_command(node, identity, kept)
    cleaned = clean_stale_nodes(node, identity, keep_pods=kept.extend)
    assert (cleaned.postponed, cleaned.removed_nodes) == ("", (old_name,))
    assert {"default/web-0", "default/web-1", "default/web-2"} <= set(cleaned.removed_pods)
    assert cleaned.uncontrolled_pods == ("default/alone",)
    assert {pod.name for pod in kept} == {"alone"}
    (sentence,) = cleaned.reported
    assert missing in sentence
    wait_until(
        lambda: list(get(node, "nodes")),
        lambda names: names == [lives.spec.hostname],
        patience=PATIENCE,
        what="k3s to let the old node go",
    )
    wait_for_pods(node, "web-0", "web-1", "web-2")
    assert uids(get(node, "pvc")) == claims
    assert uids(get(node, "pv")) == uids(volumes)
    for name in ("web-0", "web-1", "web-2"):
        assert kubectl(node, "exec", name, "--", "cat", "/data/f").strip() == name
    again = clean_stale_nodes(node, identity, keep_pods=kept.extend)
    assert (again.removed_nodes, again.rebound_volumes, again.removed_pods) == ((), (), ())


def test_an_api_server_that_lets_no_volume_be_rebound_loses_none(lives, monkeypatch):
    """Older and newer Kubernetes: nothing that depends on the old node is deleted."""
    monkeypatch.setattr(stale_nodes, "LEASE_WATCH_S", 1.0)
    node = lives.begin_new("--kube-apiserver-arg=feature-gates=MutablePVNodeAffinity=false")
    wait_for_node(lives, node)
    path = f"{objects.STORAGE}/pv-1"
    node.run(["mkdir", "-p", path])
    apply(node, objects.node("old"), objects.volume("pv-1", "old", path=path, policy="Retain"))
    identity = Identity(lives.spec.hostname, lives.spec.hostname)
    cleaned = clean_stale_nodes(node, identity, keep_pods=[].extend)
    assert (cleaned.rebound_volumes, cleaned.removed_nodes) == ((), ())
    (sentence,) = cleaned.reported
    assert "field is immutable" in sentence
    assert set(get(node, "nodes")) == {lives.spec.hostname, "old"}
