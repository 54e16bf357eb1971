"""Start a gateway: observe, plan, check, carry out, wait, clean up, record.

Safe to repeat: what stands is kept. What this run cannot finish stays as it is for the next one,
but for a first start that failed, which takes away what it made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from openshell_bootstrap.cluster.kubeconfig import server_url
from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import BootstrapError, ConfigError, GatewayStateError
from openshell_bootstrap.events import Notice, Reporter, silent, step
from openshell_bootstrap.gateway import preflight
from openshell_bootstrap.gateway.after_start import (
    Found,
    begin_of_life,
    finish_adoption,
    reachable,
    save_records,
    wait_for_node,
    wait_for_workloads,
)
from openshell_bootstrap.gateway.carry_out import Acting, pull_image
from openshell_bootstrap.gateway.healthy import Healthy, find_healthy
from openshell_bootstrap.gateway.host import Host
from openshell_bootstrap.gateway.node_password import repair_after_ready
from openshell_bootstrap.gateway.node_versions import check_no_downgrade
from openshell_bootstrap.gateway.observe import OnVolume, Seen, observe
from openshell_bootstrap.gateway.plan import CreateNode, Pull, StartPlan
from openshell_bootstrap.gateway.plan import plan_start as plan_steps
from openshell_bootstrap.gateway.ports import api_port_candidates, choose_api_port
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import CleanedNodes, Planned, Started
from openshell_bootstrap.gateway.settle import Settled, check_belongings, settle
from openshell_bootstrap.gateway.stale_nodes import KeepPods, clean_stale_nodes
from openshell_bootstrap.gateway.stale_plan import Identity
from openshell_bootstrap.models import PublishedPort, Unknown
from openshell_bootstrap.names import check_adopted_name, check_new_name
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an operation works with."""

    engine: Engine
    store: Store
    host: Host
    report: Reporter


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything decided, nothing done."""

    seen: Seen
    settled: Settled
    plan: StartPlan


def start(
    request: StartRequest,
    *,
    engine: Engine,
    store: Store,
    report: Reporter = silent,
    host: Host | None = None,
) -> Started:
    """Bring the gateway up and return once its node is ready and its workloads run.

    Raises:
        BootstrapError: With the exit code of its kind; nothing that is on a volume was removed.
    """
    _check_name(request.name)
    with store.lock(engine.info().id, request.name) as held:
        if held.notice:
            report(Notice(held.notice))
        means = Means(engine=engine, store=store, host=host or Host(), report=report)
        return bring_up(request, means)


def plan_start(
    request: StartRequest, *, engine: Engine, store: Store, host: Host | None = None
) -> Planned:
    """What ``start`` would do. Nothing is changed.

    Raises:
        BootstrapError: ``start`` would refuse.
    """
    _check_name(request.name)
    with store.lock(engine.info().id, request.name):
        notices: list[str] = []

        def note(event: object) -> None:
            if isinstance(event, Notice):
                notices.append(event.text)

        means = Means(engine=engine, store=store, host=host or Host(), report=note)
        ready = _prepare(request, means)
    return Planned(
        name=request.name,
        actions=tuple(one.describe(ready.settled, ready.seen) for one in ready.plan.steps),
        notices=(*ready.plan.notices, *notices),
    )


def _check_name(name: str) -> None:
    """Refuse, before the engine is asked anything, a name that no gateway can ever have had."""
    try:
        check_adopted_name(name)
    except ConfigError:
        check_new_name(name)


def bring_up(request: StartRequest, means: Means) -> Started:
    """``start`` for a caller that holds the gateway's lock."""
    engine, report = means.engine, means.report
    ready = _prepare(request, means, may_pull=True)
    for notice in ready.plan.notices:
        report(Notice(notice))
    spec, seen = ready.settled.spec, ready.seen
    identity = Identity(node_name=spec.node_name, host_name=spec.node_name)
    acting = Acting(engine=engine, request=request, spec=spec, seen=seen, report=report)
    with _first_start_leaves_nothing(acting, is_first=not seen.exists):
        for one in ready.plan.steps:
            acting.do(one.action)
            if isinstance(one.action, Pull):
                check_no_downgrade(engine, ready.settled, seen)
        container_id = acting.node_id or seen.node_container_id
        healthy = None if ready.plan.steps else find_healthy(engine, container_id, spec, identity)
        readiness = (
            healthy.readiness
            if healthy
            else wait_for_node(engine, container_id, spec, request.timeout_s, report)
        )
    node = ContainerNode(engine, container_id)
    cleaned = CleanedNodes()
    repaired: tuple[str, ...] = ()
    if not healthy:
        keep_pods = _keep_pods(spec.name, means)
        cleaned = clean_stale_nodes(node, identity, keep_pods=keep_pods, report=report)
        wait_for_workloads(node, spec, begin_of_life(readiness), report)
        if not acting.made_volume:
            repaired = repair_after_ready(node, readiness, report)
    kubeconfig, notices = save_records(
        node, means.store, spec=spec, readiness=readiness, found=_found(seen, healthy)
    )
    finish_adoption(engine, seen.names, seen, report)
    return Started(
        name=spec.name,
        node_name=spec.node_name,
        endpoint=server_url(reachable(spec.api_port.address), spec.api_port.host_port),
        kubeconfig=kubeconfig,
        image=spec.image,
        actions=tuple(one.describe(ready.settled, seen) for one in ready.plan.steps),
        cleaned=cleaned,
        notices=(*ready.plan.notices, *repaired, *notices),
    )


