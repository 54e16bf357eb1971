"""What an engine and its host must have for a node, one finding per matter, good or bad. Pure.

``gateway start`` takes those that a start hangs on, ``doctor check`` takes them all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from openshell_bootstrap.errors import BootstrapError, EngineError
from openshell_bootstrap.gateway.checks.host import HostFacts
from openshell_bootstrap.gateway.checks.kernel import Kernel
from openshell_bootstrap.models import EngineInfo

Severity = Literal["problem", "warning", "fine", "unknown"]
"""A gateway cannot work · it can, but not well or not for long · good · nobody could say."""

MIN_INOTIFY_INSTANCES = 64
"""A kubelet, containerd and the pods' own watchers need about this many to come up at all."""
GOOD_INOTIFY_INSTANCES = 512
MIN_INOTIFY_WATCHES = 8192
GOOD_INOTIFY_WATCHES = 524288

MIN_FREE_NEW = 2 * 1024**3
"""A new node unpacks its own images and starts its datastore: about 1 GiB, and room to work."""
MIN_FREE_AGAIN = 256 * 1024**2
"""An existing datastore must be able to write when it starts."""
FULL_PERCENT = 85
"""From here on a kubelet drops images as k3s sets it up, and databases run out of room."""
FEW_INODES = 10_000

MIN_MEMORY = 512 * 1024**2
"""What k3s says that its server needs (docs.k3s.io/installation/requirements), pods left out."""
GOOD_MEMORY = 2 * 1024**3
LITTLE_MEMORY = 512 * 1024**2

CLOCK_TOLERANCE_S = 5.0

