"""What operations return: plain facts, which the command line renders."""

from dataclasses import dataclass, field
from typing import Literal

StatusWord = Literal[
    "ready", "starting", "degraded", "failing", "paused", "stopped", "absent", "unknown"
]
"""One word for the whole gateway.

``degraded``: the node is ready and something of it is not. ``failing``: it runs, or the engine
restarts it, and it does not become ready.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """One step of a plan, in words: what, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What ``--dry-run`` prints: nothing was changed."""

    name: str
    actions: tuple[PlannedAction, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedNodes:
    """What the clean-up of stale nodes did.

    Attributes:
        removed_nodes: Names of node objects that were removed.
        rebound_volumes: Names of volumes whose affinity now names the gateway's node.
        removed_pods: ``namespace/name`` of pods that were bound to a removed node.
        uncontrolled_pods: Those of them without a controller: nothing makes them again.
        reported: Sentences about what was left alone and what to do.
        postponed: Why nothing was looked at or changed; empty when all went well.
    """

    removed_nodes: tuple[str, ...] = ()
    rebound_volumes: tuple[str, ...] = ()
    removed_pods: tuple[str, ...] = ()
    uncontrolled_pods: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    postponed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A gateway that is ready.

    Attributes:
        actions: What this run did; empty when everything stood already.
        endpoint: ``https://127.0.0.1:PORT``.
        kubeconfig: Path of the gateway's kubeconfig on this host.
    """

    name: str
    node_name: str
    endpoint: str
    kubeconfig: str
    image: str
    actions: tuple[PlannedAction, ...] = ()
    cleaned: CleanedNodes = field(default_factory=CleanedNodes)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A gateway that does not run.

    Attributes:
        was_running: False when there was nothing to stop.
        exit_code: Of the node's PID 1; 0 is an orderly end.
    """

    name: str
    was_running: bool
    exit_code: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What ``destroy`` would remove, named before it asks.

    Attributes:
        claims: ``namespace/name`` of the claims on the volume; None when nobody could say.
        recorded: This host has a record of the gateway.
    """

    name: str
    container: str
    volume: str
    network: str
    claims: tuple[str, ...] | None
    volume_created_at: str = ""
    recorded: bool = False

    @property
    def is_nothing(self) -> bool:
        """There is nothing of that name."""
        return not (self.container or self.volume or self.network or self.recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroyed:
    """What ``destroy`` removed and what it had to leave."""

    name: str
    removed: tuple[str, ...]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """The node as Kubernetes tells it. ``ready`` counts only what this life of it said."""

    name: str
    ready: bool
    version: str = ""
    address: str = ""
    detail: str = ""
    foreign: tuple[str, ...] = ()
    """Other node objects on the volume's cluster."""
    pressures: tuple[str, ...] = ()
    """What it runs short of, in Kubernetes' words: ``DiskPressure``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadStatus:
    """One of the node's own workloads (DNS, storage)."""

    name: str
    ready: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStatus:
    """A claim that is in trouble, or all that its folder holds, where that was asked for.

    Attributes:
        claim: ``namespace/name``.
        pods: ``namespace/name`` of the pods that mount it.
        node: The node, not in this cluster, that its volume names; empty where it names ours.
        folder: Where its files are, on the engine's host; empty where they are not on the
            gateway's volume.
        reclaim_policy: ``Delete``: its files go when the claim is deleted; ``Retain``: they stay.
        requested_bytes: What it asked for; nothing holds it to that.
        used_bytes: What its files take on their disk; None where it was not measured.
        problem: What is wrong; empty where nothing is.
        next_step: What to do about that.
    """

    claim: str
    volume: str
    pods: tuple[str, ...] = ()
    node: str = ""
    folder: str = ""
    reclaim_policy: str = ""
    requested_bytes: int = 0
    used_bytes: int | None = None
    problem: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsStatus:
    """Whether names resolve from a pod's place: ``answered``, ``failed`` or ``unknown``.

    Attributes:
        cluster: Names of the cluster's services.
        outside: Names for which the pods' name server has to ask another.
    """

    cluster: str
    outside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A gateway as a whole and its parts.

    Attributes:
        exit_code: ready 0, absent 3, stopped 4, unknown 5 or 6, starting 7, anything else 8.
        container: The engine's word, ``absent`` or ``unknown``.
        claims: Those in trouble; all of them where their use was asked for.
        dns: None where nothing was asked: the node or its name server is not up.
        drift: What differs from what ``start`` would make now; applied by a recreate.
    """

    name: str
    word: StatusWord
    cause: str
    next_step: str
    exit_code: int
    container: str
    container_name: str
    health: str = ""
    node: NodeStatus | None = None
    workloads: tuple[WorkloadStatus, ...] = ()
    claims: tuple[ClaimStatus, ...] = ()
    dns: DnsStatus | None = None
    endpoint: str = ""
    volume: str = ""
    volume_present: bool | None = None
    network_present: bool | None = None
    image: str = ""
    drift: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRow:
    """One row of ``gateway list``."""

    name: str
    active: bool
    container: str
    endpoint: str
    image: str
    managed: bool
    """False for a gateway of a retired release that was not adopted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """What ``gateway info`` tells: names, places and settings, no state of the cluster."""

    name: str
    node_name: str
    container: str
    volume: str
    network: str
    endpoint: str
    image: str
    kubeconfig: str
    data_mountpoint: str
    """The volume's folder on the engine's host."""
    cluster_id: str
    """SHA-256 of the cluster's server authority; empty before the first start."""
    k3s_version: str
    settings: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The gateway that commands mean from now on when none is named."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """A gateway's kubeconfig. It holds administrator credentials."""

    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigChanged:
    """What became of the user's own kubeconfig.

    Attributes:
        path: The file.
        context: The gateway's context.
        changed: False if it was as wanted already.
    """

    path: str
    context: str
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Versions of this command and of what runs.

    Attributes:
        gateway: The gateway that was asked about; empty if none was.
        k3s: The version that ran on its volume last; empty if nobody knows.
    """

    client: str
    gateway: str = ""
    k3s: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsSaved:
    """What could be seen of a gateway, in one file.

    Attributes:
        path: The file, a tar.gz.
        unread: What could not be read, with the cause of each.
    """

    name: str
    path: str
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedMatter:
    """What one check of ``doctor check`` found.

    Attributes:
        check: Names the matter: ``disk``.
        severity: ``problem``, ``warning``, ``fine``, or ``unknown`` where nobody could say.
        brief: One sentence.
        details: The evidence.
        remedies: What to do, one step each.
        exit_code: Of the error that a problem is; 0 for all else.
    """

    check: str
    severity: Literal["problem", "warning", "fine", "unknown"]
    brief: str
    details: str = ""
    remedies: tuple[str, ...] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What ``doctor check`` found, worst first; ``exit_code`` is the first problem's, or 0."""

    name: str
    checks: tuple[CheckedMatter, ...]
    exit_code: int = 0
