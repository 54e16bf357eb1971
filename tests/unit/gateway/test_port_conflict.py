"""A port that looked free and could not be bound."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineUnavailableError, PortConflictError
from openshell_bootstrap.gateway.checks.port_conflict import explain_conflict
from openshell_bootstrap.models import ContainerSpec, PublishedPort
from tests.fakes.engine import FakeEngine
from tests.fakes.engine_state import INFO
from tests.fakes.host import FakeHost
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.specs import API, SPEC, seen_of, standing

CONFLICT = PortConflictError("The engine could not start it", "Bind failed: port is already ...")
EVERYTHING = dict.fromkeys(range(65_536), "taken")


def explain(*, seen=None, engine=None, host=None, spec=SPEC):
    told = explain_conflict(
        CONFLICT, spec, seen or standing(), engine or FakeEngine(), host or FakeHost()
    )
    assert told.brief == CONFLICT.brief
    assert CONFLICT.details in told.details
    return told


def test_a_port_that_nobody_has_is_said_to_be_the_engines_and_another_is_offered():
    """R56."""
    told = explain()
    assert "the engine keeps it" in told.details
    assert "`openshell gateway start --name t1 --api-port " in told.remedies[0]
    assert f"--api-port {SPEC.api_port.host_port}`" not in told.remedies[0]
    assert "engine anew" in told.remedies[1]


def test_a_container_that_took_it_a_moment_ago_is_named():
    """R54, R59."""
    engine = FakeEngine()
    engine.add_image("busybox")
    spec = ContainerSpec(
        name="thief", image="busybox", hostname="thief", entrypoint=("sleep",), command=("9",),
        environment={}, labels={}, ports=(API,),
    )  # fmt: skip
    engine.containers.start(engine.containers.create(spec))
    told = explain(engine=engine)
    assert "127.0.0.1:16443: the container thief has it" in told.details
    assert "--api-port" in told.remedies[0]


@pytest.mark.parametrize("port", [API, PublishedPort("127.0.0.1", 8080, 80)])
def test_a_process_that_took_it_a_moment_ago_is_named(port):
    """R59: whichever of the gateway's ports it is."""
    spec = replace(SPEC, ports=(PublishedPort("127.0.0.1", 8080, 80),))
    host = FakeHost(held={port.host_port: "process 7 (nginx) has it"})
    told = explain(spec=spec, host=host)
    assert f"127.0.0.1:{port.host_port}: process 7 (nginx) has it" in told.details


def test_the_ports_of_this_host_are_not_another_engines():
    host = FakeHost(held={API.host_port: "process 7 (nginx) has it"})
    told = explain(seen=standing(engine=replace(INFO, is_local=False)), host=host)
    assert "nginx" not in told.details
    assert "on this host" not in told.details
    assert host.asked == []


def test_where_every_port_is_taken_none_is_offered():
    told = explain(host=FakeHost(held={**EVERYTHING, API.host_port: None}))
    assert told.remedies == ("Or start the Docker engine anew: it lets go.",)


def test_an_engine_that_does_not_answer_any_more_has_said_enough():
    engine = FakeEngine()
    engine.fail("containers.list", EngineUnavailableError("gone"))
    assert explain_conflict(CONFLICT, SPEC, seen_of(), engine, FakeHost()) is CONFLICT


def test_a_gateway_whose_port_the_engine_leaked_is_kept_and_starts_on_the_offered_one(world):
    """R56: container, volume and network stay as they are."""
    world.start()
    world.engine.containers.stop(NAME, 1)
    before = world.engine.seen(NAME)
    world.engine.state.busy_ports.add(("127.0.0.1", before.ports[0].host_port))
    with pytest.raises(PortConflictError) as refused:
        world.start()
    assert "the engine keeps it" in refused.value.details
    assert world.engine.seen(NAME).id == before.id
    assert NAME in world.engine.state.disks
    offered = int(refused.value.remedies[0].rpartition(" ")[2].rstrip("`."))
    world.start(api_port=PublishedPort("127.0.0.1", offered, 6443))
    assert world.engine.seen(NAME).ports[0].host_port == offered
