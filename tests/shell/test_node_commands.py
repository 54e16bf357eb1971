"""The small scripts that the product runs in a node, under the shells that a node may have."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from openshell_bootstrap.cluster.kubectl import (
    AWAIT_KUBELET_SCRIPT,
    Deletion,
    Kubectl,
    Outcome,
)
from openshell_bootstrap.cluster.node_exec import ReadingAlong
from openshell_bootstrap.cluster.volumes import observe_folders
from openshell_bootstrap.errors import (
    ClusterError,
    ClusterUnreachableError,
    NodeRefusedError,
)
from openshell_bootstrap.models import Completed

UIDS = {"u-gone": "Error from server (NotFound): no\\nsecond line", "u-no": "(Forbidden): no"}
UIDS["u-other"] = "Error from server (Conflict): other"

KUBECTL = """\
#!/bin/sh
options=$(cat)
printf '%s|' "$@" >>"$LOG"
printf '%s\\n' "$options" >>"$LOG"
case $options in
{cases}
*) echo '{"kind":"List","items":[]}' ;;
esac
"""


@dataclass
class ShellNode:
    """Runs a node's commands here, with a kubectl that tells what it was given."""

    shell: list[str]
    folder: Path

    def __post_init__(self) -> None:
        cases = "\n".join(
            f"*{uid}*) printf {shlex.quote(message)} >&2; exit 1 ;;"
            for uid, message in UIDS.items()
        )
        kubectl = self.folder / "kubectl"
        kubectl.write_text(KUBECTL.replace("{cases}", cases))
        kubectl.chmod(0o755)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        assert argv[0] == "sh"
        words = [word.replace("/run/openshell", str(self.folder)) for word in argv[1:]]
        done = subprocess.run(
            [*self.shell, *words],
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env={
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "LOG": str(self.folder / "log"),
            },
        )
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def log(self) -> list[str]:
        return (self.folder / "log").read_text().splitlines()


@pytest.fixture
def node(shell: list[str], tmp_path: Path) -> ShellNode:
    return ShellNode(shell, tmp_path)


def test_each_deletion_gets_its_own_options(node):
    deletions = [Deletion(url="/a", uid="u1", is_required=True), Deletion(url="/b?$(x)", uid="u2")]
    outcomes = Kubectl(node).delete(deletions)
    assert outcomes == {"/a": Outcome("done"), "/b?$(x)": Outcome("done")}
    first, second = node.log()
    assert first.startswith("delete|--request-timeout=30s|--raw|/a|-f|-|{")
    assert '"uid":"u1"' in first
    assert second.startswith("delete|--request-timeout=30s|--raw|/b?$(x)|-f|-|{")
    assert '"uid":"u2"' in second


@pytest.mark.parametrize(
    ("uid", "is_required", "kinds"),
    [
        ("u-gone", True, ["gone", "done"]),
        ("u-gone", False, ["gone", "done"]),
        ("u-other", True, ["conflict", "skipped"]),
        ("u-other", False, ["conflict", "done"]),
        ("u-no", True, ["refused", "skipped"]),
        ("u-no", False, ["refused", "done"]),
    ],
)
def test_a_required_deletion_that_fails_ends_the_rest(node, uid, is_required, kinds):
    first = Deletion(url="/a", uid=uid, is_required=is_required)
    outcomes = Kubectl(node).delete([first, Deletion(url="/b", uid="u2")])
    assert [outcome.kind for outcome in outcomes.values()] == kinds


def test_a_message_of_several_lines_is_told_in_one(node):
    outcomes = Kubectl(node).delete([Deletion(url="/a", uid="u-gone")])
    assert outcomes["/a"].message == "Error from server (NotFound): no second line"


def test_nothing_to_delete_runs_nothing(node):
    assert Kubectl(node).delete([]) == {}
    assert not (node.folder / "log").exists()


@pytest.mark.parametrize("content", ["1700000000", "1700000000\n"])
def test_what_the_cluster_holds_comes_with_the_start_that_said_it(node, content):
    (node.folder / "k3s-started").write_text(content)
    seen = Kubectl(node).get_json_since_start("nodes", "pods")
    assert seen is not None
    assert seen.started_s == 1700000000
    assert node.log() == ["get|nodes,pods|-A|-o|json|--request-timeout=30s|"]


@pytest.mark.parametrize("content", [None, ""])
def test_before_k3s_was_started_kubectl_is_not_asked(node, content):
    if content is not None:
        (node.folder / "k3s-started").write_text(content)
    assert Kubectl(node).get_json_since_start("nodes") is None
    assert not (node.folder / "log").exists()


