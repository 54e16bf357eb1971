"""`doctor check`: everything at once, with a gateway and without, on any engine."""

import os
from dataclasses import replace

import pytest

from openshell_bootstrap.errors import ConfigError, EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.checks.host import HostFacts
from openshell_bootstrap.gateway.checks.privileged import LABELS
from openshell_bootstrap.gateway.doctor import check
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import ContainerSpec, PublishedPort
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE, read_settings
from tests.unit.gateway.conftest import NAME


@pytest.fixture(autouse=True)
def probes(world):
    """What the tried container does: it ends with this."""
    ends = {"code": 0}

    def end(container):
        if container.labels.items() >= LABELS.items():
            world.engine.end(container.id, ends["code"], b"mount: refused")

    world.engine.on_start(end)
    world.engine.state.info = replace(
        world.engine.state.info, prunes_named_volumes=False, clock_offset_s=0.0
    )
    return ends


def checked(world, environ=None, connect=None, **asked):
    return check(
        StartRequest(name="t1", **asked),
        connect=connect or (lambda: world.engine),
        store=world.store,
        settings=read_settings({} if environ is None else environ),
        host=world.host,
    )


def of(result, severity):
    return {one.check for one in result.checks if one.severity == severity}


def one(result, check, severity):
    (found,) = [
        found for found in result.checks if (found.check, found.severity) == (check, severity)
    ]
    return found


EVERYTHING = {
    "engine", "prune", "kernel", "proxy", "lock", "volume", "network", "image", "inotify",
    "cgroups", "disk", "memory", "clock", "port", "privileged", "folders",
}  # fmt: skip


def test_a_host_that_can_has_nothing_but_good_findings(world):
    result = checked(world)
    assert of(result, "fine") == EVERYTHING
    assert len(result.checks) == len(EVERYTHING)
    assert result.exit_code == 0


def test_it_leaves_nothing_behind_and_changes_nothing(world):
    checked(world)
    state = world.engine.state
    assert state.boxes == state.disks == state.networks == {}
    made = [call for call in world.changes() if call != "containers.create"]
    assert made == ["containers.start", "containers.remove"]
    assert world.store.records.find("t1") is None
    assert not os.path.lexists(world.store.config)


def test_a_gateway_that_runs_is_looked_at_as_it_is(world):
    world.start()
    before = world.engine.seen(NAME)
    result = checked(world)
    assert result.exit_code == 0
    port = before.ports[0]
    assert one(result, "port", "fine").brief == (
        f"The host port 127.0.0.1:{port.host_port} is the gateway's own"
    )
    assert world.engine.seen(NAME) == before
    assert [box.name for box in world.engine.state.boxes.values()] == [NAME]


def test_all_problems_are_told_at_once_the_worst_first(world):
    """R06, R54, R102, R96."""
    world.host.known = HostFacts(inotify_instances=1, inotify_watches=1 << 20, free_bytes=1)
    world.host.held[16443] = "process 7 (nginx) has it"
    world.host.known_kernel = {**world.host.known_kernel, "vxlan": "absent"}
    world.host.closed[world.store.config] = "it is read-only"
    world.engine.state.info = replace(
        world.engine.state.info, missing_controllers=("memory",), memory_bytes=1 << 30
    )
    result = checked(world, api_port=PublishedPort("127.0.0.1", 16443, 6443))
    assert of(result, "problem") == {"inotify", "disk", "port", "cgroups", "folders"}
    assert of(result, "warning") == {"kernel", "memory"}
    severities = [one.severity for one in result.checks]
    assert severities == sorted(severities, key=["problem", "warning", "unknown", "fine"].index)
    for finding in result.checks:
        assert bool(finding.remedies) is (finding.severity in {"problem", "warning"})
        assert bool(finding.exit_code) is (finding.severity == "problem")
    assert result.exit_code == result.checks[0].exit_code == 5


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(EngineUnavailableError("It does not answer", "e", ["r"]), 5), (ConfigError("bad", "d"), 2)],
)
def test_without_an_engine_the_rest_is_still_looked_at(world, error, exit_code):
    """R103: an engine that cannot be reached, or of which nobody can tell which it is."""

    def connect():
        raise error

    result = checked(world, connect=connect)
    assert result.exit_code == exit_code
    assert one(result, "engine", "problem").brief == error.brief
    assert of(result, "fine") == {"folders"}
    assert of(result, "unknown") == {"gateway"}


def test_an_engine_that_does_not_answer_is_the_same_problem(world):
    world.engine.fail("info", EngineUnavailableError("It does not answer"))
    assert checked(world).exit_code == 5


def test_of_another_host_it_says_what_it_cannot_know(world):
    world.engine.state.info = replace(world.engine.state.info, is_local=False)
    world.host.known = HostFacts()
    result = checked(world)
    assert of(result, "unknown") == {"kernel", "disk", "inotify"}
    assert result.exit_code == 0


def test_a_gateway_that_another_command_works_on_is_left_alone(world):
    world.start()
    with world.store.lock("FAKE:ENGINE", "t1"):
        world.engine.calls.clear()
        result = checked(world)
    assert one(result, "lock", "unknown").details
    assert {"disk", "memory", "inotify", "cgroups", "clock"} <= of(result, "fine")
    assert result.exit_code == 0
    assert not [call for call in world.engine.calls if call[0] == "containers.get_files"]


def test_the_absent_image_of_a_container_that_is_there_is_not_needed(world):
    world.start()
    world.engine.state.images.clear()
    result = checked(world)
    assert "is absent, and the container" in one(result, "image", "fine").brief
    assert result.exit_code == 0


