"""R41: every setting of a gateway can be changed, and nothing but its container goes for it.

Told before, applied as told, and gone afterwards: ``status``, ``start --dry-run`` and what was
applied agree.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.classify import classify
from openshell_bootstrap.gateway.drift import describe_drift
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import CreateNode
from openshell_bootstrap.gateway.starting.settle import settle, settle_recorded
from openshell_bootstrap.gateway.state import find_mend
from openshell_bootstrap.gateway.status import status
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import dry_run, record_of
from tests.unit.gateway.specs import RECORD, SPEC, container_of, plan, standing

PORT = PublishedPort("127.0.0.1", 30080, 30080)
PRECIOUS = "/storage/claim/file"


@dataclass(frozen=True)
class Change:
    """A flag, what is told of it, and where the new container shows it."""

    asked: dict[str, Any]
    told: str
    shows: Any
    before: dict[str, Any] = field(default_factory=dict)


CHANGES = {
    "image": Change(
        {"image": "k3s:v2", "image_is_explicit": True},
        f"image: {DEFAULT_NODE_IMAGE} -> k3s:v2",
        lambda box: box.spec.image == "k3s:v2",
    ),
    "API port": Change(
        {"api_port": PublishedPort("127.0.0.1", 17443, 6443)},
        "api port: 127.0.0.1:16443:6443 -> 127.0.0.1:17443:6443",
        lambda box: box.ports[0].host_port == 17443,
        before={"api_port": PublishedPort("127.0.0.1", 16443, 6443)},
    ),
    "port": Change(
        {"ports": (PORT,)},
        "ports: none -> 127.0.0.1:30080:30080",
        lambda box: box.ports[1] == PORT,
    ),
    "port taken back": Change(
        {"ports": ()},
        "ports: 127.0.0.1:30080:30080 -> none",
        lambda box: len(box.ports) == 1,
        before={"ports": (PORT,)},
    ),
    "volume": Change(
        {"volumes": ("/tmp:/b:ro",)},
        "volumes: none -> /tmp:/b:ro",
        lambda box: [mount.read_only for mount in box.mounts if mount.source == "/tmp"] == [True],
    ),
    "variable": Change(
        {"environment": {"A": "secret"}},
        "environment: A set",
        lambda box: box.spec.environment["A"] == "secret",
    ),
    "variable changed": Change(
        {"environment": {"A": "other"}},
        "environment: A changed",
        lambda box: box.spec.environment["A"] == "other",
        before={"environment": {"A": "secret"}},
    ),
    "variable taken back": Change(
        {"environment": {}},
        "environment: A no longer set",
        lambda box: "A" not in box.spec.environment,
        before={"environment": {"A": "secret"}},
    ),
    "k3s argument": Change(
        {"k3s_args": ("--kubelet-arg=max-pods=50",)},
        "k3s args: none -> --kubelet-arg=max-pods=50",
        lambda box: box.spec.command[-1] == "--kubelet-arg=max-pods=50",
    ),
    "certificate name": Change(
        {"tls_sans": ("gw.example",)},
        "tls sans: none -> gw.example",
        lambda box: "--tls-san=gw.example" in box.spec.command,
    ),
    "GPUs": Change({"gpus": "all"}, "gpus: none -> all", lambda box: box.spec.gpus == "all"),
    "subnet": Change(
        {"subnet": "10.99.0.0/24"},
        "subnet: none -> 10.99.0.0/24",
        lambda box: box.is_up,
    ),
    "registries": Change(
        {"registries": b"mirrors: {}\n"},
        "registries: none -> given",
        lambda box: box.files.read("/opt/openshell/registries.yaml") == b"mirrors: {}\n",
    ),
    "registries changed": Change(
        {"registries": b"mirrors: {}\n"},
        "registries: recorded -> given",
        lambda box: box.files.read("/opt/openshell/registries.yaml") == b"mirrors: {}\n",
        before={"registries": b"configs: {}\n"},
    ),
}
PROXY_VARIABLES = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
PROXIES = {"HTTP_PROXY": "http://u:secret@proxy"}


def look(world, **environment):
    return status("t1", engine=world.engine, store=world.store, **environment)


def begin(world, change):
    world.engine.add_image("k3s:v2")
    world.start(**change.before)
    world.engine.volume_files(NAME).write(PRECIOUS, b"precious")
    world.engine.calls.clear()


def check_applied(world, change):
    """It is there, it is recorded, nothing differs any more, and the data is what it was."""
    assert change.shows(world.engine.box(NAME))
    assert world.engine.volume_files(NAME).read(PRECIOUS) == b"precious"
    told = look(world)
    assert (told.word, told.drift) == ("ready", ())
    assert dry_run(world).actions == ()
    assert dry_run(world, **change.asked).actions == ()
    world.changes()
    world.start(**change.asked)
    assert world.changes() == []


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_flag_is_refused_while_the_gateway_runs(world, change):
    """The exit code is 4, the line says what differs, and nothing was touched."""
    begin(world, change)
    container = world.engine.seen(NAME)
    for attempt in (dry_run, type(world).start):
        with pytest.raises(GatewayStateError, match="runs with other settings") as refused:
            attempt(world, **change.asked)
        assert refused.value.exit_code == 4
        assert refused.value.details == change.told
        assert "--recreate" in refused.value.remedies[0]
    assert world.changes() == []
    assert world.engine.seen(NAME) == container
    assert look(world).drift == ()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_flag_is_applied_to_a_gateway_that_runs_where_that_was_asked_for(world, change):
    begin(world, change)
    planned = dry_run(world, recreate=True, **change.asked)
    assert change.told in planned.actions[0].why
    started = world.start(recreate=True, **change.asked)
    assert started.actions == planned.actions
    check_applied(world, change)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_flag_is_applied_to_a_gateway_that_does_not_run(world, change):
    begin(world, change)
    world.engine.containers.stop(NAME, 1)
    planned = dry_run(world, **change.asked)
    assert change.told in planned.actions[0].why
    started = world.start(**change.asked)
    assert started.actions == planned.actions
    check_applied(world, change)


def test_an_image_of_the_environment_changes_no_gateway_that_is_there(world):
    """It is kept until somebody asks for another by name."""
    world.engine.add_image("k3s:v2")
    world.start()
    world.engine.containers.stop(NAME, 1)
    world.start(image="k3s:v2")
    assert world.engine.seen(NAME).image == DEFAULT_NODE_IMAGE
    assert look(world).drift == ()


def test_another_image_with_an_older_k3s_is_refused_before_anything_stops(world):
    """R77: the volume cannot go back."""
    begin(world, CHANGES["image"])
    world.nodes.version["k3s:v2"] = "k3s version v1.34.1+k3s1 (fake)"
    for asked in ({"recreate": True}, {}):
        with pytest.raises(GatewayStateError, match=r"older k3s|other settings"):
            world.start(image="k3s:v2", image_is_explicit=True, **asked)
    assert world.engine.seen(NAME).image == DEFAULT_NODE_IMAGE
    assert look(world).word == "ready"


def test_a_changed_proxy_of_the_environment_is_told_while_it_runs_and_applied_later(world):
    """R101: nobody asked for it by a flag, so nothing is refused and nothing stops."""
    world.start()
    told = look(world, proxies=PROXIES)
    assert told.word == "ready"
    assert told.drift == ("environment: HTTP_PROXY set", "environment: NO_PROXY set")
    planned = dry_run(world, proxies=PROXIES)
    assert planned.actions == ()
    assert [line for line in told.drift if any(line in each for each in planned.notices)] == [
        *told.drift
    ]
    world.changes()
    world.start(proxies=PROXIES)
    assert world.changes() == []
    world.engine.containers.stop(NAME, 1)
    assert look(world, proxies=PROXIES).drift == told.drift
    assert "; ".join(told.drift) in dry_run(world, proxies=PROXIES).actions[0].why
    world.start(proxies=PROXIES)
    assert world.engine.box(NAME).spec.environment["HTTP_PROXY"] == PROXIES["HTTP_PROXY"]
    assert look(world, proxies=PROXIES).drift == look(world).drift == ()


def age_a_shipped_file(world):
    """The container was made by a release with another file."""
    box = world.engine.box(NAME)
    box.files.write("/opt/openshell/lib/stop.sh", b"# of an older release\n")
    box.spec = replace(box.spec, labels={**box.spec.labels, "openshell.ai/bundle-digest": "old"})


def test_a_changed_file_of_the_release_is_told_by_its_name_and_applied_later(world):
    world.start()
    age_a_shipped_file(world)
    told = look(world)
    assert told.word == "ready"
    (line,) = told.drift
    assert line.startswith("shipped file lib/stop.sh: ")
    assert f"Not applied while the gateway runs: {line}." in dry_run(world).notices
    world.engine.containers.stop(NAME, 1)
    assert look(world).drift == (line,)
    assert dry_run(world).actions[0].why == line
    world.start()
    assert look(world).drift == ()
    assert world.engine.box(NAME).files.read("/opt/openshell/lib/stop.sh") != b"# of an older"


def test_a_token_that_the_volume_has_changes_nothing(world):
    world.start(token=b"secret")
    world.changes()
    world.start(token=b"secret")
    assert world.changes() == []
    with pytest.raises(GatewayStateError, match="token is not the one"):
        world.start(token=b"other", recreate=True)
    assert world.changes() == []


# --- for any settings at all -----------------------------------------------------------------

words = st.sampled_from(["a", "b.example", "--v=4", "--kubelet-arg=x=1", ""])
ports = st.builds(
    PublishedPort,
    st.sampled_from(["127.0.0.1", "0.0.0.0"]),
    st.integers(1, 65535),
    st.integers(1, 65535),
)


def maybe(values):
    return st.none() | values


requests = st.builds(
    StartRequest,
    name=st.just("t1"),
    image=maybe(st.sampled_from(["k3s:v1", "k3s:v2"])),
    image_is_explicit=st.booleans(),
    api_port=maybe(
        st.builds(PublishedPort, st.just("127.0.0.1"), st.integers(1, 9), st.just(6443))
    ),
    ports=maybe(st.lists(ports, max_size=2).map(tuple)),
    volumes=maybe(st.sampled_from([(), ("/a:/b",), ("vol:/c:ro", "/a:/b")])),
    environment=maybe(
        st.dictionaries(st.sampled_from(["A", "HTTP_PROXY", "NO_PROXY"]), words, max_size=3)
    ),
    k3s_args=maybe(st.lists(words.filter(bool), max_size=2).map(tuple)),
    tls_sans=maybe(st.lists(st.sampled_from(["x.example", "10.0.0.1"]), max_size=2).map(tuple)),
    gpus=maybe(st.sampled_from(["", "all", "2"])),
    proxies=st.sampled_from([{}, {"HTTPS_PROXY": "http://p", "NO_PROXY": "x"}]),
)


def decide(request, seen):
    return settle(request, seen, default_image="default:v1", choose_port=lambda: SPEC.api_port)


@hypothesis.settings(max_examples=40)
@given(first=requests, second=requests)
def test_after_settings_were_applied_nothing_differs(first, second):
    """Whatever was asked before and is asked now: told, applied, and then as if nothing was."""
    spec = decide(first, standing()).spec
    before = standing(
        container=container_of(spec, status="exited"),
        on_volume=OnVolume(record=replace(RECORD, spec=spec)),
    )
    settled = decide(second, before)
    told = describe_drift(settled, container_of(spec), ())
    assert bool(told) is (settled.spec != spec)
    steps = plan(before, settled).steps
    assert any(isinstance(step.action, CreateNode) for step in steps) is bool(told)
    assert all(line in steps[0].why for line in told)

    container = container_of(settled.spec)
    after = standing(
        container=container, on_volume=OnVolume(record=replace(RECORD, spec=settled.spec))
    )
    again = decide(second, after)
    assert (again.explicit_changes, describe_drift(again, container, ())) == ((), ())
    assert plan(after, again).steps == ()
    unasked = settle_recorded(settled.spec, second.proxies)
    if not (second.proxies and PROXY_VARIABLES & (second.environment or {}).keys()):
        # A proxy given as a flag holds for that start: the environment comes before the record.
        assert describe_drift(unasked, container, ()) == ()
    assert describe_drift(decide(StartRequest(name="t1"), after), container, ()) == ()
    assert find_mend(classify(after)) == "nothing"


def test_what_is_recorded_is_what_was_made(world):
    world.start(k3s_args=("--v=4",), environment={"A": "b"})
    assert record_of(world).spec.k3s_args == ("--v=4",)
    assert record_of(world).spec.environment == {"A": "b"}
