"""What follows once the node's container runs: wait, and explain what keeps it from being ready."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from openshell_bootstrap.cluster.evidence import describe_unwell, observe_evidence
from openshell_bootstrap.cluster.kubectl import Kubectl, await_kubelet
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.workloads import observe_workloads
from openshell_bootstrap.diagnosis import DECISIVE, NODE_PASSWORD_REJECTED, About, Signs, diagnose
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import (
    BootstrapError,
    ClusterError,
    EngineError,
    GatewayStateError,
    GatewayUnhealthyError,
    NodeStoppedError,
    WaitFailedError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import NodeLog, Notice, Reporter, silent, step
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.evidence.node_log import (
    SIGN_LINES,
    find_sign,
    last_log_lines,
    parse_moment,
)
from openshell_bootstrap.gateway.inside.node_password import repair_rejected
from openshell_bootstrap.gateway.inside.readiness import (
    Readiness,
    find_failure,
    is_ready,
    observe_readiness,
)
from openshell_bootstrap.gateway.inside.workloads import expected_workloads, missing_workloads
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.models import Container, GatewaySpec, Patience
from openshell_bootstrap.names import GatewayNames
from openshell_bootstrap.settings import READY_PATIENCE, STOP_GRACE_S, WORKLOADS_PATIENCE
from openshell_bootstrap.waits import wait_until

_LOG_LINES = 20
_SHOWN_PODS = 6


def wait_for_node(
    container_id: str,
    spec: GatewaySpec,
    timeout_s: float,
    evidence: Evidence,
    *,
    was_left: bool = False,
) -> Readiness:
    """Wait until the node of this life is ready and schedulable.

    Args:
        container_id: The node's container.
        spec: The gateway's settings.
        timeout_s: How long the node may take.
        evidence: Knows the engine; saves what can be seen where the node does not become ready.
        was_left: This run found the node running, and left it so.

    Raises:
        NodeStoppedError: It was left running, and ended in order or was removed since.
        GatewayStateError: The node refuses to start; it was stopped, so that it does not loop.
        GatewayUnhealthyError: It ended, or cannot become ready.
        WaitTimeoutError: It did not become ready in time; it still runs.
    """
    engine, report = evidence.engine, evidence.report
    begun = engine.containers.find(container_id)
    with step(report, "Waiting for the node"):
        try:
            return wait_until_ready(engine, container_id, spec.node_name, timeout_s, report)
        except (WaitFailedError, WaitTimeoutError) as error:
            if was_left and _was_taken_away(engine, container_id):
                raise NodeStoppedError(error.brief, details=error.details) from error
            explained = _explain(error, _read_signs(engine, begun), _about(spec), report)
            evidence.keep(explained)
            if isinstance(explained, GatewayStateError):
                _stop_refusing(engine, container_id, explained)
            raise explained from error


def _was_taken_away(engine: Engine, container_id: str) -> bool:
    """It ended in order, or is gone: a stop goes on although the command that asked was killed."""
    try:
        now = engine.containers.find(container_id)
    except EngineError:
        return False
    return now is None or (now.status == "exited" and now.exit_code == 0 and not now.error)


def wait_until_ready(
    engine: Engine, container_id: str, node_name: str, timeout_s: float, report: Reporter = silent
) -> Readiness:
    """The bare wait, in which a rejected node password is repaired; raises as ``wait_until``."""
    begun = time.monotonic()
    node = ContainerNode(engine, container_id)
    await_kubelet(node, timeout_s)

    def wait(ready: Callable[[Readiness], bool]) -> Readiness:
        left = timeout_s - (time.monotonic() - begun)
        return wait_until(
            lambda: _with_sign(engine, observe_readiness(engine, container_id, node_name)),
            ready,
            failed=find_failure,
            patience=Patience(timeout_s=left, interval_s=READY_PATIENCE.interval_s),
            what=f"the node {node_name}",
        )

    seen = wait(lambda seen: is_ready(seen) or _is_rejected(seen))
    if is_ready(seen):
        return seen
    repair_rejected(node, node_name, report)
    return wait(is_ready)


def _is_rejected(seen: Readiness) -> bool:
    return seen.sign is not None and seen.sign.cause == NODE_PASSWORD_REJECTED


def _with_sign(engine: Engine, seen: Readiness) -> Readiness:
    """What the log of this life of k3s says, of which a node that is not ready may know nothing."""
    container = seen.container
    if container is None or not container.is_up:
        return seen
    try:
        sign = find_sign(engine, container, since_s=seen.started_s or 0, causes=DECISIVE)
    except EngineError:  # not every log driver can be read, and the next look may be luckier
        return seen
    return replace(seen, sign=sign)


def _about(spec: GatewaySpec) -> About:
    return About(
        gateway=spec.name,
        node=spec.node_name,
        image=spec.image,
        address=spec.api_port.address,
        port=spec.api_port.host_port,
    )


def _read_signs(engine: Engine, begun: Container | None) -> Signs:
    """What there is to see of a node that did not become ready.

    Args:
        engine: Where it is.
        begun: Its container as it was when the wait began. The engine may have started it again
            since, and then its own log begins there.
    """
    if begun is None:
        return Signs()
    try:
        now = engine.containers.find(begun.id)
        return Signs.of(now, last_log_lines(engine, begun, SIGN_LINES))
    except EngineError as error:  # the wait's own error still tells what it waited for
        return Signs(lines=(f"The log cannot be read: {error.brief}",))


def _explain(error: BootstrapError, signs: Signs, about: About, report: Reporter) -> BootstrapError:
    """Show the node's last lines and say what they mean."""
    for line in signs.lines[-_LOG_LINES:]:
        report(NodeLog(line))
    # The engine may date the container's start after its first line, which is a refusal's only one.
    known = diagnose(replace(signs, lines=(error.brief, *signs.lines)), about)
    if known is not None and known.refused:
        return GatewayStateError(known.brief, details=known.evidence, remedies=known.remedies)
    shown = [known.evidence] if known and known.evidence else signs.lines[-3:]
    details = "\n".join(part for part in (error.details, *shown) if part)
    logs = f"`openshell gateway logs --name {about.gateway}` shows the whole log."
    brief = f"{error.brief}: {known.brief}" if known else error.brief
    kind = WaitTimeoutError if isinstance(error, WaitTimeoutError) else GatewayUnhealthyError
    return kind(brief, details=details, remedies=(*(known.remedies if known else ()), logs))


