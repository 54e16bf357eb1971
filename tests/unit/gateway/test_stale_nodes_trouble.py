"""What the clean-up leaves alone, tries again or puts off, on a cluster in memory."""

import pytest

from openshell_bootstrap.errors import EngineUnavailableError
from openshell_bootstrap.gateway.inside.stale_nodes import MAX_ROUNDS
from tests.fakes import kube_objects as objects
from tests.fakes.kube import FakeKube
from tests.unit.gateway.renamed import (
    OLD,
    OWN,
    clean,
    make_adopted,
    pinned_to,
)


def test_a_folder_that_is_missing_is_reported_and_its_volume_left_alone(clock):
    kube = make_adopted(clock)
    del kube.folders[f"{objects.STORAGE}/pvc-1"]
    cleaned = clean(kube)
    assert cleaned.rebound_volumes == ("pvc-0", "pvc-2")
    assert cleaned.removed_nodes == (OLD,)
    (sentence,) = cleaned.reported
    assert "pvc-1" in sentence
    assert "not there" in sentence
    assert pinned_to(kube, "pvc-1") == [OLD]


def test_without_the_feature_gate_nothing_that_depends_on_the_node_is_touched(clock):
    kube = make_adopted(clock)
    kube.has_gate = False
    cleaned = clean(kube)
    assert (cleaned.rebound_volumes, cleaned.removed_nodes, cleaned.removed_pods) == ((), (), ())
    assert len(cleaned.reported) == 3
    assert all("1.35 to 1.37" in sentence for sentence in cleaned.reported)
    assert kube.names("Node") == [OLD, OWN]
    assert len(kube.names("Pod")) == 3


def test_one_refused_volume_reads_the_same_as_one_of_many(clock):
    """kubectl has other words for an invalid object that is alone."""
    kube = make_adopted(clock, 1)
    kube.has_gate = False
    (sentence,) = clean(kube).reported
    assert "field is immutable" in sentence


def test_a_volume_that_changed_meanwhile_is_read_again(clock):
    kube = make_adopted(clock)
    kube.before[3] = lambda kube: kube.touch("PersistentVolume", "pvc-1")
    cleaned = clean(kube)
    assert sorted(cleaned.rebound_volumes) == ["pvc-0", "pvc-1", "pvc-2"]
    assert cleaned.removed_nodes == (OLD,)
    assert len(kube.runs) == 8  # look, folders, replace, delete once more, but no wait
    assert sum(clock.slept) == 25


def test_a_volume_that_vanished_meanwhile_holds_nothing_up(clock):
    kube = make_adopted(clock)

    def vanish(kube: FakeKube) -> None:
        del kube.objects["PersistentVolume", "", "pvc-1"]

    kube.before[3] = vanish
    cleaned = clean(kube)
    assert cleaned.rebound_volumes == ("pvc-0", "pvc-2")
    assert cleaned.removed_nodes == (OLD,)


def test_what_never_stops_changing_is_left_for_the_next_start(clock):
    kube = make_adopted(clock, 1)
    touch = lambda kube: kube.touch("PersistentVolume", "pvc-0")  # noqa: E731
    kube.before.update(dict.fromkeys(range(3, 100), touch))
    cleaned = clean(kube)
    assert "kept changing" in cleaned.postponed
    assert cleaned.removed_nodes == ()
    assert sum(argv[:2] == ("kubectl", "replace") for argv in kube.runs) == MAX_ROUNDS


def test_a_node_that_changed_meanwhile_keeps_its_pods_until_it_was_looked_at_again(clock):
    kube = make_adopted(clock, 1)
    kube.before[4] = lambda kube: kube.touch("Node", OLD)
    pods: list[list[str]] = []
    kube.before[5] = lambda kube: pods.append(kube.names("Pod"))
    cleaned = clean(kube)
    assert pods == [["web-0"]]
    assert cleaned.removed_nodes == (OLD,)
    assert cleaned.removed_pods == ("default/web-0",)


def test_a_node_that_waits_for_its_finalizer_is_not_waited_for(clock):
    kube = make_adopted(clock)
    kube.get("Node", OLD)["metadata"]["finalizers"] = ["wrangler.cattle.io/node"]
    cleaned = clean(kube)
    assert cleaned.removed_nodes == (OLD,)
    assert len(cleaned.removed_pods) == 3
    again = clean(kube)
    assert again.removed_nodes == ()
    assert again.reported == (
        f"Node {OLD} is deleted already and waits for k3s to let it go; nothing to do.",
    )


def test_a_failing_command_is_tried_again(clock):
    kube = make_adopted(clock)

    def go_down(kube: FakeKube) -> None:
        kube.is_up = False

    def come_up(kube: FakeKube) -> None:
        kube.is_up = True

    kube.before.update({0: go_down, 20: come_up})
    cleaned = clean(kube)
    assert cleaned.removed_nodes == (OLD,)
    assert not cleaned.postponed


@pytest.mark.parametrize("number", range(5))
def test_a_command_that_goes_on_failing_postpones_the_rest(clock, number):
    kube = make_adopted(clock)

    def go_down(kube: FakeKube) -> None:
        kube.is_up = False

    kube.before[number] = go_down
    begun = clock.now
    cleaned = clean(kube)
    assert "refused" in cleaned.postponed
    assert cleaned.removed_nodes == cleaned.removed_pods == ()
    assert kube.names("Node") == [OLD, OWN]
    assert len(kube.names("Pod")) == 3
    assert clock.now - begun <= 25 + 45


def test_an_engine_that_does_not_answer_postpones_too(clock):
    kube = make_adopted(clock)

    def hang(_kube: FakeKube) -> None:
        raise EngineUnavailableError("The engine did not answer")

    kube.before.update(dict.fromkeys(range(100), hang))
    assert "The engine did not answer" in clean(kube).postponed


def test_a_node_whose_k3s_was_not_started_postpones_too(clock):
    kube = make_adopted(clock)
    kube.started_s = None
    assert "k3s was not started yet" in clean(kube).postponed


def test_what_the_api_server_refuses_to_delete_is_reported(clock):
    kube = make_adopted(clock, 1)
    kube.refuses_deletion.add("web-0")
    cleaned = clean(kube)
    assert cleaned.removed_nodes == (OLD,)
    (sentence,) = cleaned.reported
    assert sentence.startswith("web-0 could not be deleted: ")
