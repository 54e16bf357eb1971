"""A node password that its cluster does not know: the Secret with the other one's hash is removed.

The volume's own password is the one that stays, since every container of the gateway comes with
it. k3s makes the Secret anew from it: at once where it rejects the node, else at its next start.
"""

from datetime import datetime
from typing import Literal

import msgspec

from openshell_bootstrap.cluster.kubectl import Deletion, Kubectl, build_url
from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.cluster.objects import ObjectMeta, parse
from openshell_bootstrap.errors import (
    ClusterError,
    EngineError,
    NoSuchResourceError,
    WaitTimeoutError,
)
from openshell_bootstrap.events import Notice, Reporter
from openshell_bootstrap.gateway.inside.readiness import Readiness
from openshell_bootstrap.models import Patience
from openshell_bootstrap.settings import EXEC_PATIENCE
from openshell_bootstrap.waits import wait_until

EVENTS_PATH = "/api/v1/events?fieldSelector=reason%3DNodePasswordValidationFailed"
"""k3s 1.33 and later lets the node join and tells of its password by this event alone."""

MISMATCH = "hash does not match"
"""How the event's message ends where it is meant; k3s also records the reason for nothing."""


class _Involved(msgspec.Struct, frozen=True):
    name: str = ""


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    involved_object: _Involved
    message: str = ""
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: _Series | None = None

    def is_since(self, started_s: int) -> bool:
        series = self.series.last_observed_time if self.series else None
        told = (self.first_timestamp, self.last_timestamp, self.event_time, series)
        return any(moment is not None and moment.timestamp() >= started_s for moment in told)


class _EventList(msgspec.Struct, frozen=True):
    kind: Literal["EventList"]
    items: list[_Event]


class _Secret(msgspec.Struct, frozen=True):
    kind: Literal["Secret"]
    metadata: ObjectMeta


def repair_after_ready(node: NodeExec, seen: Readiness, report: Reporter) -> tuple[str, ...]:
    """Remove the Secret if this life of k3s found that the node's password does not fit it.

    Args:
        node: The gateway's container.
        seen: The look at which its node was ready; what was found in an earlier life of k3s
            proves nothing.
        report: Told of it at once.

    Returns:
        What the user should know. That nobody could look is no failure: the node is ready.
    """
    kubectl = Kubectl(node)
    try:
        events = parse(kubectl.get_raw(EVENTS_PATH), _EventList).items
        if not any(_is_mismatch(event, seen) for event in events):
            return ()
        said = _remove_secret(kubectl, seen.node_name)
    except (ClusterError, EngineError) as error:
        said = f"The node's password could not be checked: {error.brief}."
    report(Notice(said))
    return (said,)


def repair_rejected(
    node: NodeExec, node_name: str, report: Reporter, *, patience: Patience = EXEC_PATIENCE
) -> None:
    """Remove the Secret of a node that k3s before 1.33 rejects; k3s lets the node join then.

    What hinders it is told, and left to the wait that follows.
    """
    try:
        said = wait_until(
            lambda: _remove_secret(Kubectl(node), node_name),
            lambda _said: True,
            patience=patience,
            what="the cluster to let its Secret go",
        )
    except (ClusterError, EngineError, WaitTimeoutError) as error:
        said = f"The node's password could not be repaired: {error.brief}."
    report(Notice(said))


def _is_mismatch(event: _Event, seen: Readiness) -> bool:
    return (
        event.involved_object.name == seen.node_name
        and event.message.endswith(MISMATCH)
        and event.is_since(seen.started_s or 0)
    )


def _remove_secret(kubectl: Kubectl, node_name: str) -> str:
    """Remove the Secret that was looked at, and no other; what became of it."""
    name = f"{node_name}.node-password.k3s"
    url = build_url("secrets", name, namespace="kube-system")
    try:
        seen = parse(kubectl.get_raw(url), _Secret).metadata
    except NoSuchResourceError:
        return f"The node's password did not fit its Secret kube-system/{name}, which is gone."
    bound = Deletion(url=url, uid=seen.uid, resource_version=seen.resource_version)
    outcome = kubectl.delete([bound])[url]
    if outcome.kind in {"done", "gone"}:
        return (
            f"The cluster knew this node by another password than the volume's: the Secret "
            f"kube-system/{name} was removed, and k3s makes it anew."
        )
    return f"The Secret kube-system/{name} does not fit the node and stays: {outcome.message}."
