"""Bring a gateway up: carry out the plan, wait for the node, clean up, record."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from openshell_bootstrap.cluster.kubeconfig import server_url
from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    BootstrapError,
    LockedError,
    NameConflictError,
    NodeStoppedError,
    PortConflictError,
)
from openshell_bootstrap.events import Notice
from openshell_bootstrap.gateway.checks.port_conflict import explain_conflict
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.inside.node_password import repair_after_ready
from openshell_bootstrap.gateway.inside.readiness import Readiness, find_cordon, find_shortage
from openshell_bootstrap.gateway.inside.stale_nodes import KeepPods, clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from openshell_bootstrap.gateway.journal import JournalFile
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import CleanedNodes, Started
from openshell_bootstrap.gateway.starting.after_start import (
    begin_of_life,
    finish_adoption,
    wait_for_node,
    wait_for_workloads,
)
from openshell_bootstrap.gateway.starting.carry_out import Acting
from openshell_bootstrap.gateway.starting.healthy import Healthy, find_healthy
from openshell_bootstrap.gateway.starting.node_versions import check_no_downgrade
from openshell_bootstrap.gateway.starting.plan import CreateNode, Pull, RemoveNode
from openshell_bootstrap.gateway.starting.prepare import Means, Prepared, prepare
from openshell_bootstrap.gateway.starting.resume import (
    is_farewell,
    kept_files,
    opener,
    pending_of,
    recreation_of,
    replaces,
)
from openshell_bootstrap.gateway.starting.save_records import Found, reachable, save_records
from openshell_bootstrap.models import GatewaySpec

_PORT_ATTEMPTS = 3
"""How often a port for the API is chosen, where the engine finds the chosen one taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Up:
    """A node that is ready; ``healthy`` where one look said that all is well."""

    container_id: str
    readiness: Readiness
    healthy: Healthy | None


def bring_up(request: StartRequest, means: Means) -> Started:
    """``start`` for a caller that holds the gateway's lock."""
    ready = prepare(request, means, may_pull=True)
    seen, spec = ready.seen, ready.settled.spec
    for notice in ready.plan.notices:
        means.report(Notice(notice))
    acting = Acting(engine=means.engine, request=request, spec=spec, seen=seen, report=means.report)
    evidence = Evidence(
        name=spec.name,
        operation="start",
        engine=means.engine,
        store=means.store,
        report=means.report,
    )
    try:
        with _first_start_leaves_nothing(acting, is_first=not seen.exists):
            up = _act(ready, acting, means, evidence)
    except PortConflictError as conflict:
        lost = means.lost_ports | {spec.api_port.host_port}
        was_chosen = request.api_port is None and not seen.exists
        if not was_chosen or len(lost) >= _PORT_ATTEMPTS:
            told = explain_conflict(conflict, spec, seen, means.engine, means.host)
            told.diagnostics = conflict.diagnostics
            raise told from conflict
        means.report(Notice(f"{conflict.brief}: another port is chosen."))
        return bring_up(request, replace(means, lost_ports=lost))
    except NodeStoppedError as stopped:
        means.report(Notice(f"{stopped.brief}: it was stopped meanwhile, and is started again."))
        return bring_up(request, means)
    with evidence.kept():
        return _settle_in(ready, acting, up, means)


def _act(ready: Prepared, acting: Acting, means: Means, evidence: Evidence) -> _Up:
    """Carry the plan out and wait; what can be seen of a failure is saved before any clean-up."""
    with evidence.kept():
        _carry_out(ready, acting, means, evidence)
        return _wait(ready, acting, evidence)


def _carry_out(ready: Prepared, acting: Acting, means: Means, evidence: Evidence) -> None:
    """Take the plan's steps; what a replacement needs to be gone on with is on the volume first."""
    name = ready.settled.spec.name
    will_replace, is_pending = replaces(ready.plan), pending_of(ready.seen) is not None

    for one in ready.plan.steps:
        if will_replace and is_farewell(one.action):
            _announce(ready, acting, means)
            will_replace, is_pending = False, True
        if isinstance(one.action, RemoveNode):
            evidence.keep_replaced(one.action.container)
        with _elsewhere(name):
            acting.do(one.action)
        if isinstance(one.action, Pull):
            check_no_downgrade(means.engine, ready.settled, ready.seen)
        if isinstance(one.action, CreateNode) and is_pending:
            _journal(ready, acting.node_id, means).finish()
            is_pending = False
    if is_pending:
        _journal(ready, acting.node_id or ready.seen.node_container_id, means).finish()
    else:
        means.store.journals.remove(name)  # a copy of what another host finished


