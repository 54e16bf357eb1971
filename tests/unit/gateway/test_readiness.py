"""Readiness as it is seen and judged."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from openshell_bootstrap.cluster.nodes import UNINITIALIZED_TAINT, Node
from openshell_bootstrap.errors import EngineUnavailableError
from openshell_bootstrap.gateway.inside.readiness import (
    Readiness,
    find_failure,
    find_hindrance,
    is_ready,
    observe_readiness,
)
from openshell_bootstrap.models import Completed, Container, ContainerSpec, Unknown
from tests.fakes import kube_objects as objects
from tests.fakes.engine import FakeEngine
from tests.fakes.kube import FakeKube

OWN = "openshell-t1"
STARTED_S = 1_700_000_000

CONTAINER = Container(
    id="c1",
    name="openshell-cluster-t1",
    image="node:dev",
    image_id="i1",
    status="running",
    hostname=OWN,
    labels={},
)
NODE = Node(
    name=OWN,
    uid="u",
    resource_version="1",
    hostname=OWN,
    ready="True",
    heartbeat=datetime.fromtimestamp(STARTED_S, UTC),
)
READY = Readiness(node_name=OWN, container=CONTAINER, started_s=STARTED_S, nodes=(NODE,))


@pytest.mark.parametrize(
    ("seen", "hindrance"),
    [
        (READY, ""),
        (replace(READY, nodes=(replace(NODE, name="other"), NODE)), ""),
        (replace(READY, nodes=Unknown("no answer")), "no answer"),
        (replace(READY, nodes=()), "not registered"),
        (replace(READY, nodes=(replace(NODE, name="other"),)), "not registered"),
        (replace(READY, started_s=None), "since this start"),
        (replace(READY, started_s=STARTED_S + 1), "since this start"),
        (replace(READY, nodes=(replace(NODE, heartbeat=None),)), "since this start"),
        (replace(READY, nodes=(replace(NODE, ready="False", detail="no CNI"),)), "no CNI"),
        (replace(READY, nodes=(replace(NODE, ready="False"),)), "no reason"),
        (
            replace(READY, nodes=(replace(NODE, taints=frozenset({UNINITIALIZED_TAINT})),)),
            "cloud controller",
        ),
    ],
)
def test_ready_is_what_this_life_of_the_node_said(seen, hindrance):
    assert hindrance in find_hindrance(seen)
    assert is_ready(seen) is (hindrance == "")


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (READY, "container openshell-cluster-t1 is running; node openshell-t1 is ready"),
        (
            replace(READY, nodes=()),
            "container openshell-cluster-t1 is running; node openshell-t1 has not registered yet",
        ),
        (replace(READY, container=None, nodes=Unknown("no answer")), "no container; no answer"),
    ],
)
def test_a_look_is_told_to_the_user_in_words(seen, words):
    assert str(seen) == words


@pytest.mark.parametrize(
    ("container", "words"),
    [
        (CONTAINER, None),
        (replace(CONTAINER, status="created"), None),
        (replace(CONTAINER, status="paused"), "paused"),
        (replace(CONTAINER, status="exited", exit_code=78), "exit code 78"),
        (replace(CONTAINER, status="dead", exit_code=1, error="no space"), "1: no space"),
        (replace(CONTAINER, status="restarting", exit_code=75), "75, and the engine starts it"),
        (None, "gone"),
    ],
)
def test_a_container_that_ended_will_not_become_ready(container, words):
    failure = find_failure(replace(READY, container=container))
    if words is None:
        assert failure is None
    else:
        assert words in (failure or "")


def make_engine(kube: FakeKube) -> tuple[FakeEngine, str]:
    engine = FakeEngine()
    engine.add_image("node:dev")
    container_id = engine.containers.create(
        ContainerSpec(
            name="c",
            image="node:dev",
            hostname=OWN,
            entrypoint=(),
            command=(),
            environment={},
            labels={},
        )
    )
    engine.on_exec(lambda _container, argv, stdin: kube.run(argv, stdin=stdin))
    return engine, container_id


def test_one_command_tells_both_the_nodes_and_when_k3s_was_started(clock):
    kube = FakeKube(clock=clock, started_s=STARTED_S)
    kube.add(objects.node(OWN, heartbeat_s=STARTED_S + 1), objects.node("old"))
    engine, container_id = make_engine(kube)
    engine.containers.start(container_id)
    seen = observe_readiness(engine, container_id, OWN)
    assert (seen.started_s, len(kube.runs)) == (STARTED_S, 1)
    assert seen.node is not None
    assert (seen.node.version, seen.node.address) == ("v1.36.3+k3s1", "172.18.0.2")
    assert is_ready(seen)


@pytest.mark.parametrize(
    ("started_s", "is_up", "words"),
    [(None, True, "not started"), (STARTED_S, False, "did not answer: The connection")],
)
def test_a_node_that_does_not_answer_yet_is_a_look(clock, started_s, is_up, words):
    kube = FakeKube(clock=clock, started_s=started_s, is_up=is_up)
    engine, container_id = make_engine(kube)
    engine.containers.start(container_id)
    seen = observe_readiness(engine, container_id, OWN)
    assert isinstance(seen.nodes, Unknown)
    assert words in seen.nodes.cause
    assert (seen.node, seen.started_s) == (None, None)
    assert find_failure(seen) is None


def test_nothing_is_run_in_a_container_that_does_not_run(clock):
    kube = FakeKube(clock=clock)
    engine, container_id = make_engine(kube)
    seen = observe_readiness(engine, container_id, OWN)
    assert seen.nodes == Unknown("the container does not run")
    assert kube.runs == []
    assert observe_readiness(engine, "gone", OWN).container is None


def test_a_container_that_ends_between_look_and_command_is_a_look(clock):
    kube = FakeKube(clock=clock, started_s=STARTED_S)
    engine, container_id = make_engine(kube)
    engine.containers.start(container_id)

    def end(container: Container, argv: object, stdin: object) -> Completed:
        engine.end(container_id, 70)
        return engine.containers.exec(container_id, ["true"])

    engine.on_exec(end)
    seen = observe_readiness(engine, container_id, OWN)
    assert isinstance(seen.nodes, Unknown)


def test_an_engine_that_does_not_answer_is_an_error(clock):
    engine, container_id = make_engine(FakeKube(clock=clock))
    engine.fail("containers.find", EngineUnavailableError("no engine"))
    with pytest.raises(EngineUnavailableError):
        observe_readiness(engine, container_id, OWN)
