"""Everything decided and nothing done: what a start finds, settles on, plans and checks."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.events import Notice, Reporter, silent, step
from openshell_bootstrap.gateway.checks import preflight
from openshell_bootstrap.gateway.checks.findings import disk_finding
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.checks.ports import api_port_candidates, choose_api_port
from openshell_bootstrap.gateway.classify import classify
from openshell_bootstrap.gateway.lock import hold_lock
from openshell_bootstrap.gateway.observe import OnVolume, Seen, observe
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.carry_out import pull_image
from openshell_bootstrap.gateway.starting.lost_volume import is_given_up
from openshell_bootstrap.gateway.starting.node_versions import check_no_downgrade
from openshell_bootstrap.gateway.starting.plan import CreateNode, StartPlan
from openshell_bootstrap.gateway.starting.plan import plan_start as plan_steps
from openshell_bootstrap.gateway.starting.resume import complete, describe_resumed, take_up
from openshell_bootstrap.gateway.starting.settle import Settled, check_belongings, settle
from openshell_bootstrap.models import PublishedPort, Unknown
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an operation works with.

    Attributes:
        lost_ports: Ports of the host that the engine could not bind in this run.
    """

    engine: Engine
    store: Store
    host: Host
    report: Reporter
    lost_ports: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything decided, nothing done."""

    seen: Seen
    settled: Settled
    plan: StartPlan


def lock_for(request: StartRequest, means: Means) -> AbstractContextManager[None]:
    """The gateway's lock, for as long as an operation works on it."""
    info = means.engine.info()
    return hold_lock(request.name, engine=info, store=means.store, report=means.report)


def prepare(request: StartRequest, means: Means, *, may_pull: bool = False) -> Prepared:
    """Observe, settle, plan and check."""
    seen = _observe(request, means, may_pull=may_pull)
    if resumed := describe_resumed(seen):
        means.report(Notice(resumed))
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
    request = complete(request, seen)

    def choose_port() -> PublishedPort:
        candidates = (
            port
            for port in api_port_candidates(request.name, seen.host.ephemeral_ports)
            if port.host_port not in means.lost_ports
        )
        holder = means.host.port_holder if seen.engine.is_local else lambda _port: None
        return choose_api_port(candidates, seen.others, holder)

    settled = settle(request, seen, default_image=DEFAULT_NODE_IMAGE, choose_port=choose_port)
    present = means.engine.images.find(settled.spec.image) is not None
    plan = plan_steps(request, settled, seen, image_present=present)
    return settled, preflight.Checks(
        request=request,
        spec=settled.spec,
        seen=seen,
        plan=plan,
        image_present=present,
        networks=tuple(means.engine.networks.list({})) if settled.spec.subnet else (),
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
    _refuse_full_disk(seen)
    check_belongings(seen)
    is_empty = is_given_up(request, seen, host_record)
    if isinstance(seen.on_volume, Unknown) and may_pull and request.pull != "never":
        with step(means.report, f"Pulling {images[0]}"):
            pull_image(engine, images[0], lambda _item, _done, _total: None)
        seen = look()
        is_empty = is_given_up(request, seen, host_record)
    return replace(seen, host_copy=None) if is_empty else take_up(seen)


def _refuse_full_disk(seen: Seen) -> None:
    """An engine without any room cannot even read a volume: tell the cause, not its effect."""
    if isinstance(seen.on_volume, OnVolume) and classify(seen).record == "unknown":
        finding = disk_finding(seen.engine, seen.host, is_new=False)
        if finding.severity == "problem":
            raise finding.as_error()
