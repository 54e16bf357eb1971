"""kubectl inside the node: the way by which gateway commands reach the cluster.

kubectl is a binary of about 200 MB, so one start of it counts: a read asks for several kinds at
once, and every change takes all its objects in one command. Output is JSON or names, never a
table. What goes into a command comes over stdin or as an argument of its own; nothing is ever
spliced into a shell's text.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import msgspec

from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.objects import Resource, parse
from openshell_bootstrap.errors import (
    ClusterError,
    ClusterUnreachableError,
    EngineError,
    NodeRefusedError,
    NoSuchResourceError,
    ResourceConflictError,
)
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S

REQUEST_TIMEOUT = "--request-timeout=30s"
"""So that a kubectl whose caller gave up does not hang in the node for ever."""

SINCE_START_SCRIPT = """\
started=$(cat /run/openshell/k3s-started 2>/dev/null) || started=
printf '%s\\n' "$started"
if [ -z "$started" ]; then
    cat /run/openshell/refused 2>/dev/null
    exit 0
fi
exec kubectl get "$@"
"""
"""When this k3s was started, then what it holds: one command, so that both are of one life.

PID 1 of the node writes the first file, whole epoch seconds, before each start of k3s, or else
the second, a reason, where it refuses to start it.
"""

AWAIT_KUBELET_SCRIPT = """\
looks=200
first=
until grep -qs ':280A 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6; do
    [ ! -e /run/openshell/refused ] && [ "$((looks = looks - 1))" -gt 0 ] || exit 0
    started=
    { read -r started </run/openshell/k3s-started; } 2>/dev/null
    [ "${first:=$started}" = "$started" ] || exit 0
    sleep 0.1
done
"""
"""Waits until something listens (0A, proc(5)) on the kubelet's port 10250, at most 20 seconds.

No longer where k3s is refused, or has ended and was started again.
"""

DELETE_SCRIPT = """\
while IFS= read -r rule && IFS= read -r url && IFS= read -r options; do
    if error=$(printf '%s' "$options" |
        kubectl delete --request-timeout=30s --raw "$url" -f - 2>&1 >/dev/null); then
        printf '0 %s\\n' "$url"
        continue
    fi
    printf '1 %s %s\\n' "$url" "$(printf '%s' "$error" | tr '\\n' ' ')"
    case $rule$error in
    required*"(NotFound)"*) ;;
    required*) exit 0 ;;
    esac
done
"""
"""Deletes objects one by one: three lines of stdin each, one line of stdout each.

A plain ``kubectl delete`` sends no preconditions; ``--raw`` sends what stands in its file.
"""

OutcomeKind = Literal["done", "gone", "conflict", "refused", "skipped"]

_PATH = re.compile(r"/[A-Za-z0-9._/?=&%-]*")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_REASON = re.compile(r"Error from server \((\w+)\)")
_MESSAGE_START = re.compile(r"^(?=Error from server|error: |The \w+ \")", re.MULTILINE)
_UNREACHABLE = re.compile(
    r"was refused|connection refused|Unable to connect to the server|TLS handshake timeout"
    r"|i/o timeout|deadline exceeded|\bEOF\b|connection reset|etcdserver"
    r"|\((ServiceUnavailable|InternalError|Timeout|ServerTimeout|TooManyRequests)\)"
    r"|currently unable to handle|no route to host|network is unreachable"
)
_DETAILS_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one object of a command that takes many.

    ``done``: as asked. ``gone``: there is no such object. ``conflict``: it changed, or is another
    one, since it was read. ``refused``: the API server will not. ``skipped``: not tried, because
    something that had to come first was not done.
    """

    kind: OutcomeKind
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """One object to delete, bound to its identity.

    Attributes:
        url: The object's path on the API server: see :func:`build_url`.
        resource_version: Empty: any version of the object with this uid.
        grace_s: None leaves it to the object.
        is_required: What follows is skipped unless this one is deleted or gone.
    """

    url: str
    uid: str
    resource_version: str = ""
    grace_s: int | None = None
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class SinceStart:
    """What the cluster holds, and the epoch second of the start of the k3s that said so."""

    started_s: int
    resources: tuple[Resource, ...]


