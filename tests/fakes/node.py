"""k3s in the fake engine's containers: what a start leaves on the volume and how it answers.

It keeps what the product leans on: authorities and token are made once per volume, a node's
password is known to its cluster, a second node on one volume refuses, and the cluster outlives
the container because it is the volume's.
"""

import hashlib
import secrets
from dataclasses import dataclass, field, replace
from typing import Literal

from openshell_bootstrap.cluster.node_exec import READ_ALONG_SCRIPT
from openshell_bootstrap.gateway.evidence.collect_node import LOGS_SCRIPT, SYSTEM_SCRIPT
from openshell_bootstrap.gateway.observe import NODE_FOLDER, RETIRED_NODE_FOLDER
from openshell_bootstrap.gateway.record import AUTHORITY_PATH, WRITE_SCRIPT
from openshell_bootstrap.models import DATA_PATH, Completed, Container, FileEntry
from openshell_bootstrap.names import LABEL_ROLE, NODE_NAME_ENV
from tests.fakes import kube_objects as objects
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeEngine
from tests.fakes.kube import FakeKube

KUBECONFIG = b"""\
apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
users: [{name: default, user: {token: none}}]
current-context: default
"""
UID_OF_KUBE_SYSTEM = (
    "kubectl", "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}",
)  # fmt: skip
WORKLOADS = ("coredns", "local-path-provisioner")
REJECTED = (
    b"Waiting to retrieve agent configuration; server is not ready: Node password rejected, "
    b"duplicate hostname or contents of '/etc/rancher/node/password' may not match server "
    b"node-passwd entry"
)


