"""The commands that look into a gateway, on a real one: streams, exit codes, kubeconfigs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import kubernetes
import pytest
import yaml

OPENSHELL = Path(sys.executable).with_name("openshell")


class Shell:
    """Runs `openshell` for a user whose home is a folder of the test."""

    def __init__(self, home: Path, gateway: str, image: str) -> None:
        self.kubeconfig = home / "kube" / "config"
        self.environment = {
            **os.environ,
            "XDG_CONFIG_HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "KUBECONFIG": str(self.kubeconfig),
            "OPENSHELL_GATEWAY": gateway,
            "OPENSHELL_NODE_IMAGE": image,
        }

    def __call__(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [OPENSHELL, *words],
            input=stdin,
            capture_output=True,
            env=self.environment,
            timeout=200,
            check=False,
        )

    def json(self, *words: str) -> dict:
        return json.loads(self(*words, "-o", "json").stdout)


def test_a_tour(tmp_path, node_image, gateway_name):
    """R18: at its end another gateway takes the name."""
    name = gateway_name()
    shell = Shell(tmp_path, name, node_image)
    started = shell.json("gateway", "start")
    assert started["ok"], started
    commands_in_the_node(shell, name)
    log_of_the_node(shell)
    kubeconfigs(shell, name, started["result"]["endpoint"])
    choice_of_the_gateway(shell, name)
    a_stopped_gateway(shell, name)
    old = authority(shell)
    assert shell("gateway", "destroy", "--yes").returncode == 0
    assert shell("gateway", "info").returncode == 3
    assert shell.json("gateway", "start", "-g", name)["ok"]
    assert authority(shell) != old
    reach_through_the_kubeconfig(shell, name)
    assert shell("gateway", "kubectl", "get", "nodes").returncode == 0


def authority(shell):
    config = yaml.safe_load(shell("gateway", "kubeconfig", "get").stdout)
    return config["clusters"][0]["cluster"]["certificate-authority-data"]


def commands_in_the_node(shell, name):
    ran = shell("gateway", "exec", "--", "sh", "-c", "cat; echo err >&2; exit 7", stdin=b"\x00in")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, b"\x00in", b"err\n")
    nodes = shell("gateway", "kubectl", "get", "nodes", "-o", "name")
    assert (nodes.returncode, nodes.stdout.decode()) == (0, f"node/openshell-{name}\n")
    applied = shell(
        *("gateway", "kubectl", "-g", name, "--", "apply", "-f", "-"),
        stdin=b"{apiVersion: v1, kind: Namespace, metadata: {name: from-stdin}}",
    )
    assert applied.stdout == b"namespace/from-stdin created\n"
    assert shell("gateway", "kubectl", "get", "nonsense").returncode == 1


def log_of_the_node(shell):
    lines = shell("gateway", "logs", "--tail", "2").stdout.splitlines()
    assert len(lines) == 2
    assert shell("gateway", "logs", "--since", "1h").stdout.count(b"\n") > 2


def kubeconfigs(shell, name, endpoint):
    shell.kubeconfig.parent.mkdir()
    shell.kubeconfig.write_text("apiVersion: v1\nkind: Config\ncurrent-context: mine\n")
    assert reach_through_the_kubeconfig(shell, name) == endpoint
    assert yaml.safe_load(shell.kubeconfig.read_bytes())["current-context"] == "mine"
    inside = shell("gateway", "kubeconfig", "get", "--internal").stdout
    internal = yaml.safe_load(inside)["clusters"][0]["cluster"]["server"]
    assert internal == f"https://openshell-cluster-{name}:6443"
    reached = shell(
        *(
            "gateway",
            "exec",
            "--",
            "sh",
            "-c",
            "cat >/tmp/k && KUBECONFIG=/tmp/k kubectl get nodes",
        ),
        stdin=inside,
    )
    assert reached.returncode == 0, reached.stderr
    assert shell.json("gateway", "kubeconfig", "remove")["result"]["changed"] is True


def reach_through_the_kubeconfig(shell, name):
    """A client of the user's own file finds the node; where it looked."""
    assert shell.json("gateway", "kubeconfig", "merge")["result"]["changed"] is True
    client = kubernetes.config.new_client_from_config(
        str(shell.kubeconfig), context=f"openshell-{name}"
    )
    with client:
        nodes = kubernetes.client.CoreV1Api(client).list_node().items
    assert [node.metadata.name for node in nodes] == [f"openshell-{name}"]
    return client.configuration.host


def choice_of_the_gateway(shell, name):
    del shell.environment["OPENSHELL_GATEWAY"]
    assert shell("gateway", "select", name).returncode == 0
    rows = shell.json("gateway", "list")["result"]
    assert [row["name"] for row in rows if row["active"]] == [name]
    assert shell.json("gateway", "info")["result"]["node_name"] == f"openshell-{name}"
    assert shell("gateway", "select", f"{name}-other").returncode == 3
    assert shell.json("version", "-g", name)["result"]["k3s"].startswith("v1.")


def a_stopped_gateway(shell, name):
    assert shell("gateway", "stop").returncode == 0
    assert shell("gateway", "status", "-o", "name").returncode == 4
    assert shell("gateway", "exec", "--", "true").returncode == 4
    assert shell("gateway", "kubeconfig", "get").returncode == 0
    assert shell("gateway", "logs", "--tail", "1").stdout.count(b"\n") == 1
    refused = shell("gateway", "destroy")
    assert refused.returncode == 2
    assert f"openshell-cluster-{name}".encode() in refused.stderr


@pytest.mark.parametrize("words", [["gateway", "list"], ["gateway", "stop"]])
def test_an_engine_that_is_down_is_5(tmp_path, words):
    shell = Shell(tmp_path, "t1", "x")
    shell.environment["DOCKER_HOST"] = f"unix://{tmp_path}/nobody.sock"
    ran = shell(*words)
    assert ran.returncode == 5
    assert str(tmp_path).encode() in ran.stderr
    assert b"-> " in ran.stderr
