"""What the signs of trouble mean, and what is advised."""

import re
from dataclasses import replace
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.diagnosis import CAUSES, DECISIVE, About, Diagnosis, Signs, diagnose
from openshell_bootstrap.models import PublishedPort
from tests.unit.gateway.specs import container_of
from tests.unit.signs import ENDINGS, SIGNS, SPECIFIC_FIRST

ENTRYPOINT_PARTS = Path(__file__).parents[2] / "deploy" / "docker"
ABOUT = About(
    gateway="g1", node="openshell-g1", image="rancher/k3s:v1", address="127.0.0.1", port=27761
)


def of_line(line: str) -> Diagnosis | None:
    return diagnose(Signs(lines=["something before", line, "something after"]), ABOUT)


@pytest.mark.parametrize(("line", "cause"), SIGNS)
def test_a_known_sign_has_a_cause_and_a_remedy(line, cause):
    """R10, R15, R56, R60, R82, R96, R97, R102: the cause is named instead of a bare time-out."""
    known = of_line(line)
    assert known is not None
    assert (known.cause, known.evidence) == (cause, line)
    assert known.remedies


@pytest.mark.parametrize(("exit_code", "oom_killed", "cause"), ENDINGS)
def test_the_end_of_the_container_is_a_sign(exit_code, oom_killed, cause):
    known = diagnose(Signs(exit_code=exit_code, oom_killed=oom_killed), ABOUT)
    assert known is not None
    assert (known.cause, known.evidence) == (cause, "")


def test_every_cause_is_reached_by_a_sign():
    assert {cause for _, cause in SIGNS} | {cause for _, _, cause in ENDINGS} == {
        cause.name for cause in CAUSES
    }


def test_every_cause_has_a_name_of_its_own():
    names = [cause.name for cause in CAUSES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["k3s is up and running"],
        ["dial tcp 127.0.0.1:6444: connect: connection refused"],
        ["Node password rejected? no"],
        ['"Starting controller" name="aggregator-proxy-cert"'],
        ["openshell: node name openshell-g1 (from OPENSHELL_NODE_NAME)"],
    ],
)
def test_what_is_not_known_is_not_guessed(lines):
    assert diagnose(Signs(lines=lines), ABOUT) is None
    assert diagnose(Signs(lines=lines, exit_code=0), ABOUT) is None
    assert diagnose(Signs(lines=lines, exit_code=1), ABOUT) is None


@pytest.mark.parametrize(("specific", "general"), SPECIFIC_FIRST)
@pytest.mark.parametrize("in_order", [True, False])
def test_the_most_specific_cause_wins_whatever_was_said_last(specific, general, in_order):
    lines = [specific, general] if in_order else [general, specific]
    known, alone = diagnose(Signs(lines=lines), ABOUT), of_line(specific)
    assert known is not None
    assert alone is not None
    assert known.cause == alone.cause != of_line(general)


@pytest.mark.parametrize("line", [line for line, _ in SIGNS])
@pytest.mark.parametrize("exit_code", [64, 70, 71, 137])
def test_what_was_said_counts_more_than_how_it_ended(line, exit_code):
    said, both = of_line(line), diagnose(Signs(lines=[line], exit_code=exit_code), ABOUT)
    assert said == both


def test_a_node_that_was_killed_for_memory_was_not_killed_by_somebody():
    known = diagnose(Signs(exit_code=137, oom_killed=True), ABOUT)
    assert known is not None
    assert known.cause == "memory"


def test_the_gateways_own_words_stand_in_cause_and_remedy():
    known = of_line("openshell: refused: volume-locked: x")
    assert known is not None
    assert known.brief == "Another node runs on the data volume openshell-cluster-g1"
    assert "--filter volume=openshell-cluster-g1`" in known.remedies[0]
    taken = of_line("Bind for 127.0.0.1:27761 failed: port is already allocated")
    assert taken is not None
    assert taken.brief == "The port 127.0.0.1:27761 is taken"
    assert "publish=27761" in taken.remedies[0]
    pull = of_line('ImagePullBackOff: Back-off pulling image "a.example/b:1"')
    assert pull is not None
    assert pull.brief == "The node openshell-g1 cannot pull the image a.example/b:1"


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_every_placeholder_is_one_that_is_filled(cause):
    groups = set(cause.line.groupindex) if cause.line and not cause.exit_codes else set()
    known = set(ABOUT.words) | groups
    for text in (cause.brief, *cause.remedies):
        assert {field for _, field, _, _ in Formatter().parse(text) if field is not None} <= known


@pytest.mark.parametrize("line", [line for line, _ in SIGNS])
def test_nothing_is_left_open(line):
    known = of_line(line)
    assert known is not None
    for text in (known.brief, *known.remedies):
        assert "None" not in text
        assert not re.search(r"[{}]", text)


