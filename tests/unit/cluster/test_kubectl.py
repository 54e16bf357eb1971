"""What goes into kubectl and how its answers are read."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from openshell_bootstrap.cluster.kubectl import (
    DELETE_SCRIPT,
    SINCE_START_SCRIPT,
    Deletion,
    Kubectl,
    Outcome,
    build_url,
)
from openshell_bootstrap.cluster.volumes import FOLDERS_SCRIPT
from openshell_bootstrap.errors import (
    ClusterError,
    ClusterUnreachableError,
    NoSuchResourceError,
    ResourceConflictError,
)
from openshell_bootstrap.models import Completed


@dataclass
class Answers:
    """A node that gives one answer to everything."""

    stdout: str = ""
    stderr: str = ""
    exit_status: int = 0
    runs: list[tuple[tuple[str, ...], bytes]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        self.runs.append((tuple(argv), stdin))
        return Completed(tuple(argv), self.exit_status, self.stdout.encode(), self.stderr.encode())


@pytest.mark.parametrize(
    ("stderr", "error", "transient"),
    [
        ('Error from server (NotFound): nodes "x" not found', NoSuchResourceError, False),
        ("Error from server (Conflict): Operation cannot be…", ResourceConflictError, False),
        ('Error from server (Conflict): pv "EOF" changed', ResourceConflictError, False),
        ("Error from server (Forbidden): nodes is forbidden", ClusterError, False),
        ("error: You must be logged in to the server (Unauthorized)", ClusterError, False),
        ("", ClusterError, False),
        (
            "The connection to the server 127.0.0.1:6443 was refused - did you specify…",
            ClusterUnreachableError,
            True,
        ),
        ("Unable to connect to the server: EOF", ClusterUnreachableError, True),
        ("Error from server (ServiceUnavailable): the server…", ClusterUnreachableError, True),
        ("Error from server (InternalError): an error on the…", ClusterUnreachableError, True),
        ("Error from server: etcdserver: request timed out", ClusterUnreachableError, True),
        (
            "Unable to connect to the server: net/http: TLS handshake timeout",
            ClusterUnreachableError,
            True,
        ),
    ],
)
def test_a_failure_is_named_by_what_kubectl_said(stderr, error, transient):
    with pytest.raises(ClusterError) as caught:
        Kubectl(Answers(stderr=stderr, exit_status=1)).get_json("nodes")
    assert type(caught.value) is error
    assert caught.value.transient is transient
    assert caught.value.details == (stderr or "exit status 1")


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        "No resources found",
        '{"kind":"List","items":',
        '{"kind":"Node","metadata":{"name":"n"}}',
        '{"kind":"List"}',
        '{"kind":"List","items":[{"metadata":{}}]}',
    ],
)
def test_an_answer_that_cannot_be_read_is_never_an_empty_list(stdout):
    with pytest.raises(ClusterError, match="cannot be read"):
        Kubectl(Answers(stdout=stdout)).get_json("nodes")


def test_a_read_asks_for_all_kinds_at_once_and_keeps_each_object_whole():
    node = Answers('{"kind":"List","items":[{"kind":"Node","x":{"y": 1}},{"kind":"Pod"}]}')
    found = Kubectl(node).get_json("nodes", "pods")
    assert [(each.kind, each.raw) for each in found] == [
        ("Node", b'{"kind":"Node","x":{"y": 1}}'),
        ("Pod", b'{"kind":"Pod"}'),
    ]
    assert node.runs == [
        (("kubectl", "get", "nodes,pods", "-A", "-o", "json", "--request-timeout=30s"), b"")
    ]


def test_a_read_of_one_namespace():
    node = Answers('{"kind":"List","items":[]}')
    assert Kubectl(node).get_json("pods", namespace="kube-system") == ()
    assert node.runs[0][0][3:5] == ("-n", "kube-system")


@pytest.mark.parametrize("namespace", ["-A", "a b", "Default", "../x"])
def test_a_namespace_that_cannot_be_is_refused(namespace):
    with pytest.raises(ClusterError, match="no name"):
        Kubectl(Answers()).get_json("pods", namespace=namespace)


def test_a_start_that_is_no_number_is_not_taken_for_one():
    with pytest.raises(ClusterError, match="time of start"):
        Kubectl(Answers('soon\n{"kind":"List","items":[]}')).get_json_since_start("nodes")


def test_a_raw_read_gives_the_answer_as_it_is():
    node = Answers("ok")
    assert Kubectl(node).get_raw("/readyz?verbose=1") == b"ok"
    assert node.runs[0][0][-2:] == ("--raw", "/readyz?verbose=1")


@pytest.mark.parametrize("path", ["", "readyz", "--x", "/a b", "http://elsewhere/"])
def test_a_raw_path_that_cannot_be_is_refused(path):
    with pytest.raises(ClusterError, match="no path"):
        Kubectl(Answers()).get_raw(path)


def test_each_replaced_object_has_its_own_outcome():
    node = Answers(
        stdout="persistentvolume/a\n",
        stderr=(
            'Error from server (Conflict): error when replacing "STDIN": Operation cannot be '
            'fulfilled on persistentvolumes "b": the object has been modified\n'
            'Error from server (NotFound): error when replacing "STDIN": persistentvolumes "c" '
            "not found\n"
            'The PersistentVolume "d" is invalid: \n* spec: Forbidden: no\n* nodeAffinity: no\n'
        ),
        exit_status=1,
    )
    outcomes = Kubectl(node).replace(dict.fromkeys("abcd", b'{"kind":"x"}'))
    assert {name: outcome.kind for name, outcome in outcomes.items()} == {
        "a": "done",
        "b": "conflict",
        "c": "gone",
        "d": "refused",
    }
    assert outcomes["d"].message.endswith("* nodeAffinity: no")
    assert node.runs[0][1].count(b'{"kind":"x"}') == 4


def test_a_replace_that_nobody_answered_says_so_of_none():
    node = Answers(stdout="persistentvolume/a\n", stderr="connection refused", exit_status=1)
    with pytest.raises(ClusterUnreachableError):
        Kubectl(node).replace({"a": b"{}", "b": b"{}"})


def test_a_deletion_carries_its_preconditions_over_stdin():
    node = Answers(stdout="0 /api/v1/nodes/n\n")
    outcomes = Kubectl(node).delete(
        [
            Deletion(url="/api/v1/nodes/n", uid="u1", resource_version="7", is_required=True),
            Deletion(url="/api/v1/namespaces/d/pods/p", uid="u2", grace_s=0),
        ]
    )
    assert outcomes == {
        "/api/v1/nodes/n": Outcome("done"),
        "/api/v1/namespaces/d/pods/p": Outcome("skipped"),
    }
    ((argv, stdin),) = node.runs
    assert argv == ("sh", "-c", DELETE_SCRIPT)
    assert stdin.decode().splitlines() == [
        "required",
        "/api/v1/nodes/n",
        '{"kind":"DeleteOptions","apiVersion":"v1",'
        '"preconditions":{"uid":"u1","resourceVersion":"7"}}',
        "optional",
        "/api/v1/namespaces/d/pods/p",
        '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u2"},'
        '"gracePeriodSeconds":0}',
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("0 /u", "done"),
        ("1 /u Error from server (NotFound): pods x not found", "gone"),
        ("1 /u Error from server (Conflict): the UID in the precondition", "conflict"),
        ("1 /u Error from server (Forbidden): no", "refused"),
        ("", "skipped"),
    ],
)
def test_each_deleted_object_has_its_own_outcome(line, kind):
    outcomes = Kubectl(Answers(stdout=line)).delete([Deletion(url="/u", uid="u")])
    assert outcomes["/u"].kind == kind


@pytest.mark.parametrize("line", ["2 /u", "0 /other", "garbage"])
def test_an_outcome_that_cannot_be_read_is_an_error(line):
    with pytest.raises(ClusterError, match="cannot be read"):
        Kubectl(Answers(stdout=line)).delete([Deletion(url="/u", uid="u")])


def test_a_deletion_that_nobody_answered_is_transient():
    node = Answers(stdout="1 /u Unable to connect to the server: EOF")
    with pytest.raises(ClusterUnreachableError):
        Kubectl(node).delete([Deletion(url="/u", uid="u")])


@pytest.mark.parametrize(
    ("name", "namespace", "url"),
    [
        ("n.x-1", "", "/api/v1/nodes/n.x-1"),
        ("p", "kube-system", "/api/v1/namespaces/kube-system/nodes/p"),
    ],
)
def test_a_url_is_made_of_names_that_are_names(name, namespace, url):
    assert build_url("nodes", name, namespace=namespace) == url


@pytest.mark.parametrize("name", ["", "../nodes", "a/b", "A", "a\nb", "a?x=1", "-a", "a b"])
def test_a_url_is_not_made_of_anything_else(name):
    with pytest.raises(ClusterError, match="no name"):
        build_url("nodes", name)


@pytest.mark.parametrize("script", [DELETE_SCRIPT, SINCE_START_SCRIPT, FOLDERS_SCRIPT])
def test_the_nodes_shell_scripts_are_clean(script):
    checked = subprocess.run(
        [shutil.which("shellcheck", path=".venv/bin") or "shellcheck", "--shell=sh", "-"],
        input=script.encode(),
        capture_output=True,
        check=False,
    )
    assert checked.stdout.decode() == ""
    assert checked.returncode == 0
