"""A node password that its cluster does not know is repaired, and nothing else is touched."""

import pytest

from openshell_bootstrap.errors import ClusterError, WaitTimeoutError
from openshell_bootstrap.events import Notice
from openshell_bootstrap.gateway.inside.node_password import repair_after_ready, repair_rejected
from openshell_bootstrap.gateway.inside.readiness import Readiness
from openshell_bootstrap.models import Patience
from tests.fakes import kube_objects as objects
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube
from tests.unit.gateway.conftest import NAME

NODE = "openshell-t1"
SECRET = f"{NODE}.node-password.k3s"
STRANGER = b"of another volume\n"
MISMATCH = "hash does not match"


@pytest.fixture
def kube(clock: FakeClock) -> FakeKube:
    kube = FakeKube(clock=clock, started_s=int(clock.now))
    kube.add(objects.node_password(NODE, "x"), objects.node_password("other", "y"))
    return kube


@pytest.fixture
def seen(kube: FakeKube) -> Readiness:
    return Readiness(node_name=NODE, container=None, started_s=kube.started_s, nodes=())


def secrets(kube):
    return [name for name in (SECRET, "other.node-password.k3s") if kube.find(
        "Secret", name, "kube-system")]  # fmt: skip


def test_a_mismatch_of_this_life_has_its_secret_removed_and_is_told(kube, seen):
    """R09, R12: the volume's own password is the one that stays."""
    kube.add(objects.password_event(NODE, kube.clock.now + 1, MISMATCH))
    told = []
    (notice,) = repair_after_ready(kube, seen, told.append)
    assert secrets(kube) == ["other.node-password.k3s"]
    assert SECRET in notice
    assert told == [Notice(notice)]


@pytest.mark.parametrize(
    ("node", "after_s", "cause"),
    [
        (NODE, -1, MISMATCH),
        ("other", 1, MISMATCH),
        (NODE, 1, f'secrets "{SECRET}" already exists'),
        (NODE, 1, f"{MISMATCH}, or does it"),
    ],
)
def test_what_is_no_mismatch_of_this_node_in_this_life_touches_nothing(
    kube, seen, node, after_s, cause
):
    """k3s records the same reason where nothing is wrong."""
    kube.add(objects.password_event(node, kube.clock.now + after_s, cause))
    assert repair_after_ready(kube, seen, pytest.fail) == ()
    assert len(secrets(kube)) == 2
    assert len(kube.runs) == 1


@pytest.mark.parametrize("field", ["lastTimestamp", "eventTime", "series"])
def test_an_event_that_was_told_again_counts_by_its_last_time(kube, seen, field):
    event = objects.password_event(NODE, kube.clock.now - 100, MISMATCH)
    now = objects.rfc3339(kube.clock.now + 1, micro=True)
    event["lastTimestamp"] = None
    event[field] = {"lastObservedTime": now, "count": 2} if field == "series" else now
    kube.add(event)
    assert repair_after_ready(kube, seen, lambda _event: None)
    assert SECRET not in secrets(kube)


@pytest.mark.parametrize("what", ["uid", "version"])
def test_a_secret_that_changed_since_it_was_read_stays(kube, seen, what):
    """The deletion is bound to what was looked at."""
    kube.add(objects.password_event(NODE, kube.clock.now + 1, MISMATCH))

    def change(node):
        if what == "version":
            node.touch("Secret", SECRET, "kube-system")
        else:
            del node.objects["Secret", "kube-system", SECRET]
            node.add(objects.node_password(NODE, "new"))

    kube.before[2] = change
    (notice,) = repair_after_ready(kube, seen, lambda _event: None)
    assert SECRET in secrets(kube)
    assert "stays" in notice
    assert "Precondition failed" in notice


def test_a_secret_that_is_gone_already_is_told(kube, seen):
    kube.add(objects.password_event(NODE, kube.clock.now + 1, MISMATCH))
    del kube.objects["Secret", "kube-system", SECRET]
    (notice,) = repair_after_ready(kube, seen, lambda _event: None)
    assert "which is gone" in notice


def test_that_nobody_could_look_is_no_failure_of_a_node_that_is_ready(kube, seen):
    kube.is_up = False
    (notice,) = repair_after_ready(kube, seen, lambda _event: None)
    assert "could not be checked" in notice


def test_a_rejected_node_waits_for_an_api_that_comes_and_goes(kube):
    kube.is_up = False
    kube.before[3] = lambda node: setattr(node, "is_up", True)
    told = []
    repair_rejected(kube, NODE, told.append)
    assert SECRET not in secrets(kube)
    assert "was removed" in told[0].text


def test_a_repair_that_cannot_be_is_told_and_left_to_the_wait(kube):
    kube.is_up = False
    told = []
    repair_rejected(kube, NODE, told.append, patience=Patience(timeout_s=5, interval_s=1))
    assert "could not be repaired" in told[0].text
    kube.is_up = True
    kube.before[len(kube.runs)] = lambda _node: (_ for _ in ()).throw(ClusterError("no"))
    repair_rejected(kube, NODE, told.append)
    assert "could not be repaired: no" in told[1].text


def lose_password(world):
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.engine.volume_files(NAME).write("/openshell/node/password", STRANGER)
    world.clock.advance(60)


def test_start_repairs_what_the_cluster_told_and_the_next_start_finds_nothing(world):
    """R09, R12, R13."""
    lose_password(world)
    done = world.start()
    assert any(SECRET in notice for notice in done.notices)
    assert not world.kube.find("Secret", SECRET, "kube-system")
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(60)
    assert world.start().notices == ()
    assert world.kube.get("Secret", SECRET, "kube-system")["data"]["hash"] == STRANGER.hex()


def test_a_node_that_is_rejected_is_let_in_within_the_wait(world):
    """R10: k3s before 1.33 says nothing but that it waits."""
    lose_password(world)
    world.nodes.password_mode = "reject"
    world.start()
    assert "was removed" in world.notices
    assert world.kube.find("Node", NODE)
    assert world.nodes.waiting == {}


def test_a_node_that_stays_rejected_fails_in_bounded_time_with_the_cause(world):
    """R10: never a bare time-out."""
    lose_password(world)
    world.nodes.password_mode = "reject"
    world.kube.refuses_deletion.add(SECRET)
    before = world.clock.now
    with pytest.raises(WaitTimeoutError, match="by another password") as over:
        world.start(timeout_s=30)
    assert over.value.exit_code == 7
    assert world.clock.now - before < 60
    assert "denied the request" in world.notices
    assert world.engine.seen(NAME).status == "running"


def test_a_fresh_gateway_is_not_asked_about_its_password(world):
    world.start()
    assert not [run for run in world.kube.runs if "events" in str(run)]
    world.engine.containers.stop(NAME, 1)
    world.clock.advance(60)
    world.start()
    assert len([run for run in world.kube.runs if "events" in str(run)]) == 1
    world.start()
    assert len([run for run in world.kube.runs if "events" in str(run)]) == 1
