"""``start`` that fails or is interrupted on its way; tests/faults breaks every command anywhere."""

from contextlib import suppress
from dataclasses import replace

import pytest

from openshell_bootstrap.cluster.kubectl import AWAIT_KUBELET_SCRIPT
from openshell_bootstrap.errors import (
    EngineError,
    EngineUnavailableError,
    LockedError,
)
from openshell_bootstrap.names import LABEL_GATEWAY
from tests.fakes.engine_containers import FakeContainers
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import check_tidy, record_of, scratch_of

CALLS, CHUNK = 45, 5
"""So many calls of the engine has a start at most, and so many of them one test breaks."""


def fail_exec_after_ready(world, *, times):
    """Exec fails once the node was seen ready."""
    inner = world.nodes.run
    seen = {"ready": False, "failures": 0}

    def run(container, argv, stdin):
        if seen["ready"] and (times is None or seen["failures"] < times):
            seen["failures"] += 1
            raise EngineUnavailableError("the runtime is not ready")
        done = inner(container, argv, stdin)
        seen["ready"] = AWAIT_KUBELET_SCRIPT not in argv
        return done

    world.engine.on_exec(run)


def test_an_exec_that_fails_twice_is_tried_again(world):
    """R94."""
    world.run_retired()
    fail_exec_after_ready(world, times=2)
    done = world.start()
    assert done.cleaned.removed_nodes == ("0f3a9c1b2d4e",)
    assert done.cleaned.postponed == ""


def test_an_exec_that_never_works_again_is_a_warning_and_nothing_is_deleted(world):
    """R94."""
    world.run_retired()
    fail_exec_after_ready(world, times=None)
    done = world.start()
    assert "runtime is not ready" in done.cleaned.postponed
    assert "workloads could not be seen" in world.notices
    assert any("the next start completes it" in notice for notice in done.notices)
    assert world.kube.names("Node") == ["0f3a9c1b2d4e", "openshell-t1"]
    world.engine.on_exec(world.nodes.run)
    done = world.start()
    assert done.cleaned.removed_nodes == ("0f3a9c1b2d4e",)
    assert record_of(world).k3s_version == "v1.36.3+k3s1"


MUTATING = [
    "networks.create",
    "volumes.create",
    "containers.create",
    "containers.put_files",
    "containers.start",
]


@pytest.mark.parametrize("too_late", [False, True])
@pytest.mark.parametrize(
    ("method", "after"),
    [(method, 0) for method in MUTATING] + [("volumes.create", after) for after in (1, 2, 3)],
)
def test_a_fresh_start_that_fails_at_any_change_leaves_nothing_and_the_next_passes(
    world, method, after, too_late
):
    """R61, R60: an answer that got lost is no other case."""
    world.run_foreign("bystander")
    world.engine.add_network("openshell-cluster-t1x")
    world.engine.volumes.create("openshell-cluster-t1x", {})
    before = set(world.engine.state.boxes), set(world.engine.state.disks)
    world.engine.fail(method, EngineError("no"), after=after, too_late=too_late)
    with pytest.raises(EngineError) as failed:
        world.start()
    assert failed.value.brief == "no"
    ran = method == "containers.start" and too_late
    assert set(world.engine.state.boxes) == before[0]
    assert set(world.engine.state.disks) - before[1] == ({NAME} if ran else set())
    names = [network.name for network in world.engine.state.networks.values()]
    answer_lost = method == "networks.create" and too_late
    assert names == ["openshell-cluster-t1x", *([NAME] if answer_lost else [])]
    assert world.store.records.find("t1") is None
    world.start()
    assert world.nodes.boots[NAME] == (2 if ran else 1)


def test_an_undo_that_fails_too_hides_nothing(world):
    world.engine.fail("containers.start", EngineError("no"))
    world.engine.fail("containers.remove", EngineError("busy"))
    with pytest.raises(EngineError, match="no") as failed:
        world.start()
    assert failed.value.__notes__ == ["What this run made is still there: busy"]
    world.start()
    check_tidy(world)


def test_an_undo_takes_only_what_this_very_run_made(world):
    """The network of the name was there before, and so was another host's container since."""
    world.engine.networks.create(NAME, {LABEL_GATEWAY: "t1"})
    world.engine.fail("containers.create", EngineError("no"))
    with pytest.raises(EngineError, match="no"):
        world.start()
    assert [network.name for network in world.engine.state.networks.values()] == [NAME]


class FasterElsewhere(FakeContainers):
    """Another host's start comes between our look and our create."""

    def create(self, spec):
        super().create(replace(spec, mounts=spec.mounts[:1]))
        return super().create(spec)


def test_an_undo_leaves_a_container_that_another_host_made_meanwhile(world):
    world.engine.containers = FasterElsewhere(world.engine.state)
    with pytest.raises(LockedError, match="on another host") as refused:
        world.start()
    assert refused.value.exit_code == 10
    assert world.engine.seen(NAME).status == "created"
    assert scratch_of(world) == set()
    assert NAME in world.engine.state.disks
    world.engine.containers.start(NAME)  # which needs the network that we made


@pytest.mark.parametrize("first", range(0, CALLS, CHUNK))
def test_a_fresh_start_that_is_interrupted_at_any_call_is_resumed_by_the_next(world, first):
    """R64: what stands is kept, and the own half-made container is no conflict."""
    for call in range(first, first + CHUNK):
        name = f"t{call}"
        world.engine.fail("*", KeyboardInterrupt(), after=call)
        with suppress(KeyboardInterrupt):
            world.start(name)
        world.engine.heal()
        world.start(name)
        assert world.engine.seen(f"openshell-cluster-{name}").status == "running"
        assert world.nodes.rejected == []
    check_tidy(world)
