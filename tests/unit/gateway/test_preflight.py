"""Checks: every problem at once, each with its remedy, before anything is touched."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import BootstrapError, EngineError, PullError
from openshell_bootstrap.events import Event, Notice
from openshell_bootstrap.gateway.checks.findings import MIN_FREE_AGAIN, MIN_FREE_NEW
from openshell_bootstrap.gateway.checks.host import HostFacts
from openshell_bootstrap.gateway.checks.preflight import Checks, check, image_absent
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import StartPlan, plan_start
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import Mount, Network, PublishedPort
from tests.fakes.engine_state import INFO
from tests.fakes.host import FakeHost
from tests.unit.gateway.specs import (
    API,
    NAMES,
    NETWORK,
    SPEC,
    container_of,
    other,
    seen_of,
    standing,
)

STOPPED = standing(container=container_of(status="exited"))


def run(seen=None, *, spec=SPEC, host=None, present=True, events=None, **asked):
    seen = seen_of() if seen is None else seen
    request = StartRequest(name="t1", **asked)
    plan = plan_start(request, Settled(spec=spec, base=spec), seen, image_present=present)
    checks = Checks(request=request, spec=spec, seen=seen, plan=plan, image_present=present)
    check(checks, host=host or FakeHost(), report=([] if events is None else events).append)


def refused(*arguments, **named):
    with pytest.raises(BootstrapError) as error:
        run(*arguments, **named)
    assert error.value.remedies
    return error.value


@pytest.mark.parametrize("seen", [seen_of(), STOPPED, standing()], ids=["new", "stopped", "up"])
def test_a_host_that_can_is_let_pass(seen):
    events: list[Event] = []
    run(seen, host=FakeHost(), events=events)
    assert events == []


def facts(**changes):
    return seen_of(host=HostFacts(**changes))


def using(name, **changes):
    mounts = (Mount(kind="volume", source=NAMES.volume, target="/x"),)
    return other(name, mounts=mounts, **changes)


ROOTLESS = seen_of(engine=replace(INFO, is_rootless=True))
BELOW = Network(id="n2", name=NAMES.network, labels={})


@pytest.mark.parametrize(
    ("seen", "named", "exit_code", "brief"),
    [
        (ROOTLESS, {}, 5, "rootless"),
        (facts(inotify_instances=63), {}, 5, "max_user_instances is too low"),
        (facts(inotify_watches=8192), {}, 0, ""),
        (facts(inotify_watches=8191), {}, 5, "max_user_watches is too low"),
        (facts(free_bytes=MIN_FREE_NEW - 1), {}, 5, "Not enough disk space below /var/lib/docker"),
        (standing(container=None, networks=(NETWORK, BELOW)), {}, 0, ""),
        (
            standing(container=None, networks=(BELOW, replace(BELOW, id="n3"))),
            {},
            5,
            "There are 2 networks called openshell-cluster-t1",
        ),
        (standing(others=(using("thief"),)), {}, 4, "The container thief uses the volume"),
        (standing(others=(using("idle", status="exited"),)), {}, 0, ""),
        (
            standing(aside=using("aside"), others=(using("aside"),)),
            {},
            4,
            "The container aside uses the volume",
        ),
        (seen_of(), {"present": False, "pull": "never"}, 5, "is absent and could not be pulled"),
        (seen_of(), {"present": False}, 0, ""),
        (STOPPED, {"present": False, "pull": "never"}, 0, ""),
        (seen_of(), {"spec": replace(SPEC, volumes=("x",))}, 2, "is not a volume"),
        (seen_of(), {"spec": replace(SPEC, volumes=("/nowhere:/b",))}, 2, "has no /nowhere"),
        (seen_of(), {"spec": replace(SPEC, volumes=("/:/b", "vol:/b"))}, 2, "Two volumes"),
        (
            seen_of(engine=replace(INFO, is_local=False)),
            {"spec": replace(SPEC, volumes=("/nowhere:/b",))},
            0,
            "",
        ),
        (
            seen_of(),
            {"spec": replace(SPEC, ports=(PublishedPort("0.0.0.0", 16443, 80),))},
            2,
            "0.0.0.0:16443 is asked for twice",
        ),
        (
            seen_of(),
            {"spec": replace(SPEC, ports=(PublishedPort("::", 16443, 80),))},
            0,
            "",
        ),
        (
            seen_of(others=(other("holder", ports=(replace(API, address="0.0.0.0"),)),)),
            {},
            5,
            "127.0.0.1:16443 cannot be had: the container holder has it",
        ),
        (
            seen_of(),
            {"host": FakeHost(held={16443: "process 7 (nginx) has it"})},
            5,
            "cannot be had: process 7 (nginx) has it",
        ),
        (
            seen_of(engine=replace(INFO, is_local=False)),
            {"host": FakeHost(held={16443: "process 7 (nginx) has it"})},
            0,
            "",
        ),
    ],
)  # fmt: skip
def test_every_trouble_has_its_exit_code(seen, named, exit_code, brief):
    """R06, R54, R87, R102."""
    if not exit_code:
        run(seen, **named)
        return
    error = refused(seen, **named)
    assert brief in error.brief
    assert error.exit_code == exit_code


def test_all_problems_are_told_at_once():
    seen = seen_of(
        engine=replace(INFO, is_rootless=True),
        host=HostFacts(inotify_instances=1, inotify_watches=1, free_bytes=0),
        others=(using("thief"), other("holder", ports=(API,))),
    )
    spec = replace(SPEC, volumes=("/nowhere:/b", "x"))
    error = refused(seen, spec=spec, present=False, pull="never")
    assert isinstance(error, EngineError)
    assert "rootless" in error.brief
    for sign in (
        "thief uses the volume",
        "has no /nowhere",
        "'x' is not a volume",
        "max_user_instances",
        "max_user_watches",
        "Not enough disk space",
        "16443 cannot be had",
        "is absent and could not be pulled",
    ):
        assert sign in error.details
    assert len(error.remedies) == len(set(error.remedies)) >= 9


def test_a_gateway_that_runs_is_not_measured_again():
    """A start that does nothing needs no disk, no port and no image."""
    poor = HostFacts(inotify_instances=1, inotify_watches=1, free_bytes=0)
    host = FakeHost(held={16443: "its own proxy has it"})
    run(standing(host=poor), host=host, present=False, pull="never")
    assert host.asked == []


@pytest.mark.parametrize("status", ["running", "paused", "restarting"])
def test_the_gateways_own_ports_are_no_conflict_when_it_is_made_again(status):
    """R64: also where the address of one changes."""
    seen = standing(container=container_of(status=status))
    spec = replace(SPEC, api_port=replace(API, address="0.0.0.0"))
    host = FakeHost(held={16443: "its own proxy has it"})
    run(seen, spec=spec, host=host, recreate=True)


def test_a_stopped_gateways_port_may_have_been_taken_meanwhile():
    error = refused(STOPPED, host=FakeHost(held={16443: "process 7 has it"}))
    assert "process 7" in error.brief


@pytest.mark.parametrize(
    ("seen", "free", "is_enough"),
    [
        (seen_of(), MIN_FREE_NEW, True),
        (STOPPED, MIN_FREE_AGAIN, True),
        (STOPPED, MIN_FREE_AGAIN - 1, False),
        (seen_of(), None, True),
    ],
)
def test_how_much_disk_a_start_needs(seen, free, is_enough):
    seen = replace(seen, host=HostFacts(free_bytes=free))
    if is_enough:
        run(seen)
    else:
        assert "255 MiB are free, 256 MiB are needed" in refused(seen).details


@pytest.mark.parametrize(("instances", "is_told"), [(64, True), (511, True), (512, False)])
def test_a_limit_that_is_low_but_enough_is_only_told(instances, is_told):
    events: list[Event] = []
    run(facts(inotify_instances=instances), events=events)
    assert bool(events) is is_told
    assert all(isinstance(event, Notice) for event in events)


def test_an_absent_image_names_every_way_to_have_one():
    error = image_absent("k3s:v1", "manifest unknown")
    assert isinstance(error, PullError)
    assert error.exit_code == 5
    text = " ".join(error.remedies)
    for way in ("make node-image", "--image", "docker load", "OPENSHELL_NODE_IMAGE"):
        assert way in text


def test_a_plan_without_steps_touches_nothing():
    assert not StartPlan(steps=()).recreates
