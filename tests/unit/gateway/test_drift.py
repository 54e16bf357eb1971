"""What differs is told line by line, and nothing does once it is applied."""

from dataclasses import replace

from openshell_bootstrap import bundle
from openshell_bootstrap.gateway.bundle_changes import compare_files, read_bundle_changes
from openshell_bootstrap.gateway.drift import describe_drift
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import FileEntry, PublishedPort
from openshell_bootstrap.names import LABEL_BUNDLE_DIGEST, LABEL_GATEWAY, LABEL_SPEC_DIGEST
from tests.fakes.engine import FakeEngine
from tests.unit.gateway.specs import OTHER_SPEC, SPEC, container_of

OLD_LABEL = {LABEL_BUNDLE_DIGEST: "old"}
THEIRS = {LABEL_GATEWAY: "t2", **OLD_LABEL}
RICH = replace(
    SPEC,
    ports=(PublishedPort("127.0.0.1", 80, 30080),),
    volumes=("/a:/b:ro",),
    environment={"A": "b"},
    k3s_args=("--v=4",),
    tls_sans=("gw.example",),
    gpus="all",
)


def test_settings_that_differ_are_told_line_by_line():
    settled = Settled(spec=OTHER_SPEC, base=SPEC)
    assert describe_drift(settled, container_of(), ()) == ("k3s args: none -> --x",)
    assert describe_drift(settled, container_of(OTHER_SPEC), ()) == ()


def test_settings_that_no_record_explains_are_read_from_the_container():
    """The record says one thing, and the container was made of another."""
    settled = Settled(spec=SPEC, base=SPEC)
    assert describe_drift(settled, container_of(RICH), ()) == (
        "ports: 127.0.0.1:80:30080 -> none",
        "volumes: /a:/b:ro -> none",
        "environment: A no longer set",
        "k3s args: --v=4 -> none",
        "tls sans: gw.example -> none",
    )
    labels = {**container_of().labels, LABEL_SPEC_DIGEST: "of another release"}
    (line,) = describe_drift(settled, container_of(labels=labels), ())
    assert line == "it was made with other settings"


def test_gpus_cannot_be_seen_and_are_taken_to_be_as_recorded():
    settled = Settled(spec=replace(SPEC, gpus="all"), base=replace(SPEC, gpus="all"))
    labels = {**container_of().labels, LABEL_SPEC_DIGEST: "of another release"}
    (line,) = describe_drift(settled, container_of(labels=labels), ())
    assert line == "it was made with other settings"


def test_a_variables_value_is_never_told():
    """It may be a proxy's address with a password in it."""
    settled = Settled(
        spec=replace(SPEC, environment={"HTTP_PROXY": "http://u:secret@p"}), base=SPEC
    )
    assert describe_drift(settled, container_of(), ()) == ("environment: HTTP_PROXY set",)


def test_shipped_files_that_differ_are_told_by_name_or_at_least_that_they_do():
    settled = Settled(spec=SPEC, base=SPEC)
    container = container_of(labels={**container_of().labels, **OLD_LABEL})
    changes = ("shipped file lib/stop.sh: 1 -> 2",)
    assert describe_drift(settled, container, changes) == changes
    (line,) = describe_drift(settled, container, ())
    assert line == "the files that were put into it are of another release"


def file(name, content, mode=0o644):
    return FileEntry(f"{bundle.BUNDLE_PATH}/{name}", content, mode)


def test_files_are_compared_by_what_they_hold_and_may_do():
    old = (file("same", b"x"), file("changed", b"x"), file("mode", b"x"), file("gone", b"x"))
    new = (file("same", b"x"), file("changed", b"y"), file("mode", b"x", 0o755), file("made", b"x"))
    lines = compare_files((*old, FileEntry(f"{bundle.BUNDLE_PATH}/lib", None)), new)
    assert [line.removeprefix("shipped file ").partition(":")[0] for line in lines] == [
        "changed", "gone", "made", "mode",
    ]  # fmt: skip
    marks = {line.split()[2]: line.split()[3:] for line in lines}
    assert marks["gone:"][1:] == ["->", "none"]
    assert marks["made:"][:2] == ["none", "->"]
    assert marks["changed:"][0] != marks["changed:"][2]
    assert marks["mode:"][0] == marks["changed:"][0]


def test_files_that_a_user_gave_are_not_shipped():
    given = (FileEntry(bundle.TOKEN_FILE, b"t", 0o600), FileEntry(bundle.REGISTRIES_FILE, b"r"))
    assert compare_files(given, ()) == ()


def test_files_are_read_only_where_the_label_says_that_they_differ():
    engine = FakeEngine()
    for container in (None, container_of(), container_of(labels={}), container_of(labels=THEIRS)):
        assert read_bundle_changes(engine, container, "t1") == ()
    assert engine.calls == []


def test_what_a_container_cannot_tell_is_no_difference():
    """GPUs, and the range of its network, where the record is not what it was made of."""
    spec = replace(SPEC, gpus="all", subnet="10.99.0.0/24")
    lines = describe_drift(Settled(spec=spec, base=spec), container_of(OTHER_SPEC), ())
    assert lines == ("k3s args: --x -> none",)
