"""What can be seen of a gateway is saved before anything is cleaned up, without its secrets."""

import threading
from pathlib import Path

import msgspec
import pytest

from openshell_bootstrap.errors import (
    EngineError,
    EngineUnavailableError,
    GatewayStateError,
    GatewayUnhealthyError,
    LockedError,
    PortConflictError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import Notice, StepStarted
from openshell_bootstrap.gateway.evidence.collect_node import CONTAINERD_LOG, POD_LOGS
from openshell_bootstrap.gateway.evidence.diagnostics import bundle, collect_in_time
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.models import FileEntry
from tests.fakes import kube_objects as objects
from tests.unit.gateway.archives import archive, bundle_of, saved, saved_by
from tests.unit.gateway.scenes import NAME


def test_what_there_is_to_see_is_in_it(world):
    world.start()
    world.engine.write_log(NAME, b"first life")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(5)
    world.engine.containers.start(world.engine.seen(NAME).id)
    world.engine.write_log(NAME, b"second life")
    ill = objects.pod("ill", "openshell-t1")
    ill["status"] = {"phase": "Failed"}
    world.kube.add(ill)
    folder = f"default_ill_{world.kube.get('Pod', 'ill', 'default')['metadata']['uid']}"
    world.nodes.pod_logs = {folder: b"the pod's last words\n"}
    result = bundle_of(world)
    found = archive(result.path)
    assert result.unread == ()
    assert (found["node/log.txt"], found["node/log-before.txt"]) == (
        "second life\n",
        "first life\n",
    )
    assert "the pod's last words" in found["node/component-logs.txt"]
    assert "default/ill: Failed" in found["cluster/pods.txt"]
    container = msgspec.json.decode(found["containers.json"])[0]
    assert (container["name"], container["status"]) == (NAME, "running")
    assert {"exit_code", "restart_count", "oom_killed", "health", "labels"} <= set(container)
    record = msgspec.json.decode(found["volume/gateway.json"])
    assert record["spec"]["name"] == "t1"
    for part in ("engine", "host", "host-record", "networks", "volumes", "disk-and-memory"):
        assert msgspec.json.decode(found[f"{part}.json"])


def test_a_node_that_does_not_run_still_shows_its_logs(world):
    world.start()
    files = world.engine.files(NAME)
    files.put(FileEntry(CONTAINERD_LOG, b"containerd's last words\n"))
    files.put(FileEntry(f"{POD_LOGS}/ns_p_u/c/0.log", b"the pod's last words\n"))
    world.engine.end(NAME, 70, b"openshell: k3s ended by itself")
    found = archive(bundle_of(world).path)
    assert "containerd's last words" in found["node/containerd.txt"]
    assert "==> ns_p_u/c/0.log <==\nthe pod's last words" in found["node/pod-logs.txt"]
    assert "k3s ended by itself" in found["node/log.txt"]
    assert not [name for name in found if name.startswith("cluster/")]


def test_an_absent_gateway_gives_the_engines_facts(world):
    result = bundle_of(world, "nobody")
    found = archive(result.path)
    assert msgspec.json.decode(found["containers.json"]) == []
    assert msgspec.json.decode(found["engine.json"])["version"] == "20.10.24"
    assert result.unread == ()


def test_an_api_that_is_down_and_an_engine_that_fails_are_noted(world):
    world.start()
    world.kube.is_up = False
    result = bundle_of(world)
    assert [line.partition(":")[0] for line in result.unread] == ["cluster"]
    assert "refused" in result.unread[0]
    world.engine.fail("info", EngineUnavailableError("no answer"), times=None)
    world.engine.fail("containers.list", EngineUnavailableError("no answer"), times=None)
    found = archive(bundle_of(world).path)
    unread = msgspec.json.decode(found["summary.json"])["unread"]
    assert {"engine.json", "containers.json", "secrets"} <= set(unread)
    assert msgspec.json.decode(found["host.json"])["python"]


def test_an_engine_that_hangs_holds_nobody_for_long(world):
    world.start()
    let_go = threading.Event()
    world.engine.on_exec(lambda *_: let_go.wait(10))
    seen = collect_in_time("t1", world.engine, world.store, timeout_s=0.2)
    let_go.set()
    assert seen.unread["the rest"]
    assert "containers.json" in seen.files


def test_what_ends_the_process_is_not_swallowed(world):
    world.start()
    world.engine.fail("containers.using_volume", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bundle_of(world)
    assert saved(world) == []


def test_a_bundle_goes_where_it_is_told(world, tmp_path):
    file = tmp_path / "mine.tar.gz"
    result = bundle("t1", engine=world.engine, store=world.store, file=file)
    assert Path(result.path) == file
    assert "summary.json" in archive(file)
    assert saved(world) == []


# --- before a clean-up -----------------------------------------------------------------------


def test_a_first_start_that_fails_is_saved_before_it_is_taken_away(world):
    """R95: the evidence outlives the container."""
    world.nodes.ends = (b"a fatal line of its own", 1)
    with pytest.raises(GatewayUnhealthyError) as failed:
        world.start()
    assert not world.engine.state.boxes
    found = saved_by(failed)
    assert "a fatal line of its own" in found["node/log.txt"]
    why = msgspec.json.decode(found["summary.json"])
    assert (why["operation"], why["error"]) == ("start", "GatewayUnhealthyError")
    assert why["brief"] == failed.value.brief
    assert "Saving what can be seen" in [
        event.title for event in world.events if isinstance(event, StepStarted)
    ]


def test_a_node_that_is_never_ready_is_saved_and_its_volume_kept(world):
    """R95."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.nodes.ends = (b"again a fatal line", 1)
    with pytest.raises(GatewayUnhealthyError) as failed:
        world.start()
    assert "again a fatal line" in saved_by(failed)["node/log.txt"]
    assert NAME in world.engine.state.disks


def test_a_node_that_refuses_is_saved_while_it_still_runs(world):
    world.start()
    world.engine.containers.stop(NAME, 1)

    def refuse(container):
        world.engine.write_log(container.id, b"openshell: refused: token-differs: x")

    world.engine.on_start(refuse)
    with pytest.raises(GatewayStateError, match="token") as failed:
        world.start()
    assert world.engine.seen(NAME).status == "exited"
    container = msgspec.json.decode(saved_by(failed)["containers.json"])[0]
    assert container["status"] == "running"


def test_one_failure_is_saved_once(world):
    world.nodes.ends = (b"a fatal line", 1)
    with pytest.raises(GatewayUnhealthyError) as failed:
        world.start()
    assert [str(path) for path in saved(world)] == [failed.value.diagnostics]


def test_workloads_that_do_not_come_are_explained_and_saved(world):
    world.start()
    key = next(key for key in world.kube.objects if key[0] == "Pod" and "coredns" in key[2])
    world.engine.on_start(lambda _: world.kube.objects[key].update(status=PULLING))
    world.engine.containers.stop(NAME, 1)
    with pytest.raises(WaitTimeoutError, match=r"cannot pull the image r\.example/dns:1") as failed:
        world.start()
    assert "ImagePullBackOff" in failed.value.details
    assert "ImagePullBackOff" in saved_by(failed)["cluster/pods-unwell.json"]


PULLING = {
    "phase": "Pending",
    "containerStatuses": [
        {
            "name": "coredns",
            "ready": False,
            "state": {
                "waiting": {
                    "reason": "ImagePullBackOff",
                    "message": 'Back-off pulling image "r.example/dns:1"',
                }
            },
        }
    ],
}


def test_a_port_conflict_at_the_start_is_saved(world):
    """R55: also what the engine said is there."""
    world.engine.fail("containers.start", PortConflictError("taken"), times=None)
    with pytest.raises(PortConflictError) as failed:
        world.start()
    assert not world.engine.state.boxes
    assert "containers.json" in saved_by(failed)


def test_a_container_that_ended_badly_is_saved_before_it_is_replaced(world):
    world.start()
    world.engine.end(NAME, 70, b"the last words of the old one")
    world.engine.replace_network(NAME)
    world.start()
    (path,) = saved(world)
    assert "the last words of the old one" in archive(path)["node/log.txt"]
    assert str(path) in world.notices


def test_a_container_that_ended_in_order_is_replaced_without_ado(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.replace_network(NAME)
    world.start()
    assert saved(world) == []


def test_a_stop_that_fails_is_saved(world):
    world.start()
    world.engine.fail("containers.stop", EngineError("it will not"), times=None)
    with pytest.raises(EngineError) as failed:
        stop("t1", engine=world.engine, store=world.store)
    assert msgspec.json.decode(saved_by(failed)["summary.json"])["operation"] == "stop"


def test_a_destroy_that_fails_is_saved_and_the_volume_stays(world):
    """R63."""
    world.start()
    world.engine.fail("containers.remove", EngineError("it will not"), times=None)
    with pytest.raises(EngineError) as failed:
        world.destroy()
    assert msgspec.json.decode(saved_by(failed)["summary.json"])["operation"] == "destroy"
    assert NAME in world.engine.state.disks


@pytest.mark.parametrize("error", [KeyboardInterrupt(), LockedError("taken")])
def test_nothing_is_saved_of_ctrl_c_and_of_a_plain_refusal(world, error):
    with pytest.raises(type(error)), world.evidence().kept():
        raise error
    assert saved(world) == []


def test_a_file_that_cannot_be_written_hides_no_error(world):
    world.store.state.mkdir(parents=True)
    (world.store.state / "diagnostics").write_text("a file where a folder is to be")
    world.nodes.ends = (b"no space left on device", 1)
    with pytest.raises(GatewayUnhealthyError, match="full") as failed:
        world.start()
    assert failed.value.diagnostics == ""
    assert "diagnostics cannot be written" in failed.value.__notes__[0]
    assert not [
        event for event in world.events if isinstance(event, Notice) and "is in" in event.text
    ]


def test_refusals_before_anything_was_touched_save_nothing(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    stranger = world.run_foreign("stranger", volume=NAME)
    with pytest.raises(GatewayStateError):
        world.start()
    assert stranger in world.engine.state.boxes
    assert saved(world) == []


def test_strangers_on_the_volume_are_named_and_not_looked_into(world):
    world.start()
    stranger = world.run_foreign("stranger", volume=NAME)
    world.engine.write_log(stranger, b"somebody else's words")
    world.engine.calls.clear()
    found = archive(bundle_of(world).path)
    assert "stranger" in [one["name"] for one in msgspec.json.decode(found["containers.json"])]
    assert "somebody else's words" not in "".join(found.values())
    assert not [call for call in world.engine.calls if "stranger" in call[1:]]


def test_nothing_is_changed_by_looking(world):
    world.start()
    world.changes()
    bundle_of(world)
    reading = {"info", "containers.find", "containers.list", "containers.using_volume"}
    reading |= {"containers.logs", "containers.get_file", "containers.get_files"}
    reading |= {"networks.list_named", "volumes.find", "volumes.list"}
    assert set(world.changes()) <= reading
