"""What `start` makes, that it makes it once, and that it all outlives every life of the node."""

import json
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker as docker_library
import pytest

from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.integration.gateway.driver import Command, Gateway, docker, inspect
from tests.integration.gateway.events import changes
from tests.integration.gateway.resident import (
    CLAIMS,
    DATA,
    NAME,
    WORKSPACE,
    Resident,
    late_writer,
    read_from_volume,
)
from tests.integration.gateway.witness import Witness
from tests.integration.gateway.workloads import running
from tests.until import until

OTHER_IMAGE = "openshell/busybox:1"
"""Of those that the node brings."""

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


@pytest.fixture(scope="module")
def kept(gateway: Gateway) -> Witness:
    return Witness(gateway)


@pytest.fixture(scope="module")
def resident(kept: Witness) -> Resident:
    made = Resident(kept.gateway)
    kept.accept()
    return made


def test_every_volume_is_a_folder_of_the_data_volume(resident, tiny_image):
    """R36, R21: nothing that a user wrote lies in the container's own layer."""
    gateway = resident.gateway
    volumes = resident.volumes()
    assert volumes.keys() == CLAIMS.keys()
    for volume in volumes.values():
        path = f"{volume['spec']['local']['path']}/starts"
        assert read_from_volume(gateway, path, tiny_image) == "begun"
    assert volumes["workspace"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    written = docker("diff", gateway.container).splitlines()
    assert any("/opt/openshell" in line for line in written)
    assert not [line for line in written if f"{DATA}/" in line or "starts" in line]


def test_another_image_of_a_workload_keeps_its_claim(resident):
    """R40, R30: and there is a way back; a pod that is not root writes in each of its lives."""
    gateway = resident.gateway
    before = resident.volumes()
    old = running(gateway, NAME)["spec"]["containers"][0]["image"]
    gateway.kubectl("set", "image", f"statefulset/{NAME}", f"main={OTHER_IMAGE}")
    await_image(gateway, OTHER_IMAGE)
    resident.check_started()
    gateway.kubectl("rollout", "undo", f"statefulset/{NAME}")
    await_image(gateway, old)
    resident.check_started()
    uids = [
        {name: each["metadata"]["uid"] for name, each in volumes.items()}
        for volumes in (before, resident.volumes())
    ]
    assert uids[0] == uids[1]


def await_image(gateway: Gateway, image: str) -> None:
    def is_there() -> bool:
        pod = running(gateway, NAME)
        return pod is not None and pod["spec"]["containers"][0]["image"] == image

    until(is_there, f"a pod of {image}")


def test_other_settings_need_recreate_where_the_node_runs(kept, resident):
    """R41, R30, R35: told first, and the container is another one only when that was said."""
    gateway = kept.gateway
    before, since = gateway.inspect()["Id"], time.time()
    refused = gateway.run("start", "--env", "A=b", "-o", "json", expect=4).envelope["error"]
    assert "environment" in refused["details"]
    assert "--recreate" in " ".join(refused["remedies"])
    assert gateway.inspect()["Id"] == before
    assert changes(gateway, since) == []
    gateway.start("--env", "A=b", "--recreate")
    assert "A=b" in gateway.inspect()["Config"]["Env"]
    assert gateway.inspect()["Id"] != before
    kept.check()
    resident.check()


def test_other_settings_are_applied_to_a_stopped_gateway_and_remembered(kept, resident):
    """R41, R30, R35: another port and another variable."""
    gateway = kept.gateway
    before, port = kept.before, free_port()
    assert str(port) not in before.port
    gateway.run("stop")
    gateway.start("--env", "A=c", "--api-port", port)
    assert "A=c" in gateway.inspect()["Config"]["Env"]
    published = gateway.inspect()["NetworkSettings"]["Ports"]["6443/tcp"]
    assert [one["HostPort"] for one in published] == [str(port)]
    kept.accept()
    assert (kept.before.claims, kept.before.volumes) == (before.claims, before.volumes)
    assert (kept.before.file, kept.before.authority) == (before.file, before.authority)
    kept.check()
    resident.check()
    assert gateway.start()["actions"] == []


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def test_restart_brings_back_the_class_of_workspaces_too(kept, resident):
    """R27, R28, R35, R39, R100: the class is the product's own, so k3s does not write over it."""
    gateway = kept.gateway
    before = gateway.inspect()
    found = gateway.get("storageclass", WORKSPACE)
    assert (found["reclaimPolicy"], found["provisioner"]) == ("Retain", "rancher.io/local-path")
    # Neither can be edited: whoever wants another one has to delete the class.
    gateway.kubectl("delete", "storageclass", WORKSPACE)
    gateway.run("restart")
    after = gateway.inspect()
    assert after["Id"] == before["Id"]
    assert after["State"]["StartedAt"] > before["State"]["StartedAt"]
    kept.check()
    resident.check()


def test_what_the_log_says_is_no_part_of_being_ready(kept, resident, tiny_image):
    """R90, R35, R39, R100: it is cut off, so that no line of any life is there."""
    gateway = kept.gateway
    gateway.run("stop")
    log = Path(gateway.inspect()["LogPath"])
    cut = ["--rm", "--network=none", f"--volume={log.parent}:/log", tiny_image]
    docker("run", *cut, "truncate", "-s", "0", f"/log/{log.name}")
    assert docker("logs", gateway.container) == ""
    gateway.start()
    gateway.run("status")
    kept.check()
    resident.check()


@pytest.fixture
def other_image(node_image, unique_name) -> Iterator[str]:
    """The node image under another name; the container that is made of it outlives the name."""
    other = f"{unique_name('openshell-test')}:dev"
    docker("tag", node_image, other)
    yield other
    docker("rmi", other)


def test_claims_from_before_and_after_another_image_are_written_to(kept, resident, other_image):
    """R27, R28, R30, R31, R35, R100: the fifth life, and the classes are what they were."""
    gateway = kept.gateway
    gateway.run("stop")
    gateway.start("--image", other_image)
    assert gateway.inspect()["Config"]["Image"] == other_image
    kept.check()
    resident.check()
    gateway.apply(*late_writer("late"))
    until(lambda: running(gateway, "late"), "a pod of uid 1000 with a new claim")
    kept.accept()


def test_a_paused_gateway_goes_on(kept):
    gateway = kept.gateway
    before = gateway.inspect()["State"]["StartedAt"]
    docker("pause", gateway.container)
    paused = gateway.run("status", "-o", "json", expect=8).envelope["result"]
    assert paused["word"] == "paused"
    gateway.start()
    assert gateway.inspect()["State"]["StartedAt"] == before
    kept.check()


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
