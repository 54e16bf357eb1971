"""``doctor check``: all that can keep a gateway from starting or from staying well, at once.

It asks the same questions as a start's own checks, about the same gateway, and some more that a
start does not hang on. Nothing is changed but for a container that it makes, tries and removes.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import BootstrapError, ConfigError, EngineError, LockedError
from openshell_bootstrap.events import silent
from openshell_bootstrap.gateway.checks import preflight
from openshell_bootstrap.gateway.checks.findings import (
    CLOCK_TOLERANCE_S,
    Finding,
    engine_finding,
    fine,
    kernel_findings,
    machine_findings,
    problem,
    prune_finding,
    unknown,
)
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.checks.privileged import try_privileged
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import Checked, CheckedMatter
from openshell_bootstrap.gateway.starting.prepare import Means, examine
from openshell_bootstrap.models import EngineInfo, Volume
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE, Settings
from openshell_bootstrap.store.host import Store

_ORDER = ("problem", "warning", "unknown", "fine")


def check(
    request: StartRequest,
    *,
    connect: Callable[[], Engine],
    store: Store,
    settings: Settings,
    host: Host | None = None,
) -> Checked:
    """Look at everything; what cannot be seen is said to be unknown.

    Args:
        request: The start that is thought of; its gateway may be there or not.
        connect: Gives the engine that is meant, or raises that nobody can tell which.
        store: This user's files.
        settings: What the environment says.
        host: This host.
    """
    host = host or Host()
    found = [*_of_user(store, host, settings)]
    try:
        engine = connect()
        info = engine.info()
    except BootstrapError as error:
        rest = "its host, the gateway's volume, network, image and ports"
        found.append(Finding.of_error("engine", error))
        found.append(unknown("gateway", f"Without the engine nothing is known of {rest}"))
    else:
        means = Means(engine=engine, store=store, host=host, report=silent)
        found = [*_of_engine(request, means, info, settings), *found]
    found.sort(key=lambda finding: _ORDER.index(finding.severity))
    matters = tuple(_matter(finding) for finding in found)
    first = next((one.exit_code for one in matters if one.exit_code), 0)
    return Checked(name=request.name, checks=matters, exit_code=first)


def _matter(finding: Finding) -> CheckedMatter:
    return CheckedMatter(
        check=finding.check,
        severity=finding.severity,
        brief=finding.brief,
        details=finding.details,
        remedies=tuple(finding.remedies),
        exit_code=finding.kind.exit_code if finding.severity == "problem" else 0,
    )


def _of_engine(
    request: StartRequest, means: Means, info: EngineInfo, settings: Settings
) -> Iterator[Finding]:
    yield engine_finding(info)
    yield prune_finding(info)
    yield from kernel_findings(means.host.kernel(info))
    yield from _proxy_findings(settings, info)
    yield from _of_gateway(request, means, info)


def _of_gateway(request: StartRequest, means: Means, info: EngineInfo) -> Iterator[Finding]:
    """What a start of this very gateway would meet."""
    image = request.image or DEFAULT_NODE_IMAGE
    try:
        with means.store.lock(info.id, request.name) as held:
            yield _lock_finding(request.name, held.notice)
            checks = examine(request, means)
    except LockedError as error:
        yield unknown("lock", error.brief, error.details)
        yield from machine_findings(info, means.host.facts(info), is_new=False)
    except BootstrapError as error:
        yield Finding.of_error("gateway", error)
        yield from machine_findings(info, means.host.facts(info), is_new=False)
    else:
        image = checks.spec.image
        yield from preflight.standing_findings(checks)
        yield from preflight.host_findings(checks, means.host)
        yield from _volume_age(checks.seen.volume, means.host)
    yield try_privileged(means.engine, info, image if _is_present(means.engine, image) else None)


def _lock_finding(name: str, notice: str) -> Finding:
    if not notice:
        return fine("lock", f"The lock of gateway {name} can be held")
    return Finding(
        check="lock",
        severity="warning",
        brief=notice,
        remedies=("Let root make the folder: `mkdir -m 1777 -p /run/lock/openshell`.",),
    )


def _volume_age(volume: Volume | None, host: Host) -> Iterator[Finding]:
    """A clock that was set back: certificates are older than the volume that they lie on."""
    if volume is None:
        return
    try:
        made_at = datetime.fromisoformat(volume.created_at).timestamp()
    except ValueError:
        return
    if host.now() < made_at - CLOCK_TOLERANCE_S:
        yield problem(
            "clock",
            "This host's clock stands before the moment at which the volume was made",
            "Set the clock: `timedatectl set-ntp true`.",
            details=f"The volume {volume.name} was made at {volume.created_at}: the cluster's "
            "certificates are not valid yet.",
        )


def _is_present(engine: Engine, image: str) -> bool:
    try:
        return engine.images.find(image) is not None
    except EngineError:
        return False


def _proxy_findings(settings: Settings, info: EngineInfo) -> Iterator[Finding]:
    """What is amiss with the proxy settings. Names alone are told: an address may hold a secret."""
    if not settings.proxies:
        yield fine("proxy", "No proxy is set")
        return
    if settings.proxy_conflicts:
        yield Finding(
            check="proxy",
            severity="warning",
            brief="The spellings of a proxy variable differ: "
            + ", ".join(f"{name} and {name.lower()}" for name in settings.proxy_conflicts),
            details="The node is given the upper-case one; other programs take the other.",
            remedies=("Give both the same value, or unset one.",),
        )
    if settings.proxies_loopback:
        yield Finding(
            check="proxy",
            severity="warning",
            brief="Some clients on this host ask the proxy for the gateway's API on 127.0.0.1",
            details="NO_PROXY does not except it.",
            remedies=('`export NO_PROXY="$NO_PROXY,127.0.0.1,localhost"`.',),
        )
    if not info.has_proxy:
        yield Finding(
            check="proxy",
            severity="warning",
            brief="The engine itself has no proxy, and it is the one that pulls the node image",
            remedies=("Where a pull fails: docs.docker.com/engine/daemon/proxy says how.",),
        )
    kept_out = settings.proxies["NO_PROXY"]
    yield fine("proxy", f"The node is given the proxy settings, with NO_PROXY={kept_out}")


def _of_user(store: Store, host: Host, settings: Settings) -> Iterator[Finding]:
    """The folders where this user's files go."""
    folders = {
        store.config: "XDG_CONFIG_HOME",
        store.state: "XDG_STATE_HOME",
        settings.kubeconfig.parent: "KUBECONFIG",
    }
    refused = False
    for folder, variable in folders.items():
        why = host.unwritable(folder)
        if why is None:
            continue
        refused = True
        is_needed = folder != settings.kubeconfig.parent
        yield Finding(
            check="folders",
            severity="problem" if is_needed else "warning",
            brief=f"No file can be written in {folder}: {why}",
            remedies=(f"Make it yours to write, or set {variable} to another place.",),
            kind=ConfigError,
        )
    if not refused:
        yield fine("folders", f"{', '.join(map(str, folders))} can be written")
