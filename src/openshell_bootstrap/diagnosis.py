"""Known signs of trouble in a node's log, and what each means. Pure; most specific first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause, and what to do about it."""

    brief: str
    remedies: tuple[str, ...]
    refused: bool = False
    """Trying again changes nothing: the node is stopped, so that it does not end for ever."""


NODE_PASSWORD_REJECTED = Diagnosis(
    "The cluster knows this node by another password than the one on the volume, and rejects it",
    (
        "Start again: the Secret that holds the other password's hash is removed once the API "
        "answers, and k3s makes it anew.",
    ),
)

_FROM_A_COPY = (
    "Put `server/db` back from a copy, all of its files together: `openshell gateway info` tells "
    "where the volume lies."
)

_KNOWN: tuple[tuple[re.Pattern[str], Diagnosis], ...] = (
    (
        re.compile(r"openshell: refused: volume-locked"),
        Diagnosis(
            "Another node runs on the data volume",
            (
                "`docker ps --filter volume=NAME` names the containers on the volume; stop the "
                "other one.",
            ),
            refused=True,
        ),
    ),
    (
        re.compile(r"openshell: refused: token-differs"),
        Diagnosis(
            "The token that was given is not the one that this volume's cluster was made with",
            ("Start without `--token-file`: the volume keeps its own token.",),
            refused=True,
        ),
    ),
    (
        re.compile(r"openshell: refused: token-files-lost"),
        Diagnosis(
            "The volume's cluster has lost both files that hold its token",
            (
                "Put `server/token` of this cluster back on the volume, from a copy.",
                "Or start with `--token-file` and the token that the cluster was made with.",
            ),
            refused=True,
        ),
    ),
    (
        re.compile(
            r"openshell: refused: store-damaged|database disk image is malformed"
            r"|file is not a database"
        ),
        Diagnosis(
            "The datastore on the volume is damaged; nothing was removed",
            (_FROM_A_COPY,),
            refused=True,
        ),
    ),
    (
        re.compile(r"openshell: refused: store-lost"),
        Diagnosis(
            "The cluster's datastore is gone from the volume; nothing was started in its place",
            (
                _FROM_A_COPY,
                "Without a copy the cluster is lost, and only the files in `storage/` are left: "
                "save them before `openshell gateway destroy`, which removes them too.",
            ),
            refused=True,
        ),
    ),
    (
        re.compile(r"openshell: refused: (?P<slug>[a-z0-9-]+)"),
        Diagnosis(
            "The node refuses to start",
            ("`openshell gateway logs` tells why.",),
            refused=True,
        ),
    ),
    (
        re.compile(r"bootstrap data already found and encrypted with different token"),
        Diagnosis(
            "The volume's datastore belongs to another token",
            ("Start with `--token-file` and the token that the cluster was made with.",),
            refused=True,
        ),
    ),
    (
        re.compile(r"newer than datastore and could cause a cluster outage"),
        Diagnosis(
            "Files on the volume are newer than its datastore, and k3s will not choose",
            ("`openshell gateway logs` names the files; put them aside, do not delete them.",),
            refused=True,
        ),
    ),
    (re.compile(r"Node password rejected, duplicate hostname"), NODE_PASSWORD_REJECTED),
    (
        re.compile(r"no space left on device|database or disk is full"),
        Diagnosis(
            "The disk below the data volume is full",
            ("`docker system df` shows what the engine holds; free some of it, then start.",),
        ),
    ),
    (
        re.compile(r"cannot enter cgroupv2 .* it is in an invalid state"),
        Diagnosis(
            "The kubelet cannot use its cgroup: the container's root cgroup still holds processes",
            ("Start again; if it stays, tell us with `docker info` and the node's log.",),
        ),
    ),
    (
        re.compile(
            r"failed to find (?P<name>\w+) cgroup|(?P<pids>pids) cgroup controller not found"
        ),
        Diagnosis(
            "The host lacks a cgroup controller that a kubelet needs",
            ("Turn the controllers cpu, cpuset, memory and pids on, then start.",),
        ),
    ),
    (
        re.compile(r"kubelet is configured to not run on a host using cgroup v1"),
        Diagnosis(
            "The kubelet refuses to run on cgroup v1",
            ("Take `fail-cgroupv1` out of your own `--k3s-arg`.",),
        ),
    ),
    (
        re.compile(r"too many open files|inotify_init"),
        Diagnosis(
            "The node ran out of file handles or inotify instances",
            ("`sysctl -w fs.inotify.max_user_instances=512` as root, then start.",),
        ),
    ),
    (
        re.compile(r"no default route|unable to select an IP|no default routes found"),
        Diagnosis(
            "The node has no default route, so it cannot choose its address",
            ("`openshell gateway stop`, then start: the network is made again if it is broken.",),
        ),
    ),
    (
        re.compile(r"invalid argument \"feature-gates|unknown flag|flag provided but not defined"),
        Diagnosis(
            "k3s or one of its parts does not know an argument it was given",
            ("Correct the `--k3s-arg` that the log names.",),
        ),
    ),
    (
        re.compile(r"unable to apply caps|operation not permitted.*capab"),
        Diagnosis(
            "The host does not let the engine grant all capabilities",
            ("Run the engine outside of the container that restricts it.",),
        ),
    ),
)


def diagnose(lines: Sequence[str]) -> Diagnosis | None:
    """The most specific known cause in the last lines of a node's log, or None."""
    text = "\n".join(lines)
    return next((known for pattern, known in _KNOWN if pattern.search(text)), None)


def find_evidence(lines: Sequence[str], known: Diagnosis) -> str:
    """The last line that shows this cause; empty if none does."""
    patterns = [pattern for pattern, cause in _KNOWN if cause is known]
    matching = (line for line in reversed(lines) if any(one.search(line) for one in patterns))
    return next(matching, "")
