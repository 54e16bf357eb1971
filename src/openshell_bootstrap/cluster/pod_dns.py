"""Whether pods can resolve names, asked from where a pod asks.

The question goes out in the network of a pod that runs already, to the name server that this pod
was given, with the node's own programs: no image is needed, and none of a pod's files are used
but its resolver's.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.settings import NAME_SERVER_TIMEOUT_S

Answer = Literal["answered", "failed", "unknown"]
"""``answered``: a name server said something, be it that there is no such name. ``failed``: none
did in time, or it said that it failed itself."""

POD_DNS_SCRIPT = """\
ask() {
    said=$(nsenter -t "$pid" -n timeout "$patience" nslookup -type=a "$2" "$server" 2>&1)
    case $?/$said in
    124/* | 137/* | 143/* | *"timed out"* | *SERVFAIL* | *REFUSED*) echo "$1 failed" ;;
    *NXDOMAIN* | *Name:*) echo "$1 answered" ;;
    *) echo "$1 unknown" ;;
    esac
}
patience=$1
outside=$2
own=$(stat -L -c %i /proc/self/ns/net)
stat -L -c '%i %n' /proc/[0-9]*/ns/net 2>/dev/null | while read -r net path; do
    [ "$net" != "$own" ] || continue
    pid=${path#/proc/}
    pid=${pid%%/*}
    server= domain=
    while read -r keyword value _; do
        case $keyword/$value in
        nameserver/*) server=${server:-$value} ;;
        search/*.svc.*) domain=${value#*.svc.} ;;
        esac
    done 2>/dev/null <"/proc/$pid/root/etc/resolv.conf"
    [ -n "$server" ] && [ -n "$domain" ] || continue
    told=$(ask cluster "kubernetes.default.svc.$domain.")
    echo "$told"
    [ "$told" = "cluster failed" ] || ask outside "$outside."
    break
done
"""
"""One line, two where the first is no failure; none where no pod uses the cluster's name server.

Such a pod has the search list of its namespace in its resolver's file; a pod with another DNS
policy (CoreDNS itself) or on the node's own network is passed over.
"""


@dataclass(frozen=True, slots=True)
class PodDns:
    """How a pod's name server answers.

    Attributes:
        cluster: For the name of the API's own service.
        outside: For a name that it has to ask the node's own resolver for.
    """

    cluster: Answer = "unknown"
    outside: Answer = "unknown"


def observe_pod_dns(node: NodeExec, outside: str) -> PodDns:
    """Ask once, in a pod's place; what cannot be tried, or is not understood, is unknown.

    Args:
        node: The gateway's node.
        outside: A name that the node's own resolver knows without asking anybody: Docker's
            knows the containers of its network.

    Raises:
        ContainerNotRunningError, EngineUnavailableError: The command could not run (transient).
    """
    argv = ["sh", "-c", POD_DNS_SCRIPT, "sh", str(NAME_SERVER_TIMEOUT_S), outside]
    done = node.run(argv, timeout_s=10 * NAME_SERVER_TIMEOUT_S)
    told = dict(
        line.split(" ", 1) for line in done.stdout.decode().splitlines() if line.count(" ") == 1
    )
    return PodDns(cluster=_answer(told.get("cluster")), outside=_answer(told.get("outside")))


def _answer(word: str | None) -> Answer:
    return next((each for each in get_args(Answer) if each == word), "unknown")
