"""What status says of a gateway in every state, over a whole gateway in memory."""

import copy
import subprocess
import sys
from dataclasses import replace

import pytest

from openshell_bootstrap.cluster.kubectl import SINCE_START_SCRIPT
from openshell_bootstrap.cluster.pod_dns import POD_DNS_SCRIPT
from openshell_bootstrap.errors import (
    ConfigError,
    EngineUnavailableError,
    GatewayExistsError,
    LockedError,
)
from openshell_bootstrap.gateway.results import NodeStatus
from openshell_bootstrap.gateway.status import status
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.names import LABEL_GATEWAY
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE, READY_PATIENCE
from tests.fakes import kube_objects as objects
from tests.unit.gateway import status_scenes as scenes
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.status_scenes import NODE

HOLD = """\
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def look(world, name="t1"):
    return status(name, engine=world.engine, store=world.store)


def grow_old(world):
    world.clock.advance(READY_PATIENCE.timeout_s)


NO_ANSWER = "the Kubernetes API does not answer yet"
REFUSED = "The API server did not answer: The connection to the server 127.0.0.1:6443 was refused"
DISK_FULL = f"The disk below the data volume {NAME} is full"
NOT_REPORTED = f"node {NODE} has not reported since this start of k3s"
NOT_REGISTERED = f"node {NODE} has not registered yet"

YOUNG = [
    (scenes.absent, ("absent", 3, "absent"), "there is no gateway of that name"),
    (scenes.volume_only, ("stopped", 4, "absent"), "its container is gone, its volume is there"),
    (scenes.recorded_only, ("absent", 3, "absent"), "this host has a record of it"),
    (scenes.recorded_and_damaged, ("absent", 3, "absent"), "this host has a record of it"),
    (scenes.created, ("stopped", 4, "created"), "its container was never started"),
    (scenes.stopped, ("stopped", 4, "exited"), "its container ended with exit code 0"),
    (scenes.exited, ("stopped", 4, "exited"), "its container ended with exit code 75"),
    (scenes.exited_with_a_sign, ("stopped", 4, "exited"), "exit code 78: The token that"),
    (scenes.exited_with_an_error, ("stopped", 4, "exited"), "network n1 not found"),
    (scenes.paused, ("paused", 8, "paused"), "its container is paused"),
    (scenes.restarting, ("failing", 8, "restarting"), DISK_FULL),
    (
        scenes.restarting_and_its_sign_is_of_an_earlier_life,
        ("failing", 8, "restarting"),
        f"k3s ended by itself again and again in the node {NODE}",
    ),
    (scenes.api_away, ("starting", 7, "running"), NO_ANSWER),
    (scenes.k3s_not_started, ("starting", 7, "running"), NO_ANSWER),
    (scenes.unhealthy, ("starting", 7, "running"), NO_ANSWER),
    (scenes.exec_finds_it_ended, ("starting", 7, "running"), NO_ANSWER),
    (scenes.unregistered, ("starting", 7, "running"), NOT_REGISTERED),
    (scenes.stale, ("starting", 7, "running"), NOT_REPORTED),
    (scenes.not_ready, ("starting", 7, "running"), f"node {NODE} is not ready: no CNI plugin"),
    (scenes.foreign, ("degraded", 8, "running"), "other nodes are in its cluster: old-1, old-2"),
    (scenes.pod_gone, ("starting", 7, "running"), "not available yet: coredns"),
    (scenes.deployment_gone, ("starting", 7, "running"), "not available yet: coredns"),
    (scenes.deployment_unseen, ("starting", 7, "running"), "not available yet: coredns"),
    (scenes.ends_between, ("starting", 7, "running"), NO_ANSWER),
    (scenes.refuses, ("failing", 8, "running"), "(openshell: refused: token-differs: it is"),
    (scenes.short_of_disk, ("degraded", 8, "running"), f"node {NODE} runs short (DiskPressure)"),
    (
        scenes.stranded,
        ("degraded", 8, "running"),
        "claim default/claim-pvc-2 waits for a volume on node old, which is not in the cluster",
    ),
    (
        scenes.no_names_outside,
        ("degraded", 8, "running"),
        "pods cannot resolve names outside of the cluster",
    ),
    (scenes.no_names, ("degraded", 8, "running"), "names of the cluster's services"),
    (scenes.names_not_asked, ("ready", 0, "running"), ""),
    (
        scenes.record_of_another_gateway,
        ("degraded", 8, "running"),
        "its volume holds the gateway 't2', not 't1'",
    ),
    (
        scenes.record_of_another_cluster,
        ("degraded", 8, "running"),
        "the record on its volume belongs to another cluster",
    ),
    (scenes.record_lost, ("degraded", 8, "running"), "the record on its volume is lost"),
    (scenes.emptied, ("stopped", 4, "exited"), "exit code 0; its data volume is empty"),
    (scenes.volume_gone, ("stopped", 4, "exited"), "exit code 0; its data volume is gone"),
    (scenes.network_gone, ("degraded", 8, "running"), "its network is gone"),
    (scenes.network_made_again, ("degraded", 8, "running"), "its network was made again since"),
    (scenes.retired, ("ready", 0, "running"), ""),
    (scenes.well, ("ready", 0, "running"), ""),
]
OLD = [
    (scenes.api_away, "unknown", 6, REFUSED),
    (scenes.k3s_not_started, "unknown", 6, "k3s was not started yet"),
    (scenes.unhealthy, "unknown", 6, DISK_FULL),
    (scenes.unhealthy_without_a_sign, "unknown", 6, REFUSED),
    (scenes.healthy_with_a_sign, "unknown", 6, REFUSED),
    (scenes.exec_finds_it_ended, "unknown", 6, "The container does not run"),
    (scenes.unregistered, "failing", 8, NOT_REGISTERED),
    (scenes.stale, "failing", 8, NOT_REPORTED),
    (scenes.not_ready, "failing", 8, f"node {NODE} is not ready: no CNI plugin"),
    (scenes.not_ready_with_a_sign, "failing", 8, DISK_FULL),
    (scenes.pod_gone, "degraded", 8, "not available: coredns"),
    (scenes.deployment_gone, "degraded", 8, "not available: coredns"),
    (scenes.deployment_unseen, "degraded", 8, "not available: coredns"),
    (scenes.refuses, "failing", 8, "token-differs"),
    (scenes.ends_between, "unknown", 6, "The container does not run"),
    (scenes.well, "ready", 0, ""),
]


@pytest.mark.parametrize(("scene", "words", "cause"), YOUNG)
def test_a_gateway_has_one_word(world, scene, words, cause):
    scene(world)
    told = look(world)
    assert (told.word, told.exit_code, told.container) == words
    assert cause in told.cause
    assert bool(told.cause) is bool(told.next_step) is (told.word != "ready")


@pytest.mark.parametrize(("scene", "word", "exit_code", "cause"), OLD)
def test_a_start_that_took_too_long_is_not_called_one(world, scene, word, exit_code, cause):
    scene(world)
    grow_old(world)
    told = look(world)
    assert (told.word, told.exit_code) == (word, exit_code)
    assert cause in told.cause


def test_a_ready_gateway_is_told_with_all_of_its_parts(world):
    started = world.start()
    told = look(world)
    assert told.node == NodeStatus(
        name=NODE, ready=True, version="v1.36.3+k3s1", address="172.18.0.2"
    )
    assert [(one.name, one.ready, one.wanted) for one in told.workloads] == [
        ("coredns", 1, 1),
        ("local-path-provisioner", 1, 1),
    ]
    assert (told.name, told.container_name, told.volume) == ("t1", NAME, NAME)
    assert (told.endpoint, told.image) == (started.endpoint, DEFAULT_NODE_IMAGE)
    assert (told.volume_present, told.network_present) == (True, True)
    assert (told.drift, told.notices, told.health) == ((), (), "starting")


def test_a_record_that_knows_of_no_cluster_yet_contradicts_nobody(world):
    world.start()
    scenes.write_record(world, cluster_id="")
    assert look(world).notices == ()


def test_this_hosts_record_of_another_cluster_is_told(world):
    """R26."""
    world.start()
    record = world.store.records.find("t1")
    world.store.records.write(replace(record, cluster_id="d" * 64))
    told = look(world)
    assert told.word == "ready"
    (notice,) = told.notices
    assert "of another cluster" in notice


def test_a_gateway_of_a_retired_release_is_told_as_one(world):
    world.run_retired(ports=(PublishedPort("0.0.0.0", 16443, 6443),))
    told = look(world)
    assert told.notices == (
        "It was made by a retired release; `openshell gateway start` adopts it.",
    )
    assert (told.endpoint, told.drift) == ("https://127.0.0.1:16443", ())
    assert told.node is not None
    assert (told.node.name, told.node.ready) == ("0f3a9c1b2d4e", True)


@pytest.mark.parametrize(("older_s", "word"), [(0, "ready"), (5, "starting")])
def test_a_retired_node_is_fresh_if_it_reported_since_its_container_started(world, older_s, word):
    """R91: its entrypoint writes down no start of k3s."""
    world.run_retired()
    world.kube.started_s = None
    ready = world.kube.get("Node", "0f3a9c1b2d4e")["status"]["conditions"][1]
    ready["lastHeartbeatTime"] = objects.rfc3339(world.clock.now - older_s)
    assert look(world).word == word


def test_k3s_that_was_started_again_in_its_old_container_is_starting(world):
    """PID 1 starts k3s again in place: a long life of the container says nothing then."""
    world.start()
    grow_old(world)
    world.kube.started_s = int(world.clock.now)
    told = look(world)
    assert (told.word, told.cause) == ("starting", NOT_REPORTED)


@pytest.mark.parametrize(
    "scene",
    [
        scenes.well,
        scenes.unhealthy,
        scenes.restarting,
        scenes.exited,
        scenes.retired,
        scenes.volume_only,
        scenes.absent,
    ],
)
def test_an_engine_that_fails_at_any_call_makes_it_unknown_never_absent(world, scene):
    scene(world)
    grow_old(world)
    world.engine.calls.clear()
    whole = look(world)
    calls = [call[0] for call in world.engine.calls]
    assert calls[:1] == ["containers.find"]
    for number, method in enumerate(calls):
        world.engine.fail("*", EngineUnavailableError("The engine is away"), after=number)
        told = look(world)
        world.engine.heal()
        assert (told.word, told.exit_code) == ("unknown", 5), method
        assert told.cause == "The engine is away"
        assert (told.container, told.volume_present, told.node) == ("unknown", None, None)
        assert told.next_step
        if scene is not scenes.retired:  # which has no record on this host
            assert (told.endpoint, told.image) == (whole.endpoint, whole.image)


ALL_SCENES = list(dict.fromkeys(row[0] for row in (*YOUNG, *OLD)))


def is_a_read(argv):
    scripts = (SINCE_START_SCRIPT, POD_DNS_SCRIPT)
    return argv[:2] == ("kubectl", "get") or (argv[:2] == ("sh", "-c") and argv[2] in scripts)


@pytest.mark.parametrize("scene", ALL_SCENES)
def test_it_changes_nothing(world, scene):
    scene(world)
    world.engine.calls.clear()
    state = world.engine.state
    before = copy.deepcopy((state.boxes, state.networks, state.disks))
    look(world)
    runs = [call[2:] for call in world.engine.calls if call[0] == "containers.exec"]
    assert all(is_a_read(argv) for argv in runs)
    assert world.engine.methods() == ["containers.exec"] * len(runs)
    assert (state.boxes, state.networks, state.disks) == before


@pytest.mark.parametrize("scene", ALL_SCENES)
def test_it_leaves_this_hosts_files_alone(world, scene, tmp_path):
    """R38: what cannot be seen now is not taken for deleted."""
    scene(world)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    look(world)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_it_answers_while_another_process_works_on_the_gateway(world):
    world.start()
    with world.store.lock(world.engine.info().id, "t1") as held:
        path = str(held.path)
    command = [sys.executable, "-S", "-c", HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedError):
            stop("t1", engine=world.engine, store=world.store, report=world.events.append)
        assert look(world).word == "ready"
        holder.stdin.close()


def test_a_name_that_cannot_be_is_refused(world):
    with pytest.raises(ConfigError):
        look(world, "../x")
    assert world.engine.calls == []


@pytest.mark.parametrize("reading", ["another gateway's", "no gateway"])
def test_a_container_that_only_bears_the_name_is_no_gateway(world, reading):
    if reading == "no gateway":
        world.run_foreign(NAME)
    else:
        world.start()
        box = world.engine.box(NAME)
        box.spec = replace(box.spec, labels={**box.spec.labels, LABEL_GATEWAY: "other"})
    with pytest.raises(GatewayExistsError):
        look(world)
