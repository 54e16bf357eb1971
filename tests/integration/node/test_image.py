"""The image as it lies there: configuration, tools and command line."""

from collections.abc import Callable
from typing import Any

import docker
import pytest

from tests.integration.node.nodes import run_once

IN_BIN = """
sh awk sed grep tar gzip xz wget nslookup hostname ps killall pidof flock getopt netstat ping
mountpoint umount vi top stat timeout sha256sum env cp mv date sort head tail find xargs nsenter
ip blkid losetup conntrack ethtool ipset pigz unpigz runc kubectl ctr containerd k3s
containerd-shim-runc-v2
"""
ONLY_IN_AUX = """
mount modprobe nft iptables iptables-save iptables-restore ip6tables
"""
ABSENT = """
getent zstd curl bash nc jq openssl sqlite3 ss pgrep pkill
"""


@pytest.fixture(scope="session")
def sh(
    docker_client: docker.DockerClient, node_image: str, run_labels: dict[str, str]
) -> Callable[[str], str]:
    def run(script: str) -> str:
        status, output = run_once(
            docker_client, node_image, "-c", script, entrypoint="/bin/sh", labels=run_labels
        )
        assert status == 0, output
        return output

    return run


def test_configuration_is_that_of_the_k3s_image(
    docker_client: docker.DockerClient, node_image: str
) -> None:
    config: dict[str, Any] = docker_client.images.get(node_image).attrs["Config"]
    assert config["Entrypoint"] == ["/bin/k3s"]
    assert config["Cmd"] == ["agent"]
    assert set(config["Volumes"]) == {
        "/var/lib/kubelet",
        "/var/lib/rancher/k3s",
        "/var/lib/cni",
        "/var/log",
    }
    assert config["Env"] == [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/bin/aux",
        "CRI_CONFIG_FILE=/var/lib/rancher/k3s/agent/etc/crictl.yaml",
    ]


def test_tools_are_where_the_k3s_image_has_them(sh: Callable[[str], str]) -> None:
    names = " ".join(f"{IN_BIN} {ONLY_IN_AUX} {ABSENT}".split())
    found = sh(f"for t in {names}; do echo $t=$(command -v $t); done").split()
    assert dict(line.split("=", 1) for line in found) == {
        **{name: f"/bin/{name}" for name in IN_BIN.split()},
        **{name: f"/bin/aux/{name}" for name in ONLY_IN_AUX.split()},
        **dict.fromkeys(ABSENT.split(), ""),
    }


def test_no_script_can_start_by_usr_bin_env(sh: Callable[[str], str]) -> None:
    assert sh("ls -A /usr/bin /usr/sbin /sbin | grep -v : | grep .; [ ! -e /usr/bin/env ]") == ""


@pytest.mark.parametrize("tool", ["nc", "mount", "ls"])
def test_the_shell_has_no_tools_of_its_own(sh: Callable[[str], str], tool: str) -> None:
    """Busybox can be built to find its applets without a path; a script would not notice."""
    assert "not found" in sh(f"(PATH=/absent; {tool} 2>&1) || true")


def test_shell_is_ash_and_coreutils_are_gnu(sh: Callable[[str], str]) -> None:
    told = sh("readlink /bin/sh; stat --version | head -n 1; find --version | head -n 1")
    assert told.splitlines()[0] == "busybox"
    assert told.count("GNU") == 2


def test_version(docker_client: docker.DockerClient, node_image: str) -> None:
    _, told = run_once(docker_client, node_image, "--version")
    first, second = told.splitlines()
    label = docker_client.images.get(node_image).labels["openshell.ai/k3s-version"]
    assert first.startswith(f"k3s version {label} (")
    assert second.startswith("go version go1.")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["server", "--bogus"], "flag provided but not defined: -bogus"),
        (["server"], "no default routes found"),
        ([], "agent mode is not part of this node image"),
        (["nonsense"], 'no command is called "nonsense"'),
    ],
)
def test_refusals(
    docker_client: docker.DockerClient, node_image: str, command: list[str], told: str
) -> None:
    status, output = run_once(docker_client, node_image, *command)
    assert status == 1
    assert told in output