def test_a_refusal_to_start_k3s_is_told_with_its_reason(node):
    (node.folder / "refused").write_text("store-damaged: no database\n")
    with pytest.raises(NodeRefusedError) as refused:
        Kubectl(node).get_json_since_start("nodes")
    assert refused.value.details == "store-damaged: no database"
    assert not refused.value.transient
    assert not (node.folder / "log").exists()


def test_a_kubectl_that_fails_is_not_hidden(node):
    (node.folder / "k3s-started").write_text("1\n")
    (node.folder / "kubectl").write_text("#!/bin/sh\necho connection refused >&2\nexit 1\n")
    with pytest.raises(ClusterUnreachableError):
        Kubectl(node).get_json_since_start("nodes")


def test_folders_are_told_where_they_really_are(node, tmp_path):
    for name in ("plain", "with space", "-dash", "ümlaut", "$(x)"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("plain")
    (tmp_path / "broken").symlink_to("nowhere")
    found = observe_folders(node, [str(path) for path in sorted(tmp_path.iterdir())])
    told = {Path(path).name: where and Path(where).name for path, where in found.items()}
    assert told == {
        "$(x)": "$(x)",
        "-dash": "-dash",
        "broken": None,
        "file": None,
        "kubectl": None,
        "link": "plain",
        "plain": "plain",
        "with space": "with space",
        "ümlaut": "ümlaut",
    }


@pytest.mark.parametrize("content", [b"", b"one line", b"a: 1\n\nb: 2\n", bytes(range(256))])
def test_a_file_is_read_along_with_a_command(node, content):
    (node.folder / "k3s-started").write_text("1\n")
    (node.folder / "along").write_bytes(content)
    along = ReadingAlong(node, str(node.folder / "along"))
    seen = Kubectl(along).get_json_since_start("nodes", "pods")
    assert seen is not None
    assert (seen.started_s, along.content) == (1, content)
    assert node.log() == ["get|nodes,pods|-A|-o|json|--request-timeout=30s|"]


def test_without_the_file_the_command_is_not_run(node):
    along = ReadingAlong(node, str(node.folder / "none"))
    with pytest.raises(ClusterError):
        Kubectl(along).get_json_since_start("nodes")
    assert along.content is None
    assert not (node.folder / "log").exists()


LISTENS = "   1: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A 0\n"
CONNECTED = "   1: 0100007F:280A 0100007F:8F2C 01 00000000:00000000\n"


def test_a_kubelet_that_listens_is_not_waited_for(node, tmp_path):
    (tmp_path / "tcp6").write_text(LISTENS)
    done = node.run(["sh", "-c", AWAIT_KUBELET_SCRIPT.replace("/proc/net", str(tmp_path))])
    assert (done.exit_status, done.stdout, done.stderr) == (0, b"", b"")


def test_a_kubelet_is_waited_for_until_it_listens(node, tmp_path):
    (tmp_path / "tcp").write_text(CONNECTED)
    (tmp_path / "sleep").write_text(f'#!/bin/sh\ncp "{tmp_path}/later" "{tmp_path}/tcp6"\n')
    (tmp_path / "sleep").chmod(0o755)
    (tmp_path / "later").write_text(LISTENS)
    script = AWAIT_KUBELET_SCRIPT.replace("/proc/net", str(tmp_path)).replace(
        "sleep", str(tmp_path / "sleep")
    )
    assert node.run(["sh", "-c", script]).exit_status == 0
    assert (tmp_path / "tcp6").exists()


def test_a_kubelet_is_not_waited_for_where_k3s_is_refused(node, tmp_path):
    (tmp_path / "refused").touch()
    script = AWAIT_KUBELET_SCRIPT.replace("/proc/net", str(tmp_path)).replace("sleep 0.1", "exit 9")
    done = node.run(["sh", "-c", script])
    assert (done.exit_status, done.stderr) == (0, b"")


@pytest.mark.parametrize("first", ["", "1700000000\n"])
def test_a_kubelet_is_not_waited_for_once_k3s_was_started_again(node, tmp_path, first):
    """The first start does not count as one again."""
    started = tmp_path / "k3s-started"
    if first:
        started.write_text(first)
    starts = f"echo $((1700000000 + turns / 2)) >{started}"
    script = AWAIT_KUBELET_SCRIPT.replace("/proc/net", str(tmp_path)).replace(
        "sleep 0.1", f"turns=$((turns + 1)); {starts}"
    )
    done = node.run(["sh", "-c", f"turns=0; {script}"])
    assert (done.exit_status, done.stderr) == (0, b"")
    assert started.read_text() == "1700000001\n"


def test_a_kubelet_that_never_listens_is_not_waited_for_for_ever(node, tmp_path):
    (tmp_path / "tcp").write_text(CONNECTED)
    script = AWAIT_KUBELET_SCRIPT.replace("/proc/net", str(tmp_path)).replace("sleep 0.1", ":")
    assert node.run(["sh", "-c", script]).exit_status == 0