class _ResourceList(msgspec.Struct, frozen=True):
    kind: Literal["List"]
    items: list[msgspec.Raw]


class _Kind(msgspec.Struct, frozen=True):
    kind: str


class _Preconditions(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    uid: str
    resource_version: str = ""


class _DeleteOptions(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename="camel",
    tag_field="kind",
    tag="DeleteOptions",
):
    api_version: Literal["v1"]
    preconditions: _Preconditions
    grace_period_seconds: int | None = None


def await_kubelet(node: NodeExec, timeout_s: float) -> None:
    """Return once a look at the cluster may be worth its cost, or after a while.

    Nothing follows from the return. While k3s boots, each start of kubectl takes from it the
    processor time that it needs itself, and until the kubelet runs each is in vain.
    """
    with suppress(EngineError):  # a container that ended meanwhile is for the looks to tell
        node.run(["sh", "-c", AWAIT_KUBELET_SCRIPT], timeout_s=timeout_s)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl in one node.

    Every method raises:
        ClusterUnreachableError: The API server did not answer (transient).
        NoSuchResourceError: It says that there is no such object or kind.
        ResourceConflictError: It says that the object is not the one that was meant.
        ClusterError: It refused otherwise, or its answer cannot be read.
        ContainerNotRunningError, EngineUnavailableError: The command could not run (transient).
    """

    node: NodeExec
    timeout_s: float = COMMAND_TIMEOUT_S

    def get_json(self, *kinds: str, namespace: str = "") -> tuple[Resource, ...]:
        """All objects of these kinds, from one namespace or from all of them."""
        return _parse_list(self._run("kubectl", "get", *_get_arguments(kinds, namespace)).stdout)

    def get_json_since_start(self, *kinds: str) -> SinceStart | None:
        """All objects of these kinds and when k3s was started; None if it was not started yet.

        Raises:
            NodeRefusedError: It will not be started; the details say why.
        """
        arguments = _get_arguments(kinds, "")
        answer = self._run("sh", "-c", SINCE_START_SCRIPT, "sh", *arguments).stdout
        started, _, objects = answer.partition(b"\n")
        if not started and objects:
            raise NodeRefusedError("The node refuses to start k3s", details=_text(objects).strip())
        if not started:
            return None
        if not started.isdigit():
            raise ClusterError(
                "The node's time of start cannot be read", details=_text(started[:100])
            )
        return SinceStart(int(started), _parse_list(objects))

    def get_raw(self, path: str) -> bytes:
        """What the API server answers at a path, which may have a query: ``/readyz``."""
        if not _PATH.fullmatch(path):
            raise ClusterError(f"{path!r} is no path of an API server")
        return self._run("kubectl", "get", REQUEST_TIMEOUT, "--raw", path).stdout

    def replace(self, objects: Mapping[str, bytes]) -> dict[str, Outcome]:
        """Replace objects of one kind, all in one command, and tell what became of each.

        Args:
            objects: Whole objects by name. Their uid and resourceVersion are the preconditions.

        Raises:
            ClusterError: As every method; an object that is refused raises nothing.
        """
        items = [msgspec.Raw(text) for text in objects.values()]
        listed = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})
        completed = self.node.run(
            ["kubectl", "replace", REQUEST_TIMEOUT, "-f", "-", "-o", "name"],
            stdin=listed,
            timeout_s=self.timeout_s + 0.2 * len(objects),
        )
        done = {line.rpartition("/")[2] for line in _text(completed.stdout).splitlines()}
        messages = _MESSAGE_START.split(_text(completed.stderr))
        return {
            name: Outcome("done") if name in done else _find_outcome(name, messages, completed)
            for name in objects
        }

    def delete(self, deletions: Sequence[Deletion]) -> dict[str, Outcome]:
        """Delete objects in this order, all in one command, and tell what became of each.

        Returns once the API server has answered for each; an object with finalizers, or a pod
        with a grace, goes later.

        Returns:
            Outcomes by url.
        """
        lines = "".join(
            f"{'required' if each.is_required else 'optional'}\n{each.url}\n{_options(each)}\n"
            for each in deletions
        )
        completed = self._run(
            "sh",
            "-c",
            DELETE_SCRIPT,
            stdin=lines.encode(),
            more_s=2 * len(deletions),
        )
        outcomes = {each.url: Outcome("skipped") for each in deletions}
        for line in _text(completed.stdout).splitlines():
            status, _, rest = line.partition(" ")
            url, _, message = rest.partition(" ")
            if status not in {"0", "1"} or url not in outcomes:
                raise ClusterError("What became of a deletion cannot be read", details=line)
            outcomes[url] = Outcome("done") if status == "0" else _classify(message, completed)
        return outcomes

    def _run(self, *argv: str, stdin: bytes = b"", more_s: float = 0) -> Completed:
        completed = self.node.run(argv, stdin=stdin, timeout_s=self.timeout_s + more_s)
        if completed.exit_status != 0:
            raise _failure(_text(completed.stderr), completed)
        return completed


def build_url(collection: str, name: str, *, namespace: str = "") -> str:
    """The path of one object of the core API.

    Args:
        collection: ``nodes``, ``pods``, ``secrets``.
        name: The object's name, as the API server told it.
        namespace: Empty for a kind that has none.

    Raises:
        ClusterError: A name that no API server gives.
    """
    for each in (name, namespace or "default"):
        if not _NAME.fullmatch(each):
            raise ClusterError(f"{each!r} is no name of a Kubernetes object")
    prefix = f"/api/v1/namespaces/{namespace}" if namespace else "/api/v1"
    return f"{prefix}/{collection}/{name}"


def _get_arguments(kinds: Sequence[str], namespace: str) -> list[str]:
    if namespace and not _NAME.fullmatch(namespace):
        raise ClusterError(f"{namespace!r} is no name of a namespace")
    scope = ["-n", namespace] if namespace else ["-A"]
    return [",".join(kinds), *scope, "-o", "json", REQUEST_TIMEOUT]


def _parse_list(answer: bytes) -> tuple[Resource, ...]:
    items = parse(answer, _ResourceList).items
    return tuple(Resource(parse(item, _Kind).kind, bytes(item)) for item in items)


def _options(deletion: Deletion) -> str:
    preconditions = _Preconditions(deletion.uid, deletion.resource_version)
    options = _DeleteOptions("v1", preconditions, deletion.grace_s)
    return msgspec.json.encode(options).decode()


def _find_outcome(name: str, messages: Sequence[str], completed: Completed) -> Outcome:
    for message in messages:
        if f'"{name}"' in message:
            return _classify(message.strip(), completed)
    raise _failure("".join(messages), completed)


def _classify(message: str, completed: Completed) -> Outcome:
    error = _failure(message, completed)
    match error:
        case ClusterUnreachableError():
            raise error
        case NoSuchResourceError():
            return Outcome("gone", message)
        case ResourceConflictError():
            return Outcome("conflict", message)
        case _:
            return Outcome("refused", message)


def _failure(message: str, completed: Completed) -> ClusterError:
    """The error that kubectl's message means; its words are those of kubectl's own printer."""
    command = " ".join(completed.argv[:2]) if completed.argv[0] == "kubectl" else "kubectl"
    details = message.strip()[:_DETAILS_LIMIT] or f"exit status {completed.exit_status}"
    reason = _REASON.search(message)
    word = reason.group(1) if reason else ""
    if word == "NotFound":
        return NoSuchResourceError(f"{command} found no such object", details=details)
    if word == "Conflict":
        return ResourceConflictError(f"{command} met a changed object", details=details)
    if _UNREACHABLE.search(message):
        return ClusterUnreachableError("The API server did not answer", details=details)
    return ClusterError(f"{command} failed", details=details)


def _text(output: bytes) -> str:
    return output.decode(errors="replace")