def _found(seen: Seen, healthy: Healthy | None) -> Found:
    """What need not be read again: a node that was started since may have written it anew."""
    if healthy is None:
        return Found()
    record = seen.record if isinstance(seen.record, GatewayRecord) else None
    return Found(record=record, kubeconfig=healthy.kubeconfig)


def _prepare(request: StartRequest, means: Means, *, may_pull: bool = False) -> Prepared:
    """Observe, settle, plan and check."""
    seen = _observe(request, means, may_pull=may_pull)
    return _decide(request, means, seen, seen)


def check_restart(request: StartRequest, means: Means) -> None:
    """Refuse, while the gateway runs, what a start would refuse once it is stopped.

    Raises:
        BootstrapError: ``start`` would refuse.
    """
    seen = _observe(request, means, may_pull=False)
    if seen.container is not None and seen.container.is_up:
        stopped = replace(seen, container=replace(seen.container, status="exited"))
        _decide(request, replace(means, report=silent), seen, stopped)


def examine(request: StartRequest, means: Means) -> preflight.Checks:
    """What a start would be checked for, by a caller that holds the gateway's lock.

    Raises:
        BootstrapError: There is no telling, because ``start`` would refuse before.
    """
    seen = _observe(request, means, may_pull=False)
    return _settle_and_plan(request, means, seen)[1]


def _decide(request: StartRequest, means: Means, seen: Seen, planned: Seen) -> Prepared:
    """Settle and plan on ``planned``, and check against what is there now."""
    settled, checks = _settle_and_plan(request, means, planned)
    checks = replace(checks, seen=seen)
    preflight.check(checks, host=means.host, report=means.report)
    creates = any(isinstance(one.action, CreateNode) for one in checks.plan.steps)
    if checks.image_present and creates:
        check_no_downgrade(means.engine, settled, seen)
    return Prepared(seen=seen, settled=settled, plan=checks.plan)


def _settle_and_plan(
    request: StartRequest, means: Means, seen: Seen
) -> tuple[Settled, preflight.Checks]:
    def choose_port() -> PublishedPort:
        candidates = api_port_candidates(request.name, seen.host.ephemeral_ports)
        holder = means.host.port_holder if seen.engine.is_local else lambda _port: None
        return choose_api_port(candidates, seen.others, holder)

    settled = settle(request, seen, default_image=DEFAULT_NODE_IMAGE, choose_port=choose_port)
    present = means.engine.images.find(settled.spec.image) is not None
    plan = plan_steps(request, settled, seen, image_present=present)
    return settled, preflight.Checks(
        request=request, spec=settled.spec, seen=seen, plan=plan, image_present=present
    )


def _observe(request: StartRequest, means: Means, *, may_pull: bool) -> Seen:
    """Look, and where the volume can only be opened by an image that is absent, pull it first."""
    engine, host = means.engine, means.host
    host_record = means.store.records.find(request.name)
    recorded = host_record.container_image if isinstance(host_record, HostRecord) else None
    images = [image for image in (request.image, recorded, DEFAULT_NODE_IMAGE) if image]

    def look() -> Seen:
        seen = observe(
            request.name,
            engine=engine,
            host=host,
            helper_images=images,
            with_token=request.token is not None,
        )
        if isinstance(host_record, HostRecord) and host_record.schema is not None:
            return replace(seen, host_copy=host_record)
        return seen

    seen = look()
    check_belongings(seen)
    _refuse_lost_volume(seen, host_record)
    if isinstance(seen.on_volume, Unknown) and may_pull and request.pull != "never":
        with step(means.report, f"Pulling {images[0]}"):
            pull_image(engine, images[0], lambda _item, _done, _total: None)
        seen = look()
    _refuse_emptied_volume(seen)
    return seen


def _refuse_lost_volume(seen: Seen, host_record: HostRecord | Unknown | None) -> None:
    """Never start empty where data was: only the user can say that it is given up."""
    container = seen.container or seen.aside
    has_run = container is not None and container.has_started
    if seen.volume is None and (has_run or isinstance(host_record, HostRecord)):
        name = seen.names.gateway
        raise GatewayStateError(
            f"The data volume of the gateway {name!r} is gone",
            details=f"There is no volume {seen.names.volume} on the engine at "
            f"{seen.engine.endpoint} ({seen.engine.endpoint_source}).",
            remedies=[
                "Look whether this is the right engine, and bring the volume back if it is.",
                f"`openshell gateway destroy --name {name}` gives its data up; then start anew.",
            ],
        )


def _refuse_emptied_volume(seen: Seen) -> None:
    """The same for a volume that bears the name and nothing of the cluster this host knows."""
    known = seen.host_copy.cluster_id if seen.host_copy is not None else ""
    on_volume = seen.on_volume
    if not known or not isinstance(on_volume, OnVolume):
        return
    if on_volume.record is None and not on_volume.cluster_id:
        name = seen.names.gateway
        raise GatewayStateError(
            f"The data volume of the gateway {name!r} is empty",
            details=f"The volume {seen.names.volume} holds neither a record nor authorities, and "
            f"this host knows that the gateway had a cluster ({known[:12]}): starting would make a "
            "new one, with none of its sandboxes and claims.",
            remedies=[
                "Look whether this is the right engine, and bring the volume's files back if it "
                "is.",
                f"`openshell gateway destroy --name {name}` gives the old cluster up; then start "
                "anew.",
            ],
        )


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
