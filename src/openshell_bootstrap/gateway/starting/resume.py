"""What an interrupted command left to be finished or undone, for the next command."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.journal import (
    Journal,
    JournalFile,
    NewerJournal,
    Recreation,
    decode_journal,
    describe_begun,
    describe_pending,
)
from openshell_bootstrap.gateway.observe import KEPT_REGISTRIES, OnVolume, Seen, helper, opens
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import RemoveNode, SetAside, StartPlan, StopNode
from openshell_bootstrap.models import FileEntry, GatewaySpec, Unknown
from openshell_bootstrap.names import GatewayNames
from openshell_bootstrap.store.host import Store


def find_pending(name: str, *, engine: Engine, store: Store) -> str:
    """What is pending for a gateway, in a sentence; empty where nothing is.

    Where no container opens the volume, this host's copy is all there is to ask.
    """
    names = GatewayNames(name)
    container = engine.containers.find(names.container)
    has_volume = engine.volumes.find(names.volume) is not None
    if container is not None and has_volume and opens(container, names):
        file = JournalFile(name=name, engine=engine, container_id=container.id, store=store)
        pending = file.read()
    else:
        pending = decode_journal(store.journals.find(name))
    return "" if pending is None else describe_pending(pending)


def pending_of(seen: Seen) -> Journal | Unknown | None:
    """The journal on the volume that was looked at."""
    return seen.on_volume.journal if isinstance(seen.on_volume, OnVolume) else None


def take_up(seen: Seen) -> Seen:
    """Let the settings that an interrupted start wanted stand for the recorded ones.

    Raises:
        GatewayStateError: What was begun is for a newer release to finish, or cannot be finished
            without something that is not kept.
    """
    pending = pending_of(seen)
    if isinstance(pending, NewerJournal):
        raise GatewayStateError(
            f"A newer release of this command began work on the gateway {seen.names.gateway!r}",
            details=pending.cause,
            remedies=["Use that release, or a newer one."],
        )
    if not isinstance(pending, Journal) or not isinstance(seen.on_volume, OnVolume):
        return seen
    if pending.recreation is None:
        return seen
    spec, before = pending.recreation.spec, seen.on_volume.record
    record = (
        replace(before, spec=spec)
        if isinstance(before, GatewayRecord)
        else GatewayRecord(spec=spec, cluster_id=seen.on_volume.cluster_id)
    )
    return replace(seen, on_volume=replace(seen.on_volume, record=record))


def complete(request: StartRequest, seen: Seen) -> StartRequest:
    """Ask for what an interrupted start was asked for: its container was not replaced yet.

    Raises:
        GatewayStateError: It was given a token, which is kept nowhere.
    """
    pending = pending_of(seen)
    if not isinstance(pending, Journal) or pending.recreation is None:
        return request
    if pending.recreation.wants_token and request.token is None and seen.container is None:
        raise GatewayStateError(
            f"{describe_begun(pending)}; it was given a token, and a token is kept nowhere",
            remedies=["Give it again: `--token-file FILE`."],
        )
    if seen.node_container_id == pending.recreation.replaces:
        return replace(request, recreate=True)
    return request


def describe_resumed(seen: Seen) -> str:
    """What becomes of pending work in a start, in a sentence; empty where there is none."""
    pending = pending_of(seen)
    if pending is None:
        return ""
    if isinstance(pending, Unknown):
        return describe_pending(pending)
    if pending.recreation is not None:
        return f"{describe_begun(pending)}: it is finished now."
    return f"{describe_begun(pending)}: it is undone now, and the data is kept."


def replaces(plan: StartPlan) -> bool:
    """The plan takes a container away and makes another."""
    return plan.recreates and any(is_farewell(one.action) for one in plan.steps)


def is_farewell(action: object) -> bool:
    """A step after which the container that was there is not what it was."""
    return isinstance(action, StopNode | SetAside | RemoveNode)


def recreation_of(seen: Seen, spec: GatewaySpec, request: StartRequest) -> Recreation:
    """What must be known to go on from any point of a container's replacement."""
    known = seen.on_volume if isinstance(seen.on_volume, OnVolume) else OnVolume()
    return Recreation(
        spec=spec,
        replaces=seen.node_container_id,
        wants_token=request.token is not None and not known.token,
    )


def kept_files(request: StartRequest) -> tuple[FileEntry, ...]:
    """Files that were given and that the volume keeps for the next container."""
    if request.registries is None:
        return ()
    return (FileEntry(KEPT_REGISTRIES, request.registries, 0o600),)


@contextmanager
def opener(engine: Engine, seen: Seen, image: str) -> Iterator[str]:
    """Id of a container through which the volume's files are reached."""
    for container in (seen.container, seen.aside):
        if container is not None and opens(container, seen.names):
            yield container.id
            return
    with helper(engine, seen.names, image) as container_id:
        yield container_id
