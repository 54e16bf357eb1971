"""Three gateways on one engine, whose names are parts of each other, stay apart."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_docker.plugin import get_docker_services

from tests.integration.gateway.driver import OPENSHELL, Gateway, Ran, docker, finish, inspect
from tests.integration.gateway.foreigners import COMPOSE, compose_file, make_image_with_old_k3s
from tests.integration.gateway.terminal import answer
from tests.integration.gateway.workloads import running, stateful_set
from tests.until import until

pytestmark = pytest.mark.usefixtures("node_image")

RECORD = "/var/lib/rancher/k3s/openshell/gateway.json"
INTERRUPTED = 130
PHASES = ("Preparing the node", "Waiting for the node", "Waiting for the node's workloads")
FAILING_KUBECTL = """\
#!/bin/sh
case $* in *nodes,pv*)
  echo 'The connection to the server 127.0.0.1:6443 was refused' >&2
  exit 1
  ;;
esac
exec k3s kubectl "$@"
"""


@dataclass(frozen=True)
class Three:
    """The gateways, and how they came up.

    Attributes:
        rivals: Two starts of ``one`` at the same moment, with their process ids.
        interrupted: Starts of ``longer`` that got a Ctrl-C, by phase, and how the container was
            after it: its id and its status.
    """

    one: Gateway
    longer: Gateway
    prefixed: Gateway
    rivals: dict[int, Ran]
    interrupted: dict[str, tuple[Ran, str]]
    resumed: Ran


def start_twice(gateway: Gateway) -> dict[int, Ran]:
    words = ("gateway", "start", "--name", gateway.name, "-o", "json")
    both = [gateway.command.begin(*words) for _ in range(2)]
    return {process.pid: finish(process) for process in both}


def interrupt(gateway: Gateway, title: str) -> Ran:
    """Ctrl-C as soon as a start tells of this phase."""
    program = ["env", "--default-signal=INT", OPENSHELL]
    words = ("gateway", "start", "--name", gateway.name, "-o", "json")
    process = gateway.command.begin(*words, program=program)
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line).get("title") == title:
            process.send_signal(signal.SIGINT)
            break
    return finish(process)


def start_interrupted(gateway: Gateway) -> tuple[dict[str, tuple[Ran, str]], Ran]:
    by_name = ["--filter", f"name=^/{gateway.container}$", "--format", "{{.ID}} {{.State}}"]
    interrupted = {
        title: (interrupt(gateway, title), docker("ps", "--all", *by_name)) for title in PHASES
    }
    return interrupted, gateway.run("start", "-o", "json")


@pytest.fixture(scope="module")
def three(make_gateway) -> Three:
    one = make_gateway()
    longer, prefixed = (
        Gateway(one.command, name) for name in (f"{one.name}-old", f"old-{one.name}")
    )
    with ThreadPoolExecutor() as pool:
        rivals = pool.submit(start_twice, one)
        broken_off = pool.submit(start_interrupted, longer)
        prefixed.start()
        interrupted, resumed = broken_off.result()
        return Three(one, longer, prefixed, rivals.result(), interrupted, resumed)


@pytest.fixture(scope="module")
def failing(three) -> Iterator[subprocess.Popen[str]]:
    """A start that meets a failing command in the node; it has patience, so it begins early."""
    gateway = three.prefixed
    gateway.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "left-over"}})
    gateway.exec("sh", "-c", "cat >/bin/new && chmod 755 /bin/new", stdin=FAILING_KUBECTL)
    gateway.exec("mv", "/bin/new", "/bin/kubectl")
    with gateway.command.begin("gateway", "start", "--name", gateway.name, "-o", "json") as process:
        yield process


@pytest.fixture(scope="module")
def put_off(three, failing) -> tuple[Ran, list[str]]:
    """How that start ended, and the nodes that it left; the commands work again."""
    gateway = three.prefixed
    ran = finish(failing)
    gateway.exec("ln", "-sf", "k3s", "/bin/kubectl")
    nodes = gateway.nodes()
    gateway.kubectl("delete", "node", "left-over")
    return ran, nodes


def test_of_two_starts_at_once_one_works_and_the_other_names_it(three, failing):
    """R45: with one container and one network."""
    (_loser_pid, loser), (winner_pid, winner) = sorted(
        three.rivals.items(), key=lambda item: -item[1].exit_code
    )
    assert (loser.exit_code, winner.exit_code) == (10, 0), (loser, winner)
    error = loser.envelope["error"]
    assert error["code"] == "locked"
    assert f"process {winner_pid} (openshell gateway start)" in error["details"]
    assert error["remedies"]
    assert three.one.nodes() == [three.one.node]
    exactly = ["--quiet", "--filter", f"name=^/?{three.one.container}$"]
    assert [len(docker(*kind, *exactly).split()) for kind in (["ps"], ["network", "ls"])] == [1, 1]


def test_an_interrupted_start_leaves_what_stands_and_the_next_one_resumes(three):
    """R64."""
    gateway = three.longer
    for title, (ran, _) in three.interrupted.items():
        assert ran.exit_code == INTERRUPTED, (title, ran)
        assert ran.envelope["error"]["code"] == "cancelled"
        assert "the same command goes on" in ran.envelope["error"]["remedies"][0]
    found = [stood for _, stood in three.interrupted.values()]
    assert "running" not in found[0]
    assert found[1] == found[2]
    assert found[2].endswith(" running")
    assert gateway.inspect()["Id"].startswith(found[2].split()[0])
    assert three.resumed.envelope["result"]["actions"] == []
    assert gateway.nodes() == [gateway.node]
    gateway.run("status")


def test_an_interrupted_clean_up_leaves_everything_to_the_next_start(three):
    gateway = three.longer
    gateway.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "left-over"}})
    ran = interrupt(gateway, "Cleaning up after left-over")
    assert ran.exit_code == INTERRUPTED, ran
    assert sorted(gateway.nodes()) == ["left-over", gateway.node]
    gateway.kubectl("delete", "node", "left-over")
    gateway.run("status")


def test_gateways_on_one_engine_do_not_see_each_other(three):
    gateways = (three.one, three.longer)
    uids = {}
    for gateway in gateways:
        gateway.kubectl("create", "configmap", "mine")
        found = gateway.get("nodes,pods,configmaps", "-A")["items"]
        assert [one["metadata"]["name"] for one in found if one["kind"] == "Node"] == [gateway.node]
        pods = [one for one in found if one["kind"] == "Pod"]
        assert {pod["spec"]["nodeName"] for pod in pods} == {gateway.node}
        assert len([one for one in found if one["metadata"]["name"] == "mine"]) == 1
        uids[gateway.name] = {pod["metadata"]["uid"] for pod in pods}
    assert not uids[three.one.name] & uids[three.longer.name]
    for gateway in gateways:
        groups = pod_cgroups(uids[gateway.name])
        assert groups.keys() == uids[gateway.name]
        own = gateway.inspect()["Id"]
        assert all(own in str(path) for paths in groups.values() for path in paths)


def pod_cgroups(uids: set[str]) -> dict[str, list[Path]]:
    """Where the host has the groups of these pods, in every hierarchy."""
    found: dict[str, list[Path]] = {}
    for folder, below, _files in os.walk("/sys/fs/cgroup"):
        for name in below:
            if name.startswith("pod") and name[3:] in uids:
                found.setdefault(name[3:], []).append(Path(folder) / name)
    return found


def test_truncated_records_are_rebuilt_from_what_stands(three, tmp_path):
    gateway = three.longer
    home = gateway.kubeconfig.parent
    before = gateway.inspect()
    whole = gateway.exec("cat", RECORD)
    truncate(gateway, tmp_path)
    told = gateway.start()
    assert gateway.inspect()["Id"] == before["Id"]
    assert any("record" in notice for notice in told["notices"])
    assert json.loads(gateway.exec("cat", RECORD)) == json.loads(whole)
    assert json.loads((home / "metadata.json").read_text())["name"] == gateway.name
    assert (home / "metadata.json.damaged").read_text() == '{"name": "'


@pytest.fixture(scope="module")
def mine(three) -> dict[str, Any]:
    """An object of the cluster, as it was while all was well."""
    return three.longer.get("configmap", "mine")["metadata"]


@pytest.mark.usefixtures("mine")
def test_another_image_is_for_a_stopped_gateway_and_never_an_older_one(
    three, node_image, tiny_image, unique_name, tmp_path
):
    """R77: what is left stopped here, the next test starts."""
    gateway = three.longer
    other = f"{unique_name('openshell-test')}:dev"
    before = gateway.inspect()
    docker("tag", node_image, other)
    try:
        assert "--recreate" in gateway.run("start", "--image", other, expect=4).err
        assert gateway.inspect()["State"]["StartedAt"] == before["State"]["StartedAt"]
    finally:
        docker("rmi", other)
    gateway.run("stop")
    old = make_image_with_old_k3s(tiny_image, other, tmp_path)
    refused = gateway.run("start", "--image", old, expect=4)
    assert "v1.20.1" in refused.err
    assert "older k3s" in refused.err
    assert gateway.inspect()["Id"] == before["Id"]
    assert gateway.inspect()["State"]["Status"] == "exited"
    docker("rmi", old)


def test_a_truncated_record_without_a_container_loses_nothing(three, mine, tmp_path):
    gateway = three.longer
    before = gateway.inspect()
    truncate(gateway, tmp_path)
    docker("rm", "--force", "--volumes", gateway.container)
    gateway.start()
    assert gateway.get("configmap", "mine")["metadata"]["uid"] == mine["uid"]
    assert gateway.nodes() == [gateway.node]
    ports = [each["HostConfig"]["PortBindings"] for each in (before, gateway.inspect())]
    assert ports[0] == ports[1]
    assert json.loads(gateway.exec("cat", RECORD))["spec"]["name"] == gateway.name


def truncate(gateway: Gateway, folder: Path) -> None:
    """Cut off what the volume and this host recorded of a gateway, which may be stopped."""
    (folder / "cut").write_text('{"schema":')
    docker("cp", str(folder / "cut"), f"{gateway.container}:{RECORD}")
    (gateway.kubeconfig.parent / "metadata.json").write_text('{"name": "')


@pytest.fixture(scope="module")
def claimed(three) -> Gateway:
    """The gateway that is to be destroyed, with a claim in use."""
    gateway = three.one
    gateway.apply(stateful_set("work", "trap exit TERM; sleep 100000 & wait", ready="true"))
    until(lambda: running(gateway, "work"), "a pod with a claim")
    return gateway


def test_destroy_without_a_terminal_needs_yes_and_names_what_would_be_lost(claimed):
    """R69."""
    before = everything_of(claimed)
    refused = claimed.run("destroy", expect=2)
    assert "--yes" in refused.err
    for loss in ("container", "volume", "network"):
        assert re.search(rf"^ +{loss} +{claimed.container}\b", refused.err, re.MULTILINE), refused
    assert "default/data-work-0" in refused.err
    assert everything_of(claimed) == before


def test_destroy_that_is_answered_with_no_changes_nothing(claimed):
    before = everything_of(claimed)
    exit_code, told = answer(claimed, "n")
    assert exit_code == INTERRUPTED, told
    assert "default/data-work-0" in told
    assert "Nothing was changed" in told
    assert everything_of(claimed) == before


def test_commands_that_fail_in_the_node_put_the_clean_up_off(three, put_off):
    """R94."""
    ran, nodes = put_off
    assert ran.exit_code == 0, ran
    cleaned = ran.envelope["result"]["cleaned"]
    assert "The API server did not answer" in cleaned["postponed"]
    assert (cleaned["removed_nodes"], cleaned["removed_pods"]) == ([], [])
    assert sorted(nodes) == ["left-over", three.prefixed.node]


def everything_of(gateway: Gateway) -> str:
    """All containers, volumes and networks with this gateway's name anywhere in theirs."""
    by_name = ["--no-trunc", "--filter", f"name={gateway.name}"]
    return "\n".join(
        [
            docker("ps", "--all", *by_name, "--format", "{{.ID}} {{.Names}} {{.State}}"),
            docker("volume", "ls", "--quiet", *by_name[1:]),
            docker("network", "ls", *by_name, "--format", "{{.ID}} {{.Name}}"),
        ]
    )


