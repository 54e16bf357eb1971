"""What a node's last lines mean."""

import re
from pathlib import Path

import pytest

from openshell_bootstrap.diagnosis import _KNOWN, diagnose

ENTRYPOINT_PARTS = Path(__file__).parents[2] / "deploy" / "docker"


SIGNS = [
    ("openshell: refused: volume-locked: another node runs", "Another node runs", True),
    ("openshell: refused: token-differs: the given token", "not the one", True),
    ("openshell: refused: token-files-lost: server/token", "lost both files", True),
    ("openshell: refused: something-new: whatever", "refuses to start", True),
    (
        'level=fatal msg="starting kubernetes: preparing server: failed to bootstrap cluster '
        'data: bootstrap data already found and encrypted with different token"',
        "another token",
        True,
    ),
    (
        "/x/server/tls newer than datastore and could cause a cluster outage. Remove the "
        "file(s) from disk and restart to be recreated from datastore.",
        "k3s will not choose",
        True,
    ),
    ("kine: database disk image is malformed", "damaged", True),
    ("kine: file is not a database", "damaged", True),
    ("openshell: refused: store-damaged: /x/state.db is no", "damaged", True),
    ("openshell: refused: store-lost: /x/server/db does not", "datastore is gone", True),
    (
        "Waiting to retrieve agent configuration; server is not ready: Node password rejected, "
        "duplicate hostname or contents of '/etc/rancher/node/password' may not match server "
        "node-passwd entry",
        "by another password",
        False,
    ),
    ("write /var/lib/x: no space left on device", "full", False),
    ("kine: database or disk is full", "full", False),
    (
        'cannot enter cgroupv2 "/sys/fs/cgroup/kubepods" with domain controllers -- it is in an '
        "invalid state",
        "cgroup",
        False,
    ),
    ("failed to find cpuset cgroup (v2)", "cgroup controller", False),
    ("pids cgroup controller not found", "cgroup controller", False),
    ("kubelet is configured to not run on a host using cgroup v1", "cgroup v1", False),
    ("inotify_init: too many open files", "file handles or inotify", False),
    ("unable to select an IP from default routes", "no default route", False),
    ("Error: unknown flag: --nope", "does not know an argument", False),
    ("flag provided but not defined: -nope", "does not know an argument", False),
    ("unable to apply caps: operation not permitted", "all capabilities", False),
]


@pytest.mark.parametrize(("line", "brief", "refused"), SIGNS)
def test_a_known_sign_has_a_cause_and_a_remedy(line, brief, refused):
    """R15, R82, R96, R97: the cause is named instead of a bare time-out."""
    known = diagnose(["something before", line, "something after"])
    assert known is not None
    assert brief in known.brief
    assert known.refused is refused
    assert known.remedies


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["k3s is up and running"],
        ["dial tcp 127.0.0.1:6444: connect: connection refused"],
        ["Node password rejected? no"],
    ],
)
def test_what_is_not_known_is_not_guessed(lines):
    assert diagnose(lines) is None


def test_the_most_specific_cause_wins():
    known = diagnose(["no space left on device", "openshell: refused: volume-locked: x"])
    assert known is not None
    assert known.refused


def test_every_refusal_that_the_entrypoint_knows_has_a_cause_of_its_own():
    texts = [path.read_text() for path in ENTRYPOINT_PARTS.rglob("*.sh")]
    slugs = {slug for text in texts for slug in re.findall(r"refuse \d+ ([a-z-]+)", text)}
    assert {"volume-locked", "token-differs", "token-files-lost"} <= slugs
    general = diagnose(["openshell: refused: no-such-slug: x"])
    assert all(diagnose([f"openshell: refused: {slug}: x"]) != general for slug in slugs)


def test_no_cause_is_hidden_behind_another():
    reached = {diagnose([line]) for line, _, _ in SIGNS}
    assert reached == {known for _, known in _KNOWN}
