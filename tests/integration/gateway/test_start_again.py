"""What `start` makes, and that it makes it once."""

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import docker as docker_library
import pytest

from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.integration.gateway.driver import Command, Gateway, docker, inspect
from tests.integration.gateway.events import changes

AGAIN_S = 5
SECRET_FILES = (
    "/var/lib/rancher/k3s/server/token",
    "/var/lib/rancher/k3s/openshell/node/password",
    "/opt/openshell/token",
)


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(secrets.token_hex(20))
    return path


@pytest.fixture(scope="module")
def gateway(make_gateway: Callable[[], Gateway], token: Path) -> Gateway:
    gateway = make_gateway()
    gateway.start("--token-file", token)
    return gateway


def test_names_node_and_port_are_those_that_follow_from_the_name(gateway):
    """R02, R05."""
    name = f"openshell-cluster-{gateway.name}"
    (node,) = gateway.get("nodes")["items"]
    assert node["metadata"]["name"] == f"openshell-{gateway.name}"
    ready = next(one for one in node["status"]["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "True"
    seen = inspect(name)
    assert f"OPENSHELL_NODE_NAME=openshell-{gateway.name}" in seen["Config"]["Env"]
    assert seen["Config"]["Hostname"] == f"openshell-{gateway.name}"
    assert {mount["Destination"]: mount.get("Name") for mount in seen["Mounts"]}[
        "/var/lib/rancher/k3s"
    ] == name
    assert list(seen["NetworkSettings"]["Networks"]) == [name]
    published = {port: at for port, at in seen["NetworkSettings"]["Ports"].items() if at}
    assert {port: [one["HostIp"] for one in at] for port, at in published.items()} == {
        "6443/tcp": ["127.0.0.1"]
    }


def test_no_secret_is_where_everybody_can_look(gateway, token):
    """Not in what the engine tells of the gateway, nor in its log, nor in a command line."""
    kept = [gateway.exec("cat", path) for path in SECRET_FILES]
    assert kept[-1] == token.read_text()
    assert kept[0].endswith(token.read_text())
    secret = {part for one in kept for part in (one, one.rpartition(":")[2])}
    assert all(len(one) > 15 for one in secret)
    told = [
        docker("inspect", gateway.container),
        docker("volume", "inspect", gateway.container),
        docker("network", "inspect", gateway.container),
        docker("logs", gateway.container),
        gateway.exec("sh", "-c", "cat /proc/[0-9]*/cmdline /proc/1/environ | tr '\\0' ' '"),
        gateway.run("info", "-o", "json").out,
    ]
    assert not [where[:60] for where in told for one in secret if one in where]


def test_a_second_start_changes_nothing(gateway):
    """R89."""
    before, since = gateway.inspect(), time.time()
    begun = time.monotonic()
    ran = gateway.run("start", "-o", "json")
    assert time.monotonic() - begun < AGAIN_S
    envelope = ran.envelope
    assert (envelope["schema"], envelope["command"], envelope["ok"]) == (1, "gateway start", True)
    assert envelope["result"]["node_name"] == gateway.node
    assert envelope["result"]["actions"] == []
    assert all(json.loads(line)["event"] for line in ran.err.splitlines())
    assert changes(gateway, since) == []
    after = gateway.inspect()
    assert (after["Id"], after["State"]["StartedAt"]) == (
        before["Id"],
        before["State"]["StartedAt"],
    )


def test_dry_run_changes_nothing(gateway, make_gateway):
    absent = make_gateway()
    for one, words in ((gateway, ["--recreate"]), (absent, [])):
        since = time.time()
        planned = one.run("start", "--dry-run", "-o", "json", *words).envelope["result"]
        assert any("make the container" in each["what"] for each in planned["actions"])
        assert changes(one, since) == []
    assert absent.run("status", expect=None).exit_code == 3


def test_an_image_that_no_registry_gives_is_refused_with_what_to_do(make_gateway):
    gateway, since = make_gateway(), time.time()
    nowhere = "127.0.0.1:1/openshell/absent:none"
    refused = gateway.run("start", "--image", nowhere, "-o", "json", expect=5).envelope["error"]
    assert nowhere in refused["brief"]
    for remedy in ("make node-image", "--image", "docker load"):
        assert remedy in " ".join(refused["remedies"])
    assert changes(gateway, since) == []


def test_without_the_variable_the_default_image_is_wanted(make_gateway, docker_client):
    gateway = make_gateway()
    try:
        docker_client.images.get_registry_data(DEFAULT_NODE_IMAGE)
    except docker_library.errors.APIError:
        without = Gateway(Command(gateway.command.home), gateway.name)
        refused = without.run("start", "-o", "json", expect=5).envelope["error"]
        assert DEFAULT_NODE_IMAGE in refused["brief"]
        assert "make node-image" in " ".join(refused["remedies"])
    else:
        pytest.skip("a registry gives the default image here")