@pytest.fixture
def foreigners(three, tiny_image, tmp_path) -> Iterator[tuple[str, str]]:
    """A container on the gateway's network, and one whose name begins with the gateway's."""
    guest, look_alike = f"guest-{three.one.name}", f"{three.one.container}x"
    services = {
        "guest": {"container_name": guest, "networks": ["gateway"]},
        "look_alike": {"container_name": look_alike, "networks": ["own"]},
    }
    networks = {"gateway": {"external": {"name": three.one.container}}, "own": {}}
    file = compose_file(tmp_path, tiny_image, services, networks)
    with get_docker_services(COMPOSE, file, look_alike, "up -d", "down -t 0"):
        yield guest, look_alike


def test_destroy_takes_its_own_and_leaves_guests_look_alikes_and_neighbours(
    three, claimed, foreigners, put_off
):
    """R47, R68, R70."""
    others = (three.longer, three.prefixed)
    before = [(each.inspect()["Id"], each.inspect()["State"]["StartedAt"]) for each in others]
    exit_code, told = answer(claimed, "y")
    assert exit_code == 0, told
    guest, look_alike = foreigners
    assert f"left     network {claimed.container}: still used by {guest}" in told
    for name in (guest, look_alike):
        assert inspect(name)["State"]["Running"]
    assert not docker("ps", "--all", "--quiet", "--filter", f"name=^/{claimed.container}$")
    volumes = docker("volume", "ls", "--quiet").split()
    assert claimed.container not in volumes
    assert not [name for name in volumes if name.startswith(f"openshell-scratch-{claimed.name}-t")]
    assert not claimed.kubeconfig.parent.exists()
    after = [(each.inspect()["Id"], each.inspect()["State"]["StartedAt"]) for each in others]
    assert after == before
    for each in others:
        assert each.container in volumes
        assert each.kubeconfig.is_file()
        assert each.run("status").exit_code == 0
        assert each.nodes() == [each.node]


def test_destroy_of_what_is_left_and_of_nothing(three):
    """R47, R67."""
    removed = three.one.run("destroy", "--yes")
    assert f"removed  network {three.one.container}" in removed.out
    assert "nothing had to be removed" in three.one.run("destroy").out
