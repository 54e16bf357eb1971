"""Never start empty where data was: only the user can say that it is given up. Pure."""

from openshell_bootstrap.errors import GatewayStateError, LostVolumeError
from openshell_bootstrap.gateway.classify import classify
from openshell_bootstrap.gateway.observe import Seen
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.store.metadata import HostRecord

_LOOK = "Look whether this is the right engine, and bring the volume back if it is."
_START_EMPTY = "`openshell gateway start --start-empty` gives its data up and starts anew."


def is_given_up(
    request: StartRequest, seen: Seen, host_record: HostRecord | Unknown | None
) -> bool:
    """The data is lost, and the user said that the gateway may start empty.

    Args:
        request: What was asked.
        seen: What is there.
        host_record: What this host knows of the gateway, whichever release wrote it.

    Raises:
        LostVolumeError: It is lost, and the user said nothing.
        GatewayStateError: It is lost, and what ran on it still stands.
    """
    lost = _absent(seen, host_record) or _emptied(seen)
    if lost is not None and not request.start_empty:
        raise lost
    return lost is not None


def _absent(seen: Seen, host_record: HostRecord | Unknown | None) -> LostVolumeError | None:
    name = seen.names.gateway
    brief = f"The data volume of the gateway {name!r} is gone"
    details = (
        f"There is no volume {seen.names.volume} on the engine at {seen.engine.endpoint} "
        f"({seen.engine.endpoint_source})."
    )
    if seen.volume is not None:
        return None
    if any(one is not None and one.has_started for one in (seen.container, seen.aside)):
        raise GatewayStateError(
            brief,
            details=details,
            remedies=[
                _LOOK,
                f"`openshell gateway destroy --name {name}` gives its data up; then start anew.",
            ],
        )
    if isinstance(host_record, HostRecord):
        return LostVolumeError(brief, details=details, remedies=[_LOOK, _START_EMPTY])
    return None


def _emptied(seen: Seen) -> LostVolumeError | None:
    """A volume that bears the name and nothing of the cluster that this host knows."""
    if classify(seen).volume != "emptied":
        return None
    known = (seen.host_copy and seen.host_copy.cluster_id) or ""
    return LostVolumeError(
        f"The data volume of the gateway {seen.names.gateway!r} is empty",
        details=f"The volume {seen.names.volume} holds neither a record nor authorities, and this "
        f"host knows that the gateway had a cluster ({known[:12]}): starting would make a new "
        "one, with none of its sandboxes and claims.",
        remedies=[
            "Look whether this is the right engine, and bring the volume's files back if it is.",
            _START_EMPTY,
        ],
    )