def _stop_refusing(engine: Engine, container_id: str, error: BootstrapError) -> None:
    """Stop a node for which trying again changes nothing: the engine would start it for ever."""
    try:
        engine.containers.stop(container_id, STOP_GRACE_S)
    except EngineError as failed:
        error.add_note(f"It could not be stopped: {failed.brief}")


def wait_for_workloads(
    node: NodeExec, spec: GatewaySpec, begun: datetime, report: Reporter
) -> None:
    """Wait until the node's own workloads (DNS, storage) are available.

    Args:
        node: The gateway's node.
        spec: Says which addons are off.
        begun: When the node's container was started.
        report: Told of the phase.

    Raises:
        WaitTimeoutError: Not all of them became available in time; the gateway runs on. That
            the engine let nobody look is only reported: the node was seen ready before.
    """
    expected = expected_workloads(spec)
    with step(report, "Waiting for the node's workloads"):
        try:
            wait_until(
                lambda: observe_workloads(Kubectl(node), begun),
                lambda seen: missing_workloads(seen, expected) == (),
                patience=WORKLOADS_PATIENCE,
                what="the node's own workloads",
            )
        except WaitTimeoutError as error:
            if not isinstance(error.__cause__, EngineError):
                raise _explain_workloads(node, spec, error) from error
            report(Notice(f"The node's workloads could not be seen: {error.__cause__.brief}."))


def _explain_workloads(
    node: NodeExec, spec: GatewaySpec, error: WaitTimeoutError
) -> WaitTimeoutError:
    """Say what keeps pods from running, as far as the cluster tells."""
    try:
        lines = describe_unwell(observe_evidence(Kubectl(node)))
    except (ClusterError, EngineError) as unseen:
        lines = (f"The pods cannot be seen: {unseen.brief}",)
    known = diagnose(Signs(lines=lines), _about(spec))
    details = "\n".join(part for part in (error.details, *lines[:_SHOWN_PODS]) if part)
    pods = f"`openshell gateway kubectl --name {spec.name} get pods -A` tells more."
    brief = f"{error.brief}: {known.brief}" if known else error.brief
    return WaitTimeoutError(brief, details, (*(known.remedies if known else ()), pods))


def begin_of_life(readiness: Readiness) -> datetime:
    """When the node's container was started: no pod outlives it."""
    if readiness.container is None:
        raise GatewayUnhealthyError("The node's container is gone")
    return parse_moment(readiness.container.started_at)


def finish_adoption(engine: Engine, names: GatewayNames, seen: Seen, report: Reporter) -> None:
    """Remove the container that was set aside, now that its successor is ready."""
    if seen.aside is None and not seen.is_retired:
        return
    for container in engine.containers.list():
        if container.name == names.aside(container.id) and not container.is_up:
            with step(report, "Removing the container that was set aside"):
                engine.containers.remove(container.id, volumes=True)
