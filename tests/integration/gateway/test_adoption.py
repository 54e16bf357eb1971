"""A volume that a retired release left behind comes under the gateway's name without a loss."""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from tests.integration.gateway.driver import Gateway, Ran, docker, finish, inspect
from tests.integration.gateway.retired import (
    CLAIMS,
    OLD_NODE,
    OLD_PORT,
    STORAGE,
    Data,
    Look,
    free_port,
    pins,
    run_as_the_retired_release_did,
    running_pods,
)
from tests.integration.gateway.workloads import running, stateful_set
from tests.until import until

pytestmark = pytest.mark.usefixtures("node_image")

IDENTITY = "/var/lib/rancher/k3s/openshell/node"
LOCKED = 75
"""How a node ends that refused because another one has the volume."""

RELEASED = "pvc-released"


@dataclass(frozen=True)
class Adopted:
    """A gateway that was adopted, and what was seen of it before, meanwhile and after."""

    gateway: Gateway
    before: Data
    result: dict[str, Any]
    old_port: int
    password: str = ""
    refused: Ran | None = None
    plan: Ran | None = None
    left_by_plan: str = ""
    found_before_plan: str = ""


def adopt_bare(gateway: Gateway, image: str, port: int, tiny_image: str) -> Adopted:
    """The container is gone: there is nothing but its volume, which a backup uses at first."""
    before = run_as_the_retired_release_did(gateway, image, port)
    docker("rm", "--force", "--volumes", gateway.container)
    words = ["--detach", f"--name=backup-{gateway.name}", f"--volume={gateway.container}:/data"]
    backup = docker("run", *words, tiny_image, "sleep", "600")
    refused = gateway.run("start", expect=4)
    left = docker("ps", "--all", "--quiet", "--no-trunc", "--filter", f"name={gateway.name}")
    assert left == backup
    docker("rm", "--force", backup)
    return Adopted(gateway, before, gateway.start(), port, refused=refused)


def adopt_standing(gateway: Gateway, image: str, port: int) -> Adopted:
    """The container runs."""
    before = run_as_the_retired_release_did(gateway, image, port)
    password = gateway.exec("cat", "/etc/rancher/node/password")
    found = _everything_of(gateway)
    plan = gateway.run("start", "--dry-run", "-o", "json")
    left = _everything_of(gateway)
    return Adopted(
        gateway,
        before,
        gateway.start(),
        port,
        password=password,
        plan=plan,
        left_by_plan=left,
        found_before_plan=found,
    )


def _everything_of(gateway: Gateway) -> str:
    name = f"name={gateway.name}"
    listed = docker("ps", "--all", "--quiet", "--no-trunc", "--filter", name)
    volumes = docker("volume", "ls", "--quiet", "--filter", name)
    networks = docker("network", "ls", "--quiet", "--filter", name)
    found = inspect(gateway.container)
    # The engine lists mounts in any order.
    found["Mounts"] = sorted(found["Mounts"], key=lambda mount: mount["Destination"])
    return "\n".join([listed, volumes, networks, str(found)])


@pytest.fixture(scope="module")
def adoptions(make_gateway, node_image, tiny_image) -> tuple[Adopted, Adopted]:
    """Both at once: each of them watches the old node's lease for most of its time."""
    with ThreadPoolExecutor() as pool:
        ports = [free_port(), free_port()]
        bare = pool.submit(adopt_bare, make_gateway(), node_image, ports[0], tiny_image)
        standing = pool.submit(adopt_standing, make_gateway(), node_image, ports[1])
        return bare.result(), standing.result()


@pytest.fixture(scope="module")
def bare(adoptions) -> Adopted:
    return adoptions[0]


@pytest.fixture(scope="module")
def standing(adoptions) -> Adopted:
    return adoptions[1]


@pytest.mark.parametrize("which", ["bare", "standing"])
def test_every_claim_and_byte_comes_over_and_the_pods_run(which, request):
    """R03, R21, R25."""
    adopted = request.getfixturevalue(which)
    gateway = adopted.gateway
    found = Look.at(gateway)
    assert found.data == adopted.before
    assert len(adopted.before.claims) == len(adopted.before.volumes) == CLAIMS
    assert found.names("Node") == [gateway.node]
    cleaned = adopted.result["cleaned"]
    assert cleaned["removed_nodes"] == [OLD_NODE]
    assert sorted(cleaned["rebound_volumes"]) == sorted(adopted.before.volumes)
    assert cleaned["postponed"] == ""
    assert cleaned["reported"] == []
    until(lambda: running_pods(gateway) == CLAIMS, "the pods' return")
    assert Look.at(gateway).data == adopted.before
    assert "hash does not match" not in gateway.kubectl("get", "events", "-A")


def test_a_plan_tells_what_adoption_does_and_changes_nothing(standing):
    assert standing.left_by_plan == standing.found_before_plan
    planned = standing.plan.envelope["result"]
    told = [action["what"].split()[0] for action in planned["actions"]]
    assert told == ["make", "stop", "set", "make", "start"]
    assert any("retired release is adopted" in notice for notice in planned["notices"])
    assert any(f":{standing.old_port}:" in notice for notice in planned["notices"])


def test_the_old_container_gives_its_identity_and_its_port_and_goes(standing):
    gateway = standing.gateway
    assert gateway.exec("cat", f"{IDENTITY}/password") == standing.password
    published = gateway.inspect()["HostConfig"]["PortBindings"]
    old = {"HostIp": "0.0.0.0", "HostPort": str(standing.old_port)}
    assert published[f"{OLD_PORT}/tcp"] == [old]
    assert [one["HostIp"] for one in published["6443/tcp"]] == ["127.0.0.1"]
    names = docker("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={gateway.name}")
    assert names == gateway.container


