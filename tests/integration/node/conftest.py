"""Fixtures of the node image's own tests: every one runs the image by plain `docker run`."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from tests.integration.node.nodes import DATA, Node


@pytest.fixture(scope="session")
def is_cgroup_v1(docker_client: docker.DockerClient) -> bool:
    return docker_client.info().get("CgroupVersion", "1") == "1"


@pytest.fixture(scope="session")
def run_node(
    docker_client: docker.DockerClient,
    node_image: str,
    run_labels: dict[str, str],
    is_cgroup_v1: bool,
) -> Callable[..., Node]:
    """Runs a node; what a test does not remove goes at the end of the session, by its label."""
    fitting = ["--kubelet-arg=fail-cgroupv1=false"] if is_cgroup_v1 else []

    def run(name: str, *args: str, volume: str = "", fit: bool = True, **options: Any) -> Node:
        options.setdefault("hostname", name)
        options.setdefault("command", ["server", *(fitting if fit else ()), *args])
        if "entrypoint" in options:
            options["command"] = [*(fitting if fit else ()), *args]
        mounts = {volume: {"bind": DATA, "mode": "rw"}} if volume else {}
        container = docker_client.containers.run(
            node_image,
            name=name,
            privileged=True,
            detach=True,
            volumes=mounts,
            labels=run_labels,
            ports={"6443/tcp": ("127.0.0.1", None)},
            **options,
        )
        return Node(container)

    return run


@pytest.fixture(scope="session")
def fresh_name(run_id: str) -> Callable[[str], str]:
    return lambda stem: f"{stem}-t{run_id}-{secrets.token_hex(2)}"


@pytest.fixture
def volume(
    docker_client: docker.DockerClient, run_labels: dict[str, str], fresh_name: Callable[[str], str]
) -> str:
    """A data volume that outlives the containers of one test; it goes at the session's end."""
    return str(docker_client.volumes.create(fresh_name("data"), labels=run_labels).name)


@pytest.fixture(scope="module")
def node(run_node: Callable[..., Node], fresh_name: Callable[[str], str]) -> Iterator[Node]:
    """One node that the tests of a file share, k3s as its first process; none may harm it."""
    made = run_node(
        fresh_name("shared"),
        "--node-name=Shared-Node",
        "--token=only-for-tests",
        "--tls-san=example.test",
        "--disable=traefik",
    )
    yield made
    made.container.remove(force=True, v=True)
