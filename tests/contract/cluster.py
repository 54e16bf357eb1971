"""A cluster behind its node, in memory or real: what tests of both need beside it."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.nodes import Node, Pod, parse_nodes, parse_pods
from openshell_bootstrap.cluster.volumes import Volume, parse_volumes
from openshell_bootstrap.models import Completed, Patience
from openshell_bootstrap.waits import wait_until
from tests.fakes.kube_objects import Manifest

MINUTE = Patience(timeout_s=60, interval_s=0.5)


@dataclass
class Counting:
    """Passes commands on and counts them."""

    node: NodeExec
    runs: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        self.runs.append(tuple(argv))
        return self.node.run(argv, stdin=stdin, timeout_s=timeout_s)


@dataclass(frozen=True)
class Cluster:
    """A node, ready, and what a test needs beside it."""

    node: NodeExec
    own: str

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.node)

    def name(self) -> str:
        return f"k{secrets.token_hex(4)}"

    def create(self, *manifests: Manifest) -> None:
        listed = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": manifests})
        made = self.node.run(["kubectl", "create", "-f", "-"], stdin=listed)
        assert made.exit_status == 0, made.stderr

    def make_folders(self, *paths: str) -> None:
        assert self.node.run(["mkdir", "-p", *paths]).exit_status == 0

    def find_node(self, name: str) -> Node | None:
        return next(
            (n for n in parse_nodes(self.kubectl.get_json("nodes")) if n.name == name), None
        )

    def wait_until_gone(self, name: str) -> None:
        """A controller of the node's own has a finalizer on every node object."""
        wait_until(
            lambda: self.find_node(name),
            lambda node: node is None,
            patience=MINUTE,
            what=f"the end of node {name}",
        )

    def get_node(self, name: str) -> Node:
        node = self.find_node(name)
        assert node is not None
        return node

    def get_volume(self, name: str) -> Volume:
        return next(v for v in parse_volumes(self.kubectl.get_json("pv")) if v.name == name)

    def find_pod(self, name: str) -> Pod | None:
        return next((p for p in parse_pods(self.kubectl.get_json("pods")) if p.name == name), None)

    def get_pod(self, name: str) -> Pod:
        pod = self.find_pod(name)
        assert pod is not None
        return pod
