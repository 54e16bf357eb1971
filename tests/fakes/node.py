"""k3s in the fake engine's containers: what a start leaves on the volume and how it answers.

It keeps what the product leans on: authorities and token are made once per volume, a node's
password is known to its cluster, a second node on one volume ends with exit 75, and the cluster
outlives the container because it is the volume's.
"""

import hashlib
import secrets
from dataclasses import dataclass, field, replace

from openshell_bootstrap.cluster.node_exec import READ_ALONG_SCRIPT
from openshell_bootstrap.gateway.observe import NODE_FOLDER, RETIRED_NODE_FOLDER
from openshell_bootstrap.gateway.record import AUTHORITY_PATH, WRITE_SCRIPT
from openshell_bootstrap.models import DATA_PATH, Completed, Container, FileEntry
from openshell_bootstrap.names import NODE_NAME_ENV
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


@dataclass(slots=True)
class FakeNodes:
    """Makes every container of the engine with a data volume a node.

    Attributes:
        clusters: By the name of the data volume; what was in one is never lost.
        passwords: What a cluster knows of its nodes, by volume and node name.
        rejected: Nodes that came with another password than the cluster knows.
        version: What ``k3s --version`` of an image says, by reference.
        ends: Log line and exit code with which nodes end at once, None where they run.
        boots: How often k3s was started on a volume.
    """

    engine: FakeEngine
    clock: FakeClock
    clusters: dict[str, FakeKube] = field(default_factory=dict)
    passwords: dict[tuple[str, str], bytes] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    version: dict[str, str] = field(default_factory=dict)
    ends: tuple[bytes, int] | None = None
    boots: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine.state.now = self.clock.time
        self.engine.on_start(self.start)
        self.engine.on_exec(self.run)

    def start(self, container: Container) -> None:
        """What happens in a container that was just started."""
        if container.command[-1:] == ("--version",):
            said = self.version.get(container.image, "k3s version v1.36.3+k3s1 (fake)")
            self.engine.end(container.id, 0, said.encode())
            return
        volume = self._volume(container)
        if volume is None:
            return
        if self.ends is not None:
            line, status = self.ends
            self.engine.end(container.id, status, line)
            return
        others = [box for box in self.engine.state.users(volume) if box.id != container.id]
        if any(box.is_up for box in others):
            self.engine.end(container.id, 75, b"openshell: refused: volume-locked: another node")
            return
        self._boot(container, volume)

    def run(self, container: Container, argv: tuple[str, ...], stdin: bytes) -> Completed:
        """A command in a node."""
        volume = self._volume(container)
        assert volume is not None, f"{container.name} is no node"
        match argv:
            case ("sh", "-c", script, path, *command) if script == READ_ALONG_SCRIPT:
                file = self.engine.files(container.id).file(path)
                if file is None or file.content is None:
                    return Completed(argv, 1, b"", b"sh: no such file")
                done = self.run(container, tuple(command), stdin)
                along = b"%d\n%b" % (len(file.content), file.content)
                return replace(done, argv=argv, stdout=along + done.stdout)
            case ("sh", "-c", script, "sh", path) if script == WRITE_SCRIPT:
                self.engine.files(container.id).put(FileEntry(path, stdin, 0o600))
                return Completed(argv, 0, b"", b"")
            case _ if argv == UID_OF_KUBE_SYSTEM:
                return Completed(argv, 0, f"uid-of-{volume}".encode(), b"")
            case ("kubectl", "get", "persistentvolumeclaims", "-A", "-o", "json"):
                argv = ("kubectl", "get", "pvc", "-A", "-o", "json", "--request-timeout=30s")
                return self.clusters[volume].run(argv)
            case _:
                return self.clusters[volume].run(argv, stdin=stdin)

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
        self._keep_password(container, volume, name)
        files.put(FileEntry("/etc/rancher/k3s/k3s.yaml", KUBECONFIG, 0o600))
        self._register(self.clusters[volume], name)

    def _keep_password(self, container: Container, volume: str, name: str) -> None:
        files = self.engine.files(container.id)
        is_ours = NODE_NAME_ENV in container.environment
        path = f"{NODE_FOLDER if is_ours else RETIRED_NODE_FOLDER}/password"
        if files.file(path) is None:
            files.put(FileEntry(path, secrets.token_hex(16).encode(), 0o600))
        kept = files.file(path)
        assert kept is not None
        assert kept.content is not None
        if self.passwords.setdefault((volume, name), kept.content) != kept.content:
            self.rejected.append(name)

    def _register(self, kube: FakeKube, name: str) -> None:
        now = self.clock.now
        kube.started_s = int(now)
        kube.alive = {name}
        for key in [key for key in kube.objects if key[0] in {"Node", "Lease"} and key[2] == name]:
            del kube.objects[key]
        kube.add(objects.node(name, heartbeat_s=now), objects.lease(name, now))
        for workload in WORKLOADS:
            for key in [key for key in kube.objects if key[2].startswith(workload)]:
                del kube.objects[key]
            kube.add(*objects.running_workload(workload, now))
