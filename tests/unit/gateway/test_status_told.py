"""What status tells beside its word: parts, records, unfinished work and what differs."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.journal import Destruction, JournalFile
from openshell_bootstrap.gateway.results import NodeStatus, WorkloadStatus
from openshell_bootstrap.gateway.status import status
from openshell_bootstrap.models import Health
from openshell_bootstrap.names import LABEL_BUNDLE_DIGEST, LABEL_SPEC_DIGEST
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.unit.gateway import status_scenes as scenes
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.status_scenes import NODE

RECORD = "/openshell/gateway.json"
NOT_REGISTERED = f"node {NODE} has not registered yet"


def look(world):
    return status("t1", engine=world.engine, store=world.store)


@pytest.mark.parametrize("scene", [scenes.volume_only, scenes.recorded_only])
def test_without_a_container_this_host_tells_where_it_was(world, scene):
    scene(world)
    told = look(world)
    assert told.endpoint.startswith("https://127.0.0.1:")
    assert told.image == DEFAULT_NODE_IMAGE
    assert told.volume_present is (scene is scenes.volume_only)
    assert (told.node, told.workloads) == (None, ())


def test_of_an_absent_gateway_nothing_is_told(world):
    told = look(world)
    assert (told.endpoint, told.image, told.health) == ("", "", "")
    assert (told.volume_present, told.network_present) == (False, False)


def test_other_nodes_and_a_missing_one_are_told(world):
    scenes.foreign(world)
    del world.kube.objects["Node", "", NODE]
    assert look(world).node == NodeStatus(
        name=NODE, ready=False, detail=NOT_REGISTERED, foreign=("old-1", "old-2")
    )


@pytest.mark.parametrize(
    ("scene", "ready", "wanted"),
    [(scenes.pod_gone, 0, 1), (scenes.deployment_gone, 0, 1), (scenes.deployment_unseen, 1, 2)],
)
def test_a_workload_that_is_behind_is_told_in_numbers(world, scene, ready, wanted):
    scene(world)
    behind = WorkloadStatus(name="coredns", ready=ready, wanted=wanted)
    assert behind in look(world).workloads


@pytest.mark.parametrize("scene", [scenes.well, scenes.stopped, scenes.exited_with_an_error])
def test_a_log_that_explains_nothing_is_not_read(world, scene):
    scene(world)
    world.engine.calls.clear()
    look(world)
    assert "containers.logs" not in [call[0] for call in world.engine.calls]


def test_an_api_that_does_not_answer_is_asked_once(world):
    scenes.api_away(world)
    world.kube.runs.clear()
    assert look(world).node is None
    assert len(world.kube.runs) == 1


@pytest.mark.parametrize(
    ("health", "told"),
    [
        (Health(status="none", output="old"), ""),
        (Health(status="starting"), "starting"),
        (Health(status="healthy", output=" \n"), "healthy"),
        (Health(status="unhealthy", output="readyz: failed\n"), "unhealthy: readyz: failed"),
        (Health(status="healthy", output="healthy: all is well\n"), "healthy: all is well"),
    ],
)
def test_the_health_check_is_told_in_its_words(world, health, told):
    world.start()
    world.engine.set_health(NAME, health)
    assert look(world).health == told


def test_the_health_check_of_what_does_not_run_says_nothing(world):
    """The engine keeps what it said last, and calls a paused container unhealthy."""
    scenes.paused(world)
    world.engine.set_health(NAME, Health(status="unhealthy", output="healthy: all is well"))
    assert look(world).health == ""


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("unhealthy: readyz: failed\n", "; its health check says 'readyz: failed'"),
        ("healthy: all is well\n", "; its health check fails"),
    ],
)
def test_why_the_health_check_fails_is_part_of_the_cause(world, output, reason):
    scenes.not_ready(world)
    world.engine.set_health(NAME, Health(status="unhealthy", output=output))
    assert look(world).cause.endswith(f"no CNI plugin{reason}")


@pytest.mark.parametrize(
    ("content", "cause", "step"),
    [
        (b"{", "gateway.json on the volume is damaged", "writes it anew"),
        (b'{"schema": 99}', "made by a newer release", "Use that release"),
    ],
)
def test_a_record_that_cannot_be_used_is_told_and_the_rest_too(world, content, cause, step):
    started = world.start()
    world.engine.volume_files(NAME).write(RECORD, content)
    told = look(world)
    assert (told.word, told.endpoint, told.drift) == ("degraded", started.endpoint, ())
    assert cause in told.cause
    assert step in told.next_step
    assert told.notices == ()


def test_a_damaged_record_is_told_though_something_else_is_worse(world):
    scenes.not_ready(world)
    world.engine.volume_files(NAME).write(RECORD, b"{")
    told = look(world)
    assert told.word == "starting"
    (notice,) = told.notices
    assert "gateway.json on the volume is damaged" in notice


def test_a_record_that_the_engine_will_not_read_makes_nothing_ready(world):
    world.start()
    world.engine.fail("containers.get_files", EngineError("The file cannot be read"))
    told = look(world)
    assert (told.word, told.exit_code, told.cause) == ("unknown", 5, "The file cannot be read")
    assert (told.container, told.node.ready) == ("running", True)


@pytest.mark.parametrize("is_pruned", [False, True])
def test_unfinished_work_is_told(world, is_pruned):
    """The container that opens the volume may be the very thing that is gone."""
    world.start()
    container_id = world.engine.seen(NAME).id
    JournalFile(name="t1", engine=world.engine, container_id=container_id, store=world.store).begin(
        Destruction()
    )
    if is_pruned:
        world.engine.prune(NAME)
    (notice,) = look(world).notices
    assert notice.startswith("A destroy was begun at ")
    assert "undoes it and keeps the data" in notice


def test_what_never_started_is_replaced_and_differs_in_nothing(world):
    scenes.created(world)
    box = world.engine.box(NAME)
    box.spec = replace(box.spec, labels={**box.spec.labels, LABEL_SPEC_DIGEST: "old"})
    assert look(world).drift == ()


@pytest.mark.parametrize("engine_is_away", [False, True])
def test_a_damaged_record_of_this_host_is_told(world, engine_is_away):
    world.start()
    scenes.damage_host_record(world)
    if engine_is_away:
        world.engine.fail("*", EngineUnavailableError("The engine is away"), times=None)
    told = look(world)
    assert told.word == ("unknown" if engine_is_away else "ready")
    (notice,) = told.notices
    assert "gateways/t1/metadata.json is damaged" in notice


@pytest.mark.parametrize(
    ("label", "line"),
    [
        (LABEL_SPEC_DIGEST, "it was made with other settings"),
        (LABEL_BUNDLE_DIGEST, "the files that were put into it are of another release"),
    ],
)
def test_what_differs_from_this_release_is_told(world, label, line):
    world.start()
    box = world.engine.box(NAME)
    box.spec = replace(box.spec, labels={**box.spec.labels, label: "old"})
    told = look(world)
    assert told.word == "ready"
    (drift,) = told.drift
    assert drift.startswith(line)