@dataclass(slots=True)
class FakeNodes:
    """Makes every container of the engine with a data volume a node.

    Attributes:
        clusters: By the name of the data volume; what was in one is never lost.
        password_mode: How a node is met that comes with another password than its cluster knows:
            by an event, or (k3s before 1.33) by never letting it join.
        rejected: Nodes that came with another password than the cluster knows.
        waiting: Nodes that are not let in, by container id: volume and name.
        refuses: ``SLUG: SENTENCE`` with which PID 1 refuses to start k3s; empty where it does not.
        refused: What a command meets in a container whose PID 1 refused, by container id.
        version: What ``k3s --version`` of an image says, by reference.
        ends: Log line and exit code with which nodes end at once, None where they run.
        boots: How often k3s was started on a volume.
        system: What a node tells of itself.
        containerd_log: The end of containerd's log.
        pod_logs: Ends of pods' logs, by the folder in which the kubelet keeps them.
    """

    engine: FakeEngine
    clock: FakeClock
    clusters: dict[str, FakeKube] = field(default_factory=dict)
    password_mode: Literal["event", "reject"] = "event"
    rejected: list[str] = field(default_factory=list)
    waiting: dict[str, tuple[str, str]] = field(default_factory=dict)
    refuses: str = ""
    refused: dict[str, FakeKube] = field(default_factory=dict)
    version: dict[str, str] = field(default_factory=dict)
    ends: tuple[bytes, int] | None = None
    boots: dict[str, int] = field(default_factory=dict)
    system: bytes = b"==> df -h <==\n"
    containerd_log: bytes = b""
    pod_logs: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine.state.now = self.clock.time
        self.engine.on_start(self.start)
        self.engine.on_stop(self.stop)
        self.engine.on_exec(self.run)

    def start(self, container: Container) -> None:
        """What happens in a container that was just started."""
        if container.command[-1:] == ("--version",):
            said = self.version.get(container.image, "k3s version v1.36.3+k3s1 (fake)")
            self.engine.end(container.id, 0, said.encode())
            return
        if container.labels.get(LABEL_ROLE) == "probe":
            self.engine.end(container.id)
            return
        volume = self._volume(container)
        if volume is None:
            return
        if self.ends is not None:
            line, status = self.ends
            self.engine.end(container.id, status, line)
            return
        self.refused.pop(container.id, None)
        others = [box for box in self.engine.state.users(volume) if box.id != container.id]
        refusal = "volume-locked: another node" if any(box.is_up for box in others) else ""
        if refusal := refusal or self.refuses:
            self.engine.write_log(container.id, f"openshell: refused: {refusal}".encode())
            self.refused[container.id] = FakeKube(clock=self.clock, refusal=refusal, is_up=False)
            return
        self._boot(container, volume)

    def stop(self, container: Container) -> None:
        """PID 1 that refused ends with a code of its own."""
        if kube := self.refused.get(container.id):
            self.engine.end(container.id, 75 if "volume-locked" in kube.refusal else 78)

    def run(self, container: Container, argv: tuple[str, ...], stdin: bytes) -> Completed:
        """A command in a node."""
        volume = self._volume(container)
        assert volume is not None, f"{container.name} is no node"
        self._let_in(container.id)
        kube = self.refused.get(container.id) or self.clusters[volume]
        match argv:
            case ("sh", "-c", script, path, *command) if script == READ_ALONG_SCRIPT:
                file = self.engine.files(container.id).file(path)
                if file is None or file.content is None:
                    return Completed(argv, 1, b"", b"sh: no such file")
                done = self.run(container, tuple(command), stdin)
                along = b"%d\n%b" % (len(file.content), file.content)
                return replace(done, argv=argv, stdout=along + done.stdout)
            case ("sh", "-c", script, "sh", path, size) if script == WRITE_SCRIPT:
                if len(stdin) != int(size):
                    return Completed(argv, 1, b"", b"")
                self.engine.files(container.id).put(FileEntry(path, stdin, 0o600))
                return Completed(argv, 0, b"", b"")
            case ("sh", "-c", script) if script == SYSTEM_SCRIPT:
                return Completed(argv, 0, self.system, b"")
            case ("sh", "-c", script, "sh", _lines, *folders) if script == LOGS_SCRIPT:
                logs = b"".join(self.pod_logs.get(folder, b"") for folder in folders)
                return Completed(argv, 0, self.containerd_log + logs, b"")
            case _ if argv == UID_OF_KUBE_SYSTEM:
                return Completed(argv, 0, f"uid-of-{volume}".encode(), b"")
            case _:
                return kube.run(argv, stdin=stdin)

    def _volume(self, container: Container) -> str | None:
        found = [mount.source for mount in container.mounts if mount.target == DATA_PATH]
        return found[0] if found else None

    def _boot(self, container: Container, volume: str) -> None:
        name = container.environment.get(NODE_NAME_ENV) or container.hostname
        files = self.engine.files(container.id)
        self.boots[volume] = self.boots.get(volume, 0) + 1
        if files.file(AUTHORITY_PATH) is None:
            authority = secrets.token_bytes(16)
            given = files.file("/opt/openshell/token")
            secret = (given.content if given else None) or secrets.token_hex(8).encode()
            full = b"K10" + hashlib.sha256(authority).hexdigest().encode() + b"::server:" + secret
            files.put(FileEntry(AUTHORITY_PATH, authority))
            files.put(FileEntry(f"{DATA_PATH}/server/token", full + b"\n", 0o600))
            self.clusters[volume] = FakeKube(clock=self.clock)
        files.put(FileEntry("/etc/rancher/k3s/k3s.yaml", KUBECONFIG, 0o600))
        kube = self.clusters[volume]
        kube.started_s = int(self.clock.now)
        self.waiting.pop(container.id, None)
        if self._is_known(container, kube, name):
            self._register(kube, name)
        elif self.password_mode == "event":
            self._register(kube, name)
            kube.add(objects.password_event(name, self.clock.now, "hash does not match"))
        else:
            self.waiting[container.id] = (volume, name)
            self.engine.write_log(container.id, REJECTED)

    def _let_in(self, container_id: str) -> None:
        """k3s asks again and again, so that it lets a node join once its Secret is gone."""
        volume, name = self.waiting.get(container_id, ("", ""))
        if not name or self.clusters[volume].find("Secret", *_secret(name)):
            return
        del self.waiting[container_id]
        self._register(self.clusters[volume], name)

    def _is_known(self, container: Container, kube: FakeKube, name: str) -> bool:
        """Whether the node's password, made now if there is none, is the one of its Secret."""
        files = self.engine.files(container.id)
        is_ours = NODE_NAME_ENV in container.environment
        path = f"{NODE_FOLDER if is_ours else RETIRED_NODE_FOLDER}/password"
        if files.file(path) is None:
            files.put(FileEntry(path, secrets.token_hex(16).encode(), 0o600))
        kept = files.file(path)
        assert kept is not None
        assert kept.content is not None
        password = kept.content.hex()
        secret = kube.find("Secret", *_secret(name))
        if secret is None:
            kube.add(objects.node_password(name, password))
        elif secret["data"]["hash"] != password:
            self.rejected.append(name)
            return False
        return True

    def _register(self, kube: FakeKube, name: str) -> None:
        now = self.clock.now
        kube.alive = {name}
        for key in [key for key in kube.objects if key[0] in {"Node", "Lease"} and key[2] == name]:
            del kube.objects[key]
        kube.add(objects.node(name, heartbeat_s=now), objects.lease(name, now))
        for workload in WORKLOADS:
            for key in [key for key in kube.objects if key[2].startswith(workload)]:
                del kube.objects[key]
            kube.add(*objects.running_workload(workload, now))


def _secret(node_name: str) -> tuple[str, str]:
    """Name and namespace."""
    return f"{node_name}.node-password.k3s", "kube-system"
