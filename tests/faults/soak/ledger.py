"""Three pods that write numbered lines, and what of it was acknowledged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.gateway.driver import Gateway
from tests.integration.gateway.workloads import is_running, stateful_set
from tests.until import until

NAME = "ledger"
PODS = tuple(f"{NAME}-{number}" for number in range(3))
OBJECT = "objects"
PLACE = "/acknowledged"
"""A folder of the host, seen from the node and its pods: no container is needed to read it, and
it is not on the gateway's volume nor on its disk."""

# Every line stands between newlines of its own, so that one cut short spoils no other. A life has
# a name, so that a line that was lost cannot be replaced by a later one of the same number.
WRITE_LINES = f"""
trap 'exit 0' TERM
read -r life </proc/sys/kernel/random/uuid
n=0
while :; do
    n=$((n + 1))
    until printf '\\n%s\\n' "$life $n" >>/data/lines && sync /data/lines; do
        sleep 0.2
    done
    echo "$life $n" >>{PLACE}/$HOSTNAME
    sleep 0.05
done
"""
WRITE_OBJECTS = f"""
exec 9>>/run/{NAME}
flock -n 9 || exit 0
n=$(tail -n 1 {PLACE}/{OBJECT} 2>/dev/null || echo 0)
while :; do
    n=$((n + 1))
    if kubectl patch configmap {NAME} -p "{{\\"data\\":{{\\"n\\":\\"$n\\"}}}}" >/dev/null 2>&1; then
        echo "$n" >>{PLACE}/{OBJECT}
    fi
    sleep 1
done
"""
KINDS = "persistentvolumeclaims,persistentvolumes,statefulsets,namespaces,nodes,pods,configmaps"


@dataclass(frozen=True)
class Identities:
    """What must be the same objects for ever, by name."""

    claims: dict[str, str]
    volumes: dict[str, str]
    sets: dict[str, str]
    cluster: str


class Ledger:
    """A gateway with a StatefulSet of three that write, and a writer to its API."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.gateway = gateway
        self.folder = folder
        self.folder.mkdir()

    @property
    def mount(self) -> tuple[str, str]:
        """For the gateway's first start."""
        return ("-v", f"{self.folder}:{PLACE}")

    def begin(self) -> None:
        """Let the writers begin, and note who they are."""
        ready = f"[ -s {PLACE}/$HOSTNAME ]"
        writers = stateful_set(NAME, WRITE_LINES, ready=ready)
        writers["spec"] |= {"replicas": len(PODS), "podManagementPolicy": "Parallel"}
        template = writers["spec"]["template"]["spec"]
        template["containers"][0]["volumeMounts"].append({"name": "told", "mountPath": PLACE})
        template["volumes"].append({"name": "told", "hostPath": {"path": PLACE}})
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}
        self.gateway.apply(writers, config)
        self.first = identities(until(self._all_run, "three writers"))
        assert [len(self.first.claims), len(self.first.volumes)] == [3, 3], self.first
        self.go_on()

    def go_on(self) -> None:
        """In this life of the node, write to its API too, and see that everybody writes."""
        before = self._sizes()
        self.gateway.command.docker(
            "exec", "--detach", self.gateway.container, "sh", "-c", WRITE_OBJECTS
        )
        until(
            lambda: all(now > then for now, then in zip(self._sizes(), before, strict=True)),
            "lines from everybody",
        )

    def check(self) -> None:
        """The writers run in this life, are who they were, and nothing they wrote is missing."""
        acknowledged = {pod: set(self._told(pod)) for pod in PODS}
        objects = self._told(OBJECT)
        listed = until(self._all_run, "the writers in this life of the node")
        seen = identities(listed)
        assert seen == self.first, f"{seen} is not {self.first}"
        nodes = [one["metadata"]["name"] for one in listed["Node"]]
        assert nodes == [self.gateway.node], nodes
        for pod, lines in acknowledged.items():
            kept = self.gateway.kubectl("exec", pod, "--", "cat", "/data/lines")
            missing = lines - set(kept.splitlines())
            assert not missing, f"{pod}: {len(missing)} of {len(lines)}: {sorted(missing)[:5]} …"
        (config,) = [one for one in listed["ConfigMap"] if one["metadata"]["name"] == NAME]
        assert not objects or int(config["data"]["n"]) >= int(objects[-1]), config["data"]

    def lines(self) -> int:
        """How many were acknowledged until now."""
        return sum(len(self._told(pod)) for pod in PODS)

    def _all_run(self) -> dict[str, list[dict[str, Any]]] | None:
        """All objects by kind, once the writers run that were started in this life of the node."""
        listed: dict[str, list[dict[str, Any]]] = {}
        for one in self.gateway.get(KINDS, "-A")["items"]:
            listed.setdefault(one["kind"], []).append(one)
        pods = [one for one in listed["Pod"] if one["metadata"]["name"] in PODS]
        since = self.gateway.inspect()["State"]["StartedAt"][:19]
        return listed if len(pods) == len(PODS) and all(_runs(pod, since) for pod in pods) else None

    def _told(self, who: str) -> list[str]:
        """What was acknowledged whole."""
        try:
            text = (self.folder / who).read_text()
        except FileNotFoundError:
            return []
        return text.rpartition("\n")[0].splitlines()

    def _sizes(self) -> list[int]:
        return [len(self._told(who)) for who in (*PODS, OBJECT)]


def _runs(pod: dict[str, Any], since: str) -> bool:
    if not is_running(pod):
        return False
    started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    return bool(started[:19] >= since)


def identities(listed: dict[str, list[dict[str, Any]]]) -> Identities:
    """Of everything that is not told apart by its name alone."""

    def uids(kind: str) -> dict[str, str]:
        found = [one["metadata"] for one in listed.get(kind, [])]
        return {one["name"]: one["uid"] for one in found}

    return Identities(
        claims=uids("PersistentVolumeClaim"),
        volumes=uids("PersistentVolume"),
        sets=uids("StatefulSet"),
        cluster=uids("Namespace")["kube-system"],
    )