def _announce(ready: Prepared, acting: Acting, means: Means) -> None:
    spec, seen = ready.settled.spec, ready.seen
    with opener(means.engine, seen, spec.image) as container_id:
        _journal(ready, container_id, means).begin(
            recreation_of(seen, spec, acting.request), kept_files(acting.request)
        )


def _journal(ready: Prepared, container_id: str, means: Means) -> JournalFile:
    return JournalFile(
        name=ready.settled.spec.name,
        engine=means.engine,
        container_id=container_id,
        store=means.store,
    )


@contextmanager
def _elsewhere(name: str) -> Iterator[None]:
    """The lock covers one host; where two share an engine, its names decide who was first."""
    try:
        yield
    except NameConflictError as conflict:
        raise LockedError(
            f"Another command, on another host or of another user, works on gateway {name!r}",
            details=conflict.details or conflict.brief,
            remedies=["Wait for it to end, and try again."],
        ) from conflict


def _wait(ready: Prepared, acting: Acting, evidence: Evidence) -> _Up:
    spec, engine = ready.settled.spec, evidence.engine
    container_id = acting.node_id or ready.seen.node_container_id
    was_left = not ready.plan.steps
    healthy = find_healthy(engine, container_id, spec, _identity(spec)) if was_left else None
    readiness = (
        healthy.readiness
        if healthy
        else wait_for_node(
            container_id, spec, acting.request.timeout_s, evidence, was_left=was_left
        )
    )
    return _Up(container_id=container_id, readiness=readiness, healthy=healthy)


def _identity(spec: GatewaySpec) -> Identity:
    return Identity(node_name=spec.node_name, host_name=spec.node_name)


def _settle_in(ready: Prepared, acting: Acting, up: _Up, means: Means) -> Started:
    """What comes once the node is ready: stale nodes, workloads, records."""
    spec, seen, report = ready.settled.spec, ready.seen, means.report
    node = ContainerNode(means.engine, up.container_id)
    cleaned = CleanedNodes()
    repaired: tuple[str, ...] = ()
    if not up.healthy:
        keep_pods = _keep_pods(spec.name, means)
        cleaned = clean_stale_nodes(node, _identity(spec), keep_pods=keep_pods, report=report)
        wait_for_workloads(node, spec, begin_of_life(up.readiness), report)
        if not acting.made_volume:
            repaired = repair_after_ready(node, up.readiness, report)
    kubeconfig, notices = save_records(
        node, means.store, spec=spec, readiness=up.readiness, found=_found(seen, up.healthy)
    )
    finish_adoption(means.engine, seen.names, seen, report)
    unwell = (find_shortage(up.readiness), find_cordon(up.readiness))
    return Started(
        name=spec.name,
        node_name=spec.node_name,
        endpoint=server_url(reachable(spec.api_port.address), spec.api_port.host_port),
        kubeconfig=kubeconfig,
        image=spec.image,
        actions=tuple(one.describe(ready.settled, seen) for one in ready.plan.steps),
        cleaned=cleaned,
        notices=(
            *ready.plan.notices,
            *repaired,
            *notices,
            *(f"The {cause}." for cause in unwell if cause),
        ),
    )


def _found(seen: Seen, healthy: Healthy | None) -> Found:
    """What need not be read again: a node that was started since may have written it anew."""
    if healthy is None:
        return Found()
    record = seen.record if isinstance(seen.record, GatewayRecord) else None
    return Found(record=record, kubeconfig=healthy.kubeconfig)


def _keep_pods(name: str, means: Means) -> KeepPods:
    """Save pods that nothing makes again, and say where."""

    def keep(pods: Sequence[Pod]) -> None:
        path = means.store.saved_pods.write(name, [pod.raw for pod in pods])
        means.report(Notice(f"They are in {path}, for `kubectl create -f`."))

    return keep


@contextmanager
def _first_start_leaves_nothing(acting: Acting, *, is_first: bool) -> Iterator[None]:
    """Take away what a failed first start made; an interrupted one stays for the next run."""
    try:
        yield
    except BootstrapError as error:
        if is_first:
            try:
                removed = acting.undo_first_start()
            except BootstrapError as failed:
                error.add_note(f"What this run made is still there: {failed.brief}")
            else:
                acting.report(Notice(f"Taken away again: {', '.join(removed) or 'nothing'}."))
        raise