def test_what_a_start_would_refuse_is_a_problem_of_the_gateway(world):
    """R52: with the exit code that the start would have."""
    world.start()
    world.engine.prune(NAME)
    world.engine.volumes.remove(NAME)
    result = checked(world)
    assert "is gone" in one(result, "gateway", "problem").brief
    assert result.exit_code == 4
    assert "disk" in of(result, "fine")


def test_a_lock_for_this_user_alone_is_a_warning(world, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    locks = replace(world.store.locks, shared=blocked / "locks")
    world.store = replace(world.store, locks=locks)
    assert "this user's commands only" in one(checked(world), "lock", "warning").brief


def test_an_absent_image_was_not_tried(world):
    """R80: an absent image is no problem until a pull is ruled out."""
    result = checked(world, image="k3s:absent")
    assert "k3s:absent is absent: a start pulls it" in one(result, "image", "unknown").brief
    assert "not tried" in one(result, "privileged", "unknown").brief
    assert "containers.create" not in world.changes()
    refused = checked(world, image="k3s:absent", pull="never")
    assert refused.exit_code == 5


@pytest.mark.parametrize(("code", "severity"), [(10, "problem"), (11, "warning"), (9, "problem")])
def test_what_the_tried_container_may_not_do_is_told(world, probes, code, severity):
    probes["code"] = code
    found = one(checked(world), "privileged", severity)
    assert found.details == "mount: refused"
    assert world.engine.state.boxes == {}


@pytest.mark.parametrize("method", ["containers.create", "containers.start", "containers.logs"])
def test_a_privileged_container_that_is_refused_is_removed(world, method):
    world.engine.fail(method, EngineError("refused", "unable to apply caps"), times=None)
    found = one(checked(world), "privileged", "problem")
    assert "unable to apply caps" in found.details
    assert world.engine.state.boxes == {}


@pytest.mark.parametrize("method", ["containers.create", "containers.start"])
def test_an_engine_that_fails_itself_says_nothing_of_privileges(world, method):
    world.engine.fail(method, EngineUnavailableError("the engine failed", "500"), times=None)
    found = one(checked(world), "privileged", "unknown")
    assert found.details == "the engine failed: 500"
    assert found.remedies == ()


def test_a_wait_in_which_the_engine_failed_says_nothing_of_privileges_either(world):
    def fail(_container):
        world.engine.fail("containers.find", EngineUnavailableError("failed", "500"), times=None)

    world.engine.on_start(fail)
    assert "500" in one(checked(world), "privileged", "unknown").details


def test_an_interrupt_while_it_is_tried_removes_it(world):
    world.engine.fail("containers.start", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        checked(world)
    assert world.engine.state.boxes == {}


def test_only_a_forgotten_probe_of_ours_is_removed(world):
    def make(name, labels):
        spec = ContainerSpec(
            name=name, image=DEFAULT_NODE_IMAGE, hostname="x", entrypoint=("sh",), command=(),
            environment={}, labels=labels,
        )  # fmt: skip
        world.engine.containers.create(spec)

    make("openshell-probe-1000-ab", LABELS)
    make("openshell-probe-9999999999-ab", LABELS)
    make("openshell-probe-1000-cd", {})
    make("somebody", LABELS)
    checked(world)
    assert {box.name for box in world.engine.state.boxes.values()} == {
        "openshell-probe-9999999999-ab", "openshell-probe-1000-cd", "somebody",
    }  # fmt: skip


def test_a_clock_that_was_set_back_makes_certificates_of_the_future(world):
    world.start()
    world.host.clock = world.clock.time() - 3600
    found = one(checked(world), "clock", "problem")
    assert "before the moment at which the volume was made" in found.brief
    world.host.clock = world.clock.time()
    assert "clock" not in of(checked(world), "problem")


@pytest.mark.parametrize(
    ("environ", "signs"),
    [
        ({"NO_PROXY": "x"}, []),
        ({"HTTPS_PROXY": "http://u:pw@p", "NO_PROXY": "127.0.0.1"}, ["engine itself"]),
        ({"HTTPS_PROXY": "http://u:pw@p"}, ["on 127.0.0.1", "engine itself"]),
        (
            {"HTTP_PROXY": "http://u:pw@p", "http_proxy": "http://other"},
            ["HTTP_PROXY and http_proxy", "engine itself"],
        ),
        ({"HTTP_PROXY": "http://u:pw@p", "http_proxy": "http://u:pw@p"}, ["engine itself"]),
    ],
)
def test_what_is_amiss_with_proxies(world, environ, signs):
    """R101: and no address, which may hold a password, is told."""
    result = checked(world, environ)
    warnings = [one for one in result.checks if (one.check, one.severity) == ("proxy", "warning")]
    assert len(warnings) == len(signs)
    for warning, sign in zip(warnings, signs, strict=True):
        assert sign in warning.brief
    assert "pw" not in str(result)
    fine = one(result, "proxy", "fine").brief
    assert ("10.42.0.0/16" in fine) is bool(signs)


def test_an_engine_with_a_proxy_needs_no_advice(world):
    world.engine.state.info = replace(world.engine.state.info, has_proxy=True)
    result = checked(world, {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"})
    assert "proxy" not in of(result, "warning")


def test_a_kubeconfig_that_cannot_be_written_is_no_problem_of_a_gateway(world, tmp_path):
    world.host.closed[tmp_path] = "it is read-only"
    result = checked(world, {"KUBECONFIG": str(tmp_path / "config")})
    assert "KUBECONFIG" in one(result, "folders", "warning").remedies[0]
    assert result.exit_code == 0