_MISSING_FEATURES: Mapping[str, str] = {
    "overlay": "containers in the node cannot be unpacked the usual way",
    "br_netfilter": "services may not answer between pods of one node",
    "vxlan": "k3s's network backend does not start "
    "(`--k3s-arg=--flannel-backend=host-gw` does without)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        check: Names the matter: ``disk``.
        brief: One sentence without a full stop.
        details: The evidence; may be empty.
        remedies: What the user can do, one step each.
        kind: Which error a problem is.
    """

    check: str
    severity: Severity
    brief: str
    details: str = ""
    remedies: tuple[str, ...] = ()
    kind: type[BootstrapError] = EngineError

    def as_error(self) -> BootstrapError:
        """The problem as an error to raise."""
        return self.kind(self.brief, self.details, self.remedies)

    @classmethod
    def of_error(cls, check: str, error: BootstrapError) -> "Finding":
        """A problem that was raised."""
        return cls(
            check=check,
            severity="problem",
            brief=error.brief,
            details=error.details,
            remedies=error.remedies,
            kind=type(error),
        )


def fine(check: str, brief: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check=check, severity="fine", brief=brief)


def problem(
    check: str,
    brief: str,
    remedy: str,
    *,
    details: str = "",
    kind: type[BootstrapError] = EngineError,
) -> Finding:
    """A start would fail, and there is one thing to do about it."""
    return Finding(
        check=check,
        severity="problem",
        brief=brief,
        details=details,
        remedies=(remedy,),
        kind=kind,
    )


def unknown(check: str, brief: str, details: str = "") -> Finding:
    """Nobody could say."""
    return Finding(check=check, severity="unknown", brief=brief, details=details)


def engine_finding(engine: EngineInfo) -> Finding:
    """Whether the engine is one that can run a node at all."""
    where = f"endpoint {engine.endpoint} ({engine.endpoint_source})"
    if engine.os_type != "linux":
        return problem(
            "engine",
            f"The Docker engine runs {engine.os_type} containers, and a node is a Linux one",
            "Switch it to Linux containers, or set DOCKER_HOST to another engine.",
            details=where,
        )
    if engine.is_rootless:
        return problem(
            "engine",
            "The Docker engine runs rootless, and a node needs a privileged container",
            "Use the system's own engine: `docker context use default`.",
            details=where,
        )
    return fine("engine", f"Docker {engine.version}, API {engine.api_version}, {where}")


def machine_findings(engine: EngineInfo, host: HostFacts, *, is_new: bool) -> Iterator[Finding]:
    """Whether the engine's host can carry a node, new or one that was there before."""
    yield from inotify_findings(host)
    yield cgroup_finding(engine)
    yield disk_finding(engine, host, is_new=is_new)
    yield memory_finding(engine, host)
    yield clock_finding(engine)


def prune_finding(engine: EngineInfo) -> Finding:
    """Whether a routine clean-up of the engine can take a gateway's data."""
    if not engine.prunes_named_volumes:
        return fine("prune", "`docker system prune --volumes` leaves named volumes alone")
    return Finding(
        check="prune",
        severity="warning",
        brief="This engine's `docker system prune --volumes` takes named volumes too",
        details="It spares a gateway's volume only while its container is there, stopped or not.",
        remedies=("Update Docker to 23 or newer, or leave `--volumes` away.",),
    )


def cgroup_finding(engine: EngineInfo) -> Finding:
    """Whether a kubelet finds the cgroup controllers that it wants."""
    if engine.missing_controllers:
        return problem(
            "cgroups",
            "The kernel lacks cgroup controllers that a node needs: "
            f"{', '.join(engine.missing_controllers)}",
            "Turn them on at boot, `cgroup_enable=memory` for memory, and start the host anew.",
            details=f"cgroup v{engine.cgroup_version}, kernel {engine.kernel or 'unknown'}",
        )
    return fine("cgroups", f"cgroup v{engine.cgroup_version} with all controllers that are needed")


def kernel_findings(kernel: Kernel) -> Iterator[Finding]:
    """Whether the kernel has what containers and their network in the node need."""
    if not kernel:
        yield unknown("kernel", "The kernel of the engine's host cannot be seen from here")
        return
    seen = dict(kernel)
    tables = (seen.pop("iptables", "unknown"), seen.pop("nf_tables", "unknown"))
    absent = [feature for feature, presence in seen.items() if presence == "absent"]
    unclear = [feature for feature, presence in seen.items() if presence == "unknown"]
    for feature in absent:
        yield _missing_feature(feature, _MISSING_FEATURES[feature])
    if not {"there", "loadable"} & {*tables}:
        if set(tables) == {"absent"}:
            yield _missing_feature("ip_tables", "services do not answer")
        else:
            unclear.append("iptables or nf_tables")
    if unclear:
        yield unknown("kernel", f"It cannot be seen whether the kernel has {', '.join(unclear)}")
    elif not absent and "absent" not in tables:
        yield fine("kernel", "overlay, br_netfilter, iptables, nf_tables and vxlan can be had")


def _missing_feature(module: str, consequence: str) -> Finding:
    return Finding(
        check="kernel",
        severity="warning",
        brief=f"The kernel seems to lack {module}: {consequence}",
        remedies=(f"`modprobe {module}` as root, or install the kernel's extra modules.",),
    )


def disk_finding(engine: EngineInfo, host: HostFacts, *, is_new: bool) -> Finding:
    """Whether the engine's disk has room: for a new node, or for an existing one's datastore."""
    free, size = host.free_bytes, host.size_bytes
    if free is None:
        return unknown("disk", f"The disk of {engine.data_root} cannot be seen from here")
    needed = MIN_FREE_NEW if is_new else MIN_FREE_AGAIN
    remedies = ("`docker system df` shows what the engine holds; free some of it.",)
    if free < needed:
        return Finding(
            check="disk",
            severity="problem",
            brief=f"Not enough disk space below {engine.data_root}",
            details=f"{_mib(free)} are free, {_mib(needed)} are needed",
            remedies=remedies,
        )
    if host.free_inodes is not None and host.free_inodes < FEW_INODES:
        return Finding(
            check="disk",
            severity="warning",
            brief=f"The disk of {engine.data_root} can take only {host.free_inodes} more files",
            remedies=("`df -i` shows it: remove small files that nobody needs.",),
        )
    if size and (size - free) * 100 > size * FULL_PERCENT:
        return Finding(
            check="disk",
            severity="warning",
            brief=f"The disk of {engine.data_root} is {(size - free) * 100 // size} % full",
            details=f"{_mib(free)} of {_mib(size)} are free; past {FULL_PERCENT} % it is tight",
            remedies=remedies,
        )
    return fine("disk", f"{_mib(free)} are free below {engine.data_root}")


def memory_finding(engine: EngineInfo, host: HostFacts) -> Finding:
    """Whether there is memory for a node and some pods."""
    total, available = engine.memory_bytes, host.available_memory
    if total < MIN_MEMORY:
        return problem(
            "memory",
            f"The engine's host has {_mib(total)} of memory",
            "Give the host, or the engine's virtual machine, more memory.",
            details=f"A node alone needs {_mib(MIN_MEMORY)}.",
        )
    if total < GOOD_MEMORY:
        return Finding(
            check="memory",
            severity="warning",
            brief=f"The engine's host has {_mib(total)} of memory",
            details=f"With sandboxes in it a node wants {_mib(GOOD_MEMORY)}.",
            remedies=("Give the host, or the engine's virtual machine, more memory.",),
        )
    if available is not None and available < LITTLE_MEMORY:
        return Finding(
            check="memory",
            severity="warning",
            brief=f"Only {_mib(available)} of memory are available",
            remedies=("End programs that nobody needs; `docker stats` shows the containers'.",),
        )
    rest = "" if available is None else f", {_mib(available)} of it available"
    return fine("memory", f"{_mib(total)} of memory{rest}")


def inotify_findings(host: HostFacts) -> Iterator[Finding]:
    """Whether a kubelet and the pods can watch files."""
    instances, watches = host.inotify_instances, host.inotify_watches
    if instances is not None and instances < MIN_INOTIFY_INSTANCES:
        brief = "The kernel's limit fs.inotify.max_user_instances is too low for a node"
        yield _inotify("problem", brief, "max_user_instances", instances, GOOD_INOTIFY_INSTANCES)
    elif instances is not None and instances < GOOD_INOTIFY_INSTANCES:
        brief = f"fs.inotify.max_user_instances is {instances}, too few for several gateways"
        yield _inotify("warning", brief, "max_user_instances", instances, GOOD_INOTIFY_INSTANCES)
    if watches is not None and watches < MIN_INOTIFY_WATCHES:
        brief = "The kernel's limit fs.inotify.max_user_watches is too low for a node"
        yield _inotify("problem", brief, "max_user_watches", watches, GOOD_INOTIFY_WATCHES)
    if instances is None or watches is None:
        yield unknown("inotify", "The kernel's inotify limits cannot all be seen from here")
    elif instances >= GOOD_INOTIFY_INSTANCES and watches >= MIN_INOTIFY_WATCHES:
        yield fine("inotify", f"{instances} inotify instances and {watches} watches per user")


def _inotify(severity: Severity, brief: str, name: str, found: int, good: int) -> Finding:
    return Finding(
        check="inotify",
        severity=severity,
        brief=brief,
        details=f"fs.inotify.{name} = {found}",
        remedies=(f"`sysctl -w fs.inotify.{name}={good}` as root.",),
    )


def clock_finding(engine: EngineInfo) -> Finding:
    """Whether this host and the engine agree on the time: certificates are valid from a moment."""
    offset = engine.clock_offset_s
    if offset is None:
        return unknown("clock", "The engine does not tell its time")
    if abs(offset) <= CLOCK_TOLERANCE_S:
        return fine("clock", "The engine's clock agrees with this host's")
    return Finding(
        check="clock",
        severity="warning",
        brief=f"The engine's clock is {abs(offset):.0f} s "
        f"{'ahead of' if offset > 0 else 'behind'} this host's",
        details="Certificates that the node makes may count as not valid yet, or no longer.",
        remedies=("Set both clocks from one source: `timedatectl set-ntp true`.",),
    )


def _mib(count: int) -> str:
    return f"{count // 1024**2} MiB"