def make_stale(gateway: Gateway, found: Look, name: str) -> None:
    """As another name of the node would leave it: node, volumes pinned to it, a pod on it."""
    container = {"name": "c", "image": "openshell/sandbox:latest"}
    pod = {"nodeName": name, "containers": [container]}
    for volume in found.volumes:
        pins(volume)[:] = [name]
    gateway.apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod},
        *found.volumes,
    )


def start_killed_before(nth: int, gateway: Gateway) -> Ran:
    program = [sys.executable, "-m", "tests.integration.gateway.killed", nth]
    start = ["gateway", "start", "--name", gateway.name]
    return finish(gateway.command.begin(*start, program=program))


def test_killed_before_any_command_the_next_start_completes_it(bare):
    """R25."""
    gateway = bare.gateway
    found = Look.at(gateway)
    for nth in count(1):
        make_stale(gateway, found, f"stale-{nth}")
        killed = start_killed_before(nth, gateway)
        if killed.exit_code == 0:
            break
        assert killed.exit_code == -signal.SIGKILL, killed
        found = Look.at(gateway)
        assert found.data == bare.before
        # With the node gone first, the provisioner would take a deletion for done.
        assert found.nodes_of_volumes <= set(found.names("Node"))
        completed = start_killed_before(0, gateway)
        assert completed.exit_code == 0, completed
        found = Look.at(gateway)
        assert found.data == bare.before
        assert found.names("Node") == [gateway.node]
        assert found.nodes_of_volumes == {gateway.node}
        assert f"stale-{nth}" not in found.names("Pod")
    # A look for the node, two at the cluster, one at folders, rebinding, removing, workloads.
    assert nth > 7


def test_a_volume_whose_folder_is_missing_is_reported_and_not_rebound(bare):
    gateway = bare.gateway
    found = Look.at(gateway)
    name, folder = found.volumes[0]["metadata"]["name"], found.volumes[0]["spec"]["local"]["path"]
    make_stale(gateway, found, "stale-lost")
    gateway.exec("mv", folder, f"{folder}.away")
    told = start_killed_before(0, gateway)
    assert told.exit_code == 0, told
    assert f"Volume {name} is left on node stale-lost" in told.out
    assert folder in told.out
    assert Look.at(gateway).nodes_of_volumes == {gateway.node, "stale-lost"}
    gateway.exec("mv", f"{folder}.away", folder)
    assert start_killed_before(0, gateway).exit_code == 0
    found = Look.at(gateway)
    assert found.nodes_of_volumes == {gateway.node}
    assert found.data == bare.before


def test_a_second_node_on_the_volume_refuses_and_leaves_the_first_alone(
    bare, node_image, docker_client
):
    """R06, R87."""
    gateway = bare.gateway
    second = f"second-{gateway.name}"
    before = gateway.inspect()["State"]
    docker(
        *("create", "--privileged", f"--name={second}", f"--volumes-from={gateway.container}"),
        "--entrypoint=/opt/openshell/cluster-entrypoint.sh",
        *(node_image, "server"),
    )
    docker("cp", f"{gateway.container}:/opt", str(gateway.command.home))
    docker("cp", str(gateway.command.home / "opt"), f"{second}:/")
    docker("start", second)
    log = docker_client.containers.get(second).logs
    until(lambda: b"openshell: refused: volume-locked:" in log(), "the second node's refusal")
    assert gateway.inspect()["State"] | {"Health": None} == before | {"Health": None}
    assert gateway.run("status").exit_code == 0
    assert Look.at(gateway).data == bare.before
    docker("stop", second)
    assert inspect(second)["State"]["ExitCode"] == LOCKED
    docker("rm", "--volumes", second)


def test_a_foreign_container_that_runs_on_the_volume_stops_a_start_and_is_named(bare):
    """R87."""
    told = bare.refused.err
    foreign = f"backup-{bare.gateway.name}"
    assert f"The container {foreign} uses the volume {bare.gateway.container}" in told
    assert f"docker stop {foreign}" in told


def test_a_released_volume_of_a_node_that_is_gone_holds_up_no_new_claim(bare):
    """R23: and nobody takes its files for deleted."""
    gateway = bare.gateway
    dead = _released(Look.at(gateway).volumes[0])
    folder = dead["spec"]["local"]["path"]
    gateway.exec("sh", "-c", f"mkdir {folder} && echo kept >{folder}/file")
    gateway.apply(dead)
    until(
        lambda: gateway.get("persistentvolume", RELEASED)["status"]["phase"] != "Available",
        "the volume's release",
    )
    gateway.apply(stateful_set("new", "exec sleep 100000", ready="true"))
    until(lambda: running(gateway, "new"), "a new claim", within_s=60)
    assert gateway.exec("cat", f"{folder}/file") == "kept"


def _released(like: dict[str, Any]) -> dict[str, Any]:
    """A volume whose claim and node are gone, and whose files are to be deleted with them."""
    claim = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "gone", "uid": "gone"}
    volume = deepcopy(like)
    volume["metadata"] = {"name": RELEASED, "annotations": like["metadata"]["annotations"]}
    volume["spec"] |= {"claimRef": claim, "persistentVolumeReclaimPolicy": "Delete"}
    volume["spec"]["local"]["path"] = f"{STORAGE}/{RELEASED}_default_gone"
    pins(volume)[:] = ["node-that-is-gone"]
    del volume["status"]
    return volume
