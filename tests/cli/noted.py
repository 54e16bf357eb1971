"""The command line over operations that only note how they were called."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from openshell_bootstrap.cli.main import app
from openshell_bootstrap.cli.wiring import Wiring
from openshell_bootstrap.events import Event
from openshell_bootstrap.gateway import results

STARTED = results.Started(
    name="t1",
    node_name="openshell-t1",
    endpoint="https://127.0.0.1:16443",
    kubeconfig="/home/u/.config/openshell/gateways/t1/kubeconfig",
    image="rancher/k3s:v1.35.3-k3s1",
    actions=(results.PlannedAction(what="make the container", why="there is none"),),
    notices=("the inotify limit is low",),
)
LOSSES = results.Losses(
    name="t1",
    container="openshell-cluster-t1",
    volume="openshell-cluster-t1",
    network="openshell-cluster-t1",
    claims=("default/data-0", "default/data-1"),
    volume_created_at="2026-01-02T03:04:05Z",
)
STATUS = results.Status(
    name="t1",
    word="ready",
    cause="",
    next_step="",
    exit_code=0,
    container="running",
    container_name="openshell-cluster-t1",
    health="healthy",
    node=results.NodeStatus(name="openshell-t1", ready=True, version="v1.35.3+k3s1"),
    workloads=(results.WorkloadStatus(name="coredns", ready=1, wanted=1),),
    endpoint="https://127.0.0.1:16443",
    volume="openshell-cluster-t1",
    volume_present=True,
    network_present=True,
    image="rancher/k3s:v1.35.3-k3s1",
)
ROWS = (
    results.GatewayRow(
        name="t1",
        active=True,
        container="running",
        endpoint="https://127.0.0.1:16443",
        image="rancher/k3s:v1.35.3-k3s1",
        managed=True,
    ),
    results.GatewayRow(
        name="nemoclaw", active=False, container="absent", endpoint="", image="", managed=False
    ),
)
INFO = results.Info(
    name="t1",
    node_name="openshell-t1",
    container="openshell-cluster-t1",
    volume="openshell-cluster-t1",
    network="openshell-cluster-t1",
    endpoint="https://127.0.0.1:16443",
    image="rancher/k3s:v1.35.3-k3s1",
    kubeconfig="/k",
    data_mountpoint="/var/lib/docker/volumes/openshell-cluster-t1/_data",
    cluster_id="ab",
    k3s_version="v1.35.3+k3s1",
    settings={"image": "x", "ports": ""},
)

CHECKED = results.Checked(
    name="t1",
    checks=(
        results.CheckedMatter(
            check="disk",
            severity="problem",
            brief="Not enough disk space",
            details="1 MiB is free",
            remedies=("free some",),
            exit_code=5,
        ),
        results.CheckedMatter(check="clock", severity="fine", brief="The clocks agree"),
    ),
    exit_code=5,
)


@dataclass
class Noted(Wiring):
    """Answers with what a test put in; a request is built and a name found as ever."""

    tmp: Path
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    command: str = ""

    def _answer(self, operation: str, *args: Any, default: Any = None) -> Any:
        self.calls.append((operation, *args))
        answer = self.answers.get(operation, default)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _tell(self, report: Callable[[Event], None]) -> None:
        for event in self.events:
            report(event)

    def start(self, request, report):
        self._tell(report)
        return self._answer("start", request, default=STARTED)

    def plan_start(self, request):
        planned = results.Planned(name=request.name, actions=STARTED.actions)
        return self._answer("plan_start", request, default=planned)

    def stop(self, name, grace_s, report):
        self._tell(report)
        stopped = results.Stopped(name=name, was_running=True, exit_code=0)
        return self._answer("stop", name, grace_s, default=stopped)

    def restart(self, request, report):
        self._tell(report)
        return self._answer("restart", request, default=STARTED)

    def losses(self, name):
        return self._answer("losses", name, default=LOSSES)

    def destroy(self, name, report):
        self._tell(report)
        destroyed = results.Destroyed(name=name, removed=("volume openshell-cluster-t1",))
        return self._answer("destroy", name, default=destroyed)

    def status(self, name, *, usage):
        return self._answer("status", name, usage, default=STATUS)

    def list_gateways(self):
        return self._answer("list", default=ROWS)

    def select(self, name):
        return self._answer("select", name, default=results.Selected(name=name))

    def info(self, name):
        return self._answer("info", name, default=INFO)

    def logs(self, name, *, tail, follow, since):
        return iter(self._answer("logs", name, tail, follow, since, default=(b"one", b"t\xffwo")))

    def exec_in_node(self, name, argv, *, tty):
        return self._answer("exec", name, list(argv), tty, default=0)

    def kubectl(self, name, arguments, *, tty):
        return self._answer("kubectl", name, list(arguments), tty, default=0)

    def kubeconfig(self, name, *, internal):
        kubeconfig = results.Kubeconfig(name=name, content="apiVersion: v1\n")
        return self._answer("kubeconfig", name, internal, default=kubeconfig)

    def merge_kubeconfig(self, name, *, use):
        changed = results.KubeconfigChanged(path="/k", context=f"openshell-{name}", changed=True)
        return self._answer("merge", name, use, default=changed)

    def remove_kubeconfig(self, name):
        changed = results.KubeconfigChanged(path="/k", context=f"openshell-{name}", changed=False)
        return self._answer("remove", name, default=changed)

    def check(self, name):
        return self._answer("check", name, default=CHECKED)

    def bundle(self, name, file):
        saved = results.DiagnosticsSaved(name=name, path=str(file or "/d/x-bundle.tar.gz"))
        return self._answer("bundle", name, file, default=saved)

    def versions(self, name):
        versions = results.Versions(client="0.1.0", gateway=name or "", k3s="v1" if name else "")
        return self._answer("versions", name, default=versions)


@dataclass
class Cli:
    """Runs command lines."""

    wiring: Noted

    def __call__(self, *words: str, stdin: str | None = None) -> Result:
        """Run one; an exception that escapes the handler fails the test."""
        runner = CliRunner()
        return runner.invoke(
            app, words, obj=self.wiring, prog_name="openshell", input=stdin, catch_exceptions=False
        )

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        """What was called, with what."""
        return self.wiring.calls

    def answer(self, **answers: Any) -> None:
        """Set what operations answer, or raise."""
        self.wiring.answers.update(answers)
