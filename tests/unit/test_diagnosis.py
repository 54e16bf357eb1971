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

ENTRYPOINT_PARTS = Path(__file__).parents[2] / "deploy" / "docker"
ABOUT = About(
    gateway="g1", node="openshell-g1", image="rancher/k3s:v1", address="127.0.0.1", port=27761
)

SIGNS = [
    ("openshell: refused: volume-locked: another node runs", "volume-locked"),
    ("openshell: refused: token-differs: the given token", "token-differs"),
    ("openshell: refused: token-files-lost: server/token", "token-files-lost"),
    ("openshell: refused: store-damaged: /x/state.db is no SQLite database", "store-damaged"),
    ("openshell: refused: store-lost: /x/server/db does not", "store-lost"),
    ("openshell: refused: something-new: whatever", "refused"),
    (
        'time="2026-01-01T00:00:00Z" level=fatal msg="starting kubernetes: preparing server: '
        "failed to bootstrap cluster data: bootstrap data already found and encrypted with "
        'different token"',
        "datastore-of-another-token",
    ),
    (
        "/var/lib/rancher/k3s/server/tls/client-ca.crt newer than datastore and could cause a "
        "cluster outage. Remove the file(s) from disk and restart to be recreated from datastore.",
        "newer-than-datastore",
    ),
    ("token CA hash does not match the Cluster CA certificate hash: a != b", "authority-differs"),
    (
        "Waiting to retrieve agent configuration; server is not ready: Node password rejected, "
        "duplicate hostname or contents of '/etc/rancher/node/password' may not match server "
        "node-passwd entry, try enabling a unique node name with the --with-node-id flag",
        "node-password-rejected",
    ),
    (
        "Node/openshell-g1: NodePasswordValidationFailed: Deferred node password secret "
        "validation failed: unable to verify hash for node: hash does not match",
        "node-password-differs",
    ),
    ("kine: database disk image is malformed", "store-damaged"),
    ("creating storage endpoint: building kine: file is not a database", "store-damaged"),
    ("write /var/lib/x: no space left on device", "disk-full"),
    ("kine: database or disk is full", "disk-full"),
    ("kine: disk I/O error", "disk-failing"),
    ("attempt to write a readonly database", "disk-read-only"),
    ("open /var/lib/rancher/k3s/server/token: read-only file system", "disk-read-only"),
    ("panic: page 43 already freed", "image-store-damaged"),
    ('level=error msg="error in txn" error="database is locked"', "database-locked"),
    (
        "driver failed programming external connectivity on endpoint openshell-cluster-g1 (ab): "
        "Bind for 127.0.0.1:27761 failed: port is already allocated",
        "port-taken",
    ),
    (
        "Error starting userland proxy: listen tcp4 127.0.0.1:27761: bind: address already in use",
        "port-taken",
    ),
    ("listen tcp :6443: bind: address already in use", "port-taken"),
    (
        "could not find an available, non-overlapping IPv4 address pool among the defaults to "
        "assign to the network",
        "no-address-pool",
    ),
    ("all predefined address pools have been fully subnetted", "no-address-pool"),
    ("network 2f1c77 not found", "network-gone"),
    (
        "OCI runtime create failed: runc create failed: unable to start container process: unable "
        "to apply caps: operation not permitted: unknown",
        "capabilities",
    ),
    (
        "AppArmor enabled on system but the docker-default profile could not be loaded",
        "apparmor",
    ),
    ("exec /opt/openshell/cluster-entrypoint.sh: exec format error", "other-architecture"),
    (
        'exec: "/opt/openshell/cluster-entrypoint.sh": stat /opt/x: no such file or directory',
        "not-a-node-image",
    ),
    ("runtime: failed to create new OS thread (have 9 already; errno=11)", "threads"),
    ("Memory cgroup out of memory: Killed process 12 (k3s)", "memory"),
    ('Error: invalid argument "no" for "--feature-gates" flag: missing bool value', "k3s-argument"),
    ("Error: unknown flag: --nope", "k3s-argument"),
    ("flag provided but not defined: -nope", "k3s-argument"),
    (
        'Failed to start ContainerManager: cannot enter cgroupv2 "/sys/fs/cgroup/kubepods" with '
        "domain controllers -- it is in an invalid state",
        "cgroup-not-empty",
    ),
    ("openshell: the container's cgroup still holds processes: 1 7", "cgroup-not-empty"),
    ("kubelet is configured to not run on a host using cgroup v1", "cgroup-v1-refused"),
    ('level=fatal msg="failed to find cpuset cgroup (v2)"', "cgroup-controller"),
    ("failed to find memory cgroup, you may need to add cgroup_memory=1", "cgroup-controller"),
    ("pids cgroup controller not found", "cgroup-controller"),
    ("mkdir /sys/fs/cgroup/memory/kubepods: read-only file system", "cgroup-read-only"),
    (
        '"overlayfs" snapshotter cannot be enabled for "/var/lib/rancher/k3s/agent/containerd", '
        'try using "fuse-overlayfs" or "native": failed to mount overlay: invalid argument',
        "overlay",
    ),
    (
        "Failed to set sysctl: open /proc/sys/net/bridge/bridge-nf-call-iptables: no such file or "
        "directory",
        "br-netfilter",
    ),
    ("flannel exited: failed to create vxlan interface: operation not supported", "vxlan"),
    ("iptables v1.8.8 (legacy): can't initialize iptables table `nat'", "iptables"),
    ("inotify_init: too many open files", "inotify"),
    ("openshell: no default route within 30 s: is the network internal", "no-default-route"),
    ("unable to select an IP from default routes.", "no-default-route"),
    (
        "x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is "
        "before 2026-01-01T00:00:00Z",
        "clock",
    ),
    (
        'Failed to pull image "rancher/mirrored-pause:3.6": toomanyrequests: You have reached your '
        "pull rate limit",
        "registry-limit",
    ),
    (
        'failed to pull image "r.example/x:1": x509: certificate signed by unknown authority',
        "registry-untrusted",
    ),
    ('failed to pull and unpack image "r.example/x:1": 401 unauthorized', "registry-denied"),
    (
        "dial tcp: lookup registry.example on 127.0.0.11:53: server misbehaving",
        "name-resolution",
    ),
    (
        "kube-system/coredns-1: coredns: ImagePullBackOff: Back-off pulling image "
        '"rancher/mirrored-coredns-coredns:1.14.2"',
        "image-pull",
    ),
    ("default/s1: Evicted: The node was low on resource: ephemeral-storage.", "evicted"),
    ("Node openshell-g1 status is now: NodeHasDiskPressure", "evicted"),
    (
        "Pod/default/s1: FailedScheduling: 0/1 nodes are available: 1 node(s) had volume node "
        "affinity conflict.",
        "volume-elsewhere",
    ),
    (
        "Pod/default/s1: FailedScheduling: 0/1 nodes are available: 1 Insufficient memory.",
        "no-room",
    ),
    (
        "Pod/kube-system/coredns-1: FailedCreatePodSandBox: Failed to create pod sandbox: rpc "
        'error: code = Unknown desc = failed to setup network for sandbox "ab": plugin type='
        '"flannel" failed (add)',
        "sandbox-failed",
    ),
    ("tls: failed to verify certificate: x509: certificate signed by unknown authority",
     "authority-unknown"),
]  # fmt: skip
ENDINGS = [
    (75, False, "volume-locked"),
    (64, False, "no-route-end"),
    (70, False, "k3s-keeps-ending"),
    (71, False, "cgroup-end"),
    (78, False, "refused-end"),
    (127, False, "not-a-node-image"),
    (137, True, "memory"),
    (137, False, "killed"),
]


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


SPECIFIC_FIRST = [
    ("openshell: refused: volume-locked: x", "no space left on device"),
    ("openshell: refused: store-damaged: x", "openshell: refused: something-new: x"),
    ("kine: database or disk is full", "database is locked"),
    ("kine: database disk image is malformed", "database is locked"),
    (
        'failed to pull image "r.example/x:1": x509: certificate signed by unknown authority',
        "x509: certificate signed by unknown authority",
    ),
    (
        'Failed to pull image "a/b:1": toomanyrequests',
        'ImagePullBackOff: Back-off pulling image "a/b:1"',
    ),
    (
        "lookup registry.example: no such host",
        'ErrImagePull: failed to pull image "registry.example/b:1"',
    ),
]


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
