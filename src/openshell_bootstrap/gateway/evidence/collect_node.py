"""Evidence from inside the node: what runs in it, its disk, its components' logs, its cluster."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openshell_bootstrap.cluster.evidence import observe_evidence
from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.gateway.evidence.collected import Collected
from openshell_bootstrap.models import DATA_PATH, Completed, Container
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S, DIAGNOSTICS_LOOK_S

SYSTEM_SCRIPT = f"""\
tell() {{
    printf '\\n==> %s <==\\n' "$*"
    timeout 3 "$@" 2>&1
}}
tell date -u
tell k3s --version
tell uname -a
tell cat /proc/uptime /proc/loadavg /proc/self/cgroup
tell cat /run/openshell/k3s-started /run/openshell/refused
tell df -h / {DATA_PATH} /var/lib/kubelet /var/log /run
tell df -i / {DATA_PATH}
tell cat /proc/meminfo
tell cat /etc/resolv.conf
tell ip address
tell ip route
tell ps
tell ls -la {DATA_PATH} {DATA_PATH}/openshell {DATA_PATH}/server {DATA_PATH}/server/db
tell ls -la {DATA_PATH}/storage {DATA_PATH}/server/tls {DATA_PATH}/server/manifests
exit 0
"""
"""What the node itself can tell; each look at most 3 seconds."""

CONTAINERD_LOG = f"{DATA_PATH}/agent/containerd/containerd.log"
"""The one component of k3s that writes a log of its own."""

POD_LOGS = "/var/log/pods"
LOGS_SCRIPT = f"""\
lines=$1
shift
tail -n "$lines" {CONTAINERD_LOG} | sed 's/^/containerd: /'
cd {POD_LOGS} 2>/dev/null || exit 0
for folder; do
    for file in "$folder"/*/*.log; do
        [ -f "$file" ] || continue
        printf '\\n==> %s <==\\n' "$file"
        tail -n "$lines" "$file"
    done
done
exit 0
"""
"""Ends of logs: containerd's, and those of pods whose folders are named. No API is needed."""

_LINES = 100
_MAX_FOLDERS = 20
_FOLDER = re.compile(r"[a-z0-9-]+_[a-z0-9.-]+_[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class _Briefly:
    """A node whose every command has little time."""

    node: ContainerNode

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> Completed:
        """Run a command to its end; raises as the node does."""
        return self.node.run(argv, stdin=stdin, timeout_s=min(timeout_s, DIAGNOSTICS_LOOK_S))


def collect_node(collected: Collected, container: Container, engine: Engine) -> None:
    """Look into the gateway's container, running or not."""
    if container.status != "running":
        _collect_files(collected, container, engine)
        return
    node = _Briefly(ContainerNode(engine, container.id))
    collected.read("node/system.txt", lambda: _output(node.run(["sh", "-c", SYSTEM_SCRIPT])))
    found = collected.look("cluster", lambda: observe_evidence(Kubectl(node)))
    folders: tuple[str, ...] = ()
    if found is not None:
        folders = found.log_folders
        collected.add("cluster/objects.json", found.objects)
        collected.add("cluster/events.json", found.events)
        collected.add("cluster/pods.txt", "".join(f"{pod}\n" for pod in found.pods).encode())
        collected.add("cluster/pods-unwell.json", found.unwell)
    sound = [folder for folder in folders if _FOLDER.fullmatch(folder)][:_MAX_FOLDERS]
    script = ["sh", "-c", LOGS_SCRIPT, "sh", str(_LINES), *sound]
    collected.read("node/component-logs.txt", lambda: _output(node.run(script)))


def _output(done: Completed) -> bytes:
    return done.stdout + done.stderr


def _collect_files(collected: Collected, container: Container, engine: Engine) -> None:
    """A node that does not run tells nothing, but its logs are still there."""
    get_file, get_files = engine.containers.get_file, engine.containers.get_files
    log = collected.look("node/containerd.txt", lambda: get_file(container.id, CONTAINERD_LOG))
    if log is not None and log.content is not None:
        collected.add("node/containerd.txt", _end(log.content))
    found = collected.look("node/pod-logs.txt", lambda: get_files(container.id, POD_LOGS)) or ()
    logs = [file for file in found if file.content is not None and file.path.endswith(".log")]
    ends = (
        f"\n==> {file.path.removeprefix(POD_LOGS + '/')} <==\n".encode() + _end(file.content or b"")
        for file in logs
    )
    if logs:
        collected.add("node/pod-logs.txt", b"".join(ends))


def _end(log: bytes) -> bytes:
    return b"".join(log.splitlines(keepends=True)[-_LINES:])