def test_a_changed_token_on_the_volume_is_not_answered_with_a_flag_that_start_would_refuse():
    known = of_line(
        "failed to bootstrap cluster data: bootstrap data already found and encrypted "
        "with different token"
    )
    assert known is not None
    assert "`server/token` was replaced" in known.remedies[0]
    assert known.remedies[1].startswith("If the volume has none: start with `--token-file`")


DESTRUCTIVE = re.compile(
    r"destroy|prune|\brm\b|delet|\bremov|wipe|format|fresh volume", re.IGNORECASE
)
SAYS_SO = re.compile(
    r"takes all data|hold no data|holds no data|nothing was removed|but no volume", re.IGNORECASE
)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_no_advice_takes_data_without_saying_so(cause):
    """R22, R82: the report behind the promise lost its data by a repair."""
    for remedy in cause.remedies:
        if DESTRUCTIVE.search(remedy):
            assert SAYS_SO.search(remedy)
        assert "volume prune" not in remedy
        assert "--volumes" not in remedy


def test_every_refusal_that_the_entrypoint_knows_has_a_cause_of_its_own():
    texts = [path.read_text() for path in ENTRYPOINT_PARTS.rglob("*.sh")]
    slugs = {slug for text in texts for slug in re.findall(r"refuse \d+ ([a-z-]+)", text)}
    assert {"volume-locked", "token-differs", "token-files-lost"} <= slugs
    for slug in slugs:
        known = of_line(f"openshell: refused: {slug}: x")
        assert known is not None
        assert known.cause == slug
        assert known.refused


def test_every_exit_code_of_the_entrypoint_is_known():
    text = (ENTRYPOINT_PARTS / "cluster-entrypoint.sh").read_text()
    codes = {int(code) for code in re.findall(r"^#   (\d\d)  ", text, re.MULTILINE)}
    assert codes >= {64, 70, 71, 75, 78}
    for code in codes - {0}:
        assert diagnose(Signs(exit_code=code), ABOUT) is not None


REFUSED = {
    "volume-locked", "token-differs", "token-files-lost", "store-damaged", "store-lost", "refused",
    "datastore-of-another-token", "newer-than-datastore", "refused-end",
}  # fmt: skip


def test_only_what_trying_again_cannot_change_stops_a_node():
    assert {cause.name for cause in CAUSES if cause.refused} == REFUSED


def test_a_wait_looks_for_what_it_acts_on_alone():
    assert {cause.name for cause in DECISIVE} == REFUSED - {"refused-end"} | {
        "node-password-rejected"
    }
    full = Signs(lines=["write: no space left on device"])
    assert diagnose(full, ABOUT, causes=DECISIVE) is None
    refused = diagnose(Signs(lines=["openshell: refused: x: y"]), ABOUT, causes=DECISIVE)
    assert refused is not None


@given(st.lists(st.text(), max_size=5), st.integers(0, 255) | st.none(), st.booleans())
def test_whatever_a_node_says_never_breaks_the_diagnosis(lines, exit_code, oom_killed):
    known = diagnose(Signs(lines=lines, exit_code=exit_code, oom_killed=oom_killed), ABOUT)
    assert known is None or known.brief


def test_a_container_tells_whose_trouble_it_is():
    container = container_of(
        name="openshell-cluster-g1",
        hostname="openshell-g1",
        image="rancher/k3s:v1",
        ports=(PublishedPort("127.0.0.1", 8080, 80), PublishedPort("127.0.0.1", 27761, 6443)),
    )
    assert About.of(container) == ABOUT


@pytest.mark.parametrize(
    ("changes", "exit_code", "oom_killed"),
    [
        ({"status": "exited", "exit_code": 70}, 70, False),
        ({"status": "restarting", "exit_code": 137, "oom_killed": True}, 137, True),
        ({"status": "running", "exit_code": 137}, None, False),
        ({"status": "exited", "exit_code": 128, "started_at": ""}, None, False),
    ],
)
def test_only_an_end_of_the_present_life_is_a_sign(changes, exit_code, oom_killed):
    """The engine tells the exit code of the last life while the next one runs."""
    signs = Signs.of(replace(container_of(), **changes), ["a line"])
    assert (signs.exit_code, signs.oom_killed) == (exit_code, oom_killed)


def test_what_the_engine_says_of_a_container_is_a_sign():
    ended = replace(container_of(), status="exited", error="network ab12 not found")
    known = diagnose(Signs.of(ended, []), ABOUT)
    assert known is not None
    assert known.cause == "network-gone"
    assert Signs.of(None, ["x"]) == Signs(lines=["x"])
