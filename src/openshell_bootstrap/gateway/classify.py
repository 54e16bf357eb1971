"""From what was seen of a gateway to the state of its parts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.record import DamagedRecord, GatewayRecord, NewerRecord
from openshell_bootstrap.gateway.state import (
    ContainerPart,
    NetworkPart,
    Part,
    RecordPart,
    State,
    VolumePart,
)
from openshell_bootstrap.models import Container, Network, Unknown, Volume
from openshell_bootstrap.names import LABEL_GATEWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What was seen of a gateway, but for the inside of its node.

    Attributes:
        networks: All of its network's name.
        on_volume: What its volume holds; None where nobody looked.
        cluster_id: The cluster that this host's record knows; empty where it knows of none.
        is_known: This host has a record of it, or a container that ran is kept aside.
    """

    container: Container | None
    volume: Volume | None
    networks: Sequence[Network]
    on_volume: OnVolume | Unknown | None
    cluster_id: str
    is_known: bool


def classify(seen: Seen) -> State:
    """The state of what ``start`` looks at before it plans."""
    copy = seen.host_copy
    return build_state(
        seen.names.gateway,
        Outside(
            container=seen.container,
            volume=seen.volume,
            networks=seen.networks,
            on_volume=seen.on_volume,
            cluster_id=(copy and copy.cluster_id) or "",
            is_known=copy is not None or (seen.aside is not None and seen.aside.has_started),
        ),
    )


def build_state(name: str, seen: Outside) -> State:
    """The state of the parts outside of the node of the gateway of that name."""
    container = seen.container
    lost = lost_network(seen.networks, container) if container else ""
    said: dict[Part, str] = {"network": lost}
    network: NetworkPart = "lost" if lost else "ok"
    if container is not None and container.has_started and not container.is_up:
        said["container"] = describe_end(container)
    record, said["record"] = _record(name, seen.volume, seen.on_volume)
    return State(
        name=name,
        container=find_container_part(container),
        volume=_volume(seen.volume, seen.on_volume, seen.cluster_id),
        network=network,
        record=record,
        health=container.health.status if container else "none",
        is_retired=container is not None and LABEL_GATEWAY not in container.labels,
        is_known=seen.is_known,
        said=said,
    )


def find_container_part(container: Container | None) -> ContainerPart:
    """The engine's word, but for a container that never started: it may be half made."""
    if container is None:
        return "absent"
    if not container.has_started and not container.is_up:
        return "created"
    return "exited" if container.status == "created" else container.status


def describe_end(container: Container) -> str:
    """How a container ended."""
    return container.error or f"its container ended with exit code {container.exit_code}"


def lost_network(networks: Sequence[Network], container: Container) -> str:
    """Why the container's network is not the gateway's: Docker keeps its id, not its name."""
    attached = {one.network_id for one in container.attachments if one.network_id}
    present = {network.id for network in networks}
    if not present:
        return "its network is gone"
    if not attached:
        return "it is on no network"
    if not attached & present:
        return "its network was made again since"
    return ""


def _volume(
    volume: Volume | None, on_volume: OnVolume | Unknown | None, cluster_id: str
) -> VolumePart:
    if volume is None:
        return "absent"
    bears_nothing = (
        isinstance(on_volume, OnVolume) and on_volume.record is None and not on_volume.cluster_id
    )
    return "emptied" if cluster_id and bears_nothing else "present"


def _record(
    name: str, volume: Volume | None, on_volume: OnVolume | Unknown | None
) -> tuple[RecordPart, str]:
    if on_volume is None:
        return ("none" if volume is None else "unread"), ""
    if isinstance(on_volume, Unknown):
        return "unknown", on_volume.cause
    match on_volume.record:
        case None:
            return "none", ""
        case DamagedRecord(cause):
            return "damaged", cause
        case NewerRecord(cause):
            return "newer", f"it was made by a newer release of this command: {cause}"
        case Unknown(cause):
            return "unknown", cause
        case GatewayRecord() as record:
            return _of_record(name, record, on_volume.cluster_id)


def _of_record(name: str, record: GatewayRecord, cluster_id: str) -> tuple[RecordPart, str]:
    if record.name != name:
        return "other-gateway", f"its volume holds the gateway {record.name!r}, not {name!r}"
    if record.cluster_id and cluster_id and record.cluster_id != cluster_id:
        return "other-cluster", ""
    return "ours", ""
