"""What a gateway is doing: read, never changed, without the lock."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError
from openshell_bootstrap.gateway.bundle_changes import read_bundle_changes
from openshell_bootstrap.gateway.classify import Outside, build_state, describe_end
from openshell_bootstrap.gateway.drift import describe_drift
from openshell_bootstrap.gateway.evidence.node_log import begin_s, find_sign
from openshell_bootstrap.gateway.inside.claims import describe_claims
from openshell_bootstrap.gateway.inside.look import Inside, complain, look_inside
from openshell_bootstrap.gateway.journal import Journal, decode_journal, describe_pending
from openshell_bootstrap.gateway.list import api_endpoint
from openshell_bootstrap.gateway.observe import OnVolume, opens, read_through
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.results import DnsStatus, Status
from openshell_bootstrap.gateway.starting.settle import check_container, settle_recorded
from openshell_bootstrap.gateway.state import Part, State, Verdict, judge
from openshell_bootstrap.models import Container, GatewaySpec, Network, Unknown, Volume
from openshell_bootstrap.names import LABEL_GATEWAY, GatewayNames, check_adopted_name
from openshell_bootstrap.settings import READY_PATIENCE
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import HostRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Everything that was seen of a gateway."""

    names: GatewayNames
    stored: HostRecord | Unknown | None
    container: Container | None
    volume: Volume | None
    networks: tuple[Network, ...]
    on_volume: OnVolume | None
    inside: Inside | None
    journal: Journal | Unknown | None
    drift: tuple[str, ...]
    log: str

    @property
    def host(self) -> HostRecord | None:
        """This host's record, where it can be read."""
        return self.stored if isinstance(self.stored, HostRecord) else None


def status(
    name: str,
    *,
    engine: Engine,
    store: Store,
    proxies: Mapping[str, str] | None = None,
    usage: bool = False,
) -> Status:
    """Look at a gateway as a whole; what cannot be seen is said to be unknown.

    Args:
        name: The gateway.
        engine: Where it is.
        store: This host's records.
        proxies: Proxy variables of this environment, which ``start`` would give to the node.
        usage: Measure what every claim holds, which may take as long as their files are many.

    Raises:
        ConfigError: No gateway can have that name.
        GatewayExistsError: The container of that name is no gateway.
    """
    names = GatewayNames(check_adopted_name(name))
    stored = store.records.find(name)
    try:
        look = _look(names, stored, engine, proxies or {}, usage=usage)
    except EngineError as error:
        return _without_engine(names, stored, error)
    if look.on_volume is None and look.volume is not None:  # no container opens the volume
        look = replace(look, journal=decode_journal(store.journals.find(name)))
    return _tell(look, judge(_state(look)))


def _without_engine(
    names: GatewayNames, stored: HostRecord | Unknown | None, error: EngineError
) -> Status:
    host = stored if isinstance(stored, HostRecord) else None
    unseen = State(name=names.gateway, container="unknown", said={"container": error.brief})
    verdict = judge(unseen)
    return Status(
        name=names.gateway,
        word=verdict.word,
        cause=verdict.cause,
        next_step=verdict.next_step,
        exit_code=verdict.exit_code,
        container="unknown",
        container_name=names.container,
        endpoint=_endpoint(None, host),
        volume=names.volume,
        image=_image(None, host),
        notices=(f"{stored.cause}.",) if isinstance(stored, Unknown) else (),
    )


def _look(
    names: GatewayNames,
    stored: HostRecord | Unknown | None,
    engine: Engine,
    proxies: Mapping[str, str],
    *,
    usage: bool,
) -> _Look:
    container = engine.containers.find(names.container)
    if container is not None:
        check_container(container, names.gateway)
    volume = engine.volumes.find(names.volume)
    networks = tuple(engine.networks.list_named(names.network))
    opener = container if volume is not None and opens(container, names) else None
    on_volume = None if opener is None else read_through(engine, opener.id)
    record = on_volume.record if on_volume else None
    spec = record.spec if isinstance(record, GatewayRecord) else None
    inside = None
    if container is not None and container.status == "running":
        retired = LABEL_GATEWAY not in container.labels
        inside = look_inside(engine, container, spec, is_retired=retired, usage=usage)
    return _Look(
        names=names,
        stored=stored,
        container=container,
        volume=volume,
        networks=networks,
        on_volume=on_volume,
        inside=inside,
        journal=on_volume.journal if on_volume else None,
        drift=_drift(engine, spec, container, proxies),
        log=_log(engine, container),
    )


def _state(look: _Look) -> State:
    host = look.host
    state = build_state(
        look.names.gateway,
        Outside(
            container=look.container,
            volume=look.volume,
            networks=look.networks,
            on_volume=look.on_volume,
            cluster_id=(host and host.cluster_id) or "",
            is_known=look.stored is not None,
        ),
    )
    said: dict[Part, str] = {**state.said, "log": look.log, "health": _reason(look.container)}
    if look.container is not None and look.container.status == "restarting":
        said["container"] = f"its node ends by itself: {describe_end(look.container)}"
    elif look.log and said.get("container"):
        said["container"] += f": {look.log}"
    if look.inside is None:
        return replace(state, said=said)
    inside = look.inside
    return replace(
        state,
        node=inside.part,
        is_young=_age_s(look.container, inside) < READY_PATIENCE.timeout_s,
        behind=inside.behind,
        complaints=complain(inside, look.names.gateway),
        said={**said, "node": inside.said},
    )


def _tell(look: _Look, verdict: Verdict) -> Status:
    container, inside = look.container, look.inside
    dns = inside.dns if inside else None
    return Status(
        name=look.names.gateway,
        word=verdict.word,
        cause=verdict.cause,
        next_step=verdict.next_step,
        exit_code=verdict.exit_code,
        container=container.status if container else "absent",
        container_name=look.names.container,
        health=_health(container),
        node=inside.node if inside else None,
        workloads=inside.workloads if inside else (),
        claims=describe_claims(
            inside.storage,
            name=look.names.gateway,
            mountpoint=look.volume.mountpoint if look.volume else "",
        )
        if inside
        else (),
        dns=DnsStatus(cluster=dns.cluster, outside=dns.outside) if dns else None,
        endpoint=_endpoint(container, look.host),
        volume=look.names.volume,
        volume_present=look.volume is not None,
        network_present=bool(look.networks),
        image=_image(container, look.host),
        drift=look.drift,
        notices=_notices(look, verdict),
    )


def _drift(
    engine: Engine,
    spec: GatewaySpec | None,
    container: Container | None,
    proxies: Mapping[str, str],
) -> tuple[str, ...]:
    """What ``start`` without any flag would find to apply."""
    if spec is None or container is None or not container.has_started:
        return ()
    settled = settle_recorded(spec, proxies)
    return describe_drift(settled, container, read_bundle_changes(engine, container, spec.name))


def _age_s(container: Container | None, inside: Inside) -> float:
    """Seconds since k3s was started last: PID 1 starts it again in the same container."""
    of_container = begin_s(container) if container else 0.0
    return time.time() - max(inside.readiness.started_s or 0.0, of_container)


def _log(engine: Engine, container: Container | None) -> str:
    """What the log of a node that is not well means, where its signs are known."""
    if container is None or not _is_unwell(container):
        return ""
    known = find_sign(engine, container)
    return known.brief if known else ""


def _is_unwell(container: Container) -> bool:
    if container.status == "running":
        return container.health.status == "unhealthy"
    if container.status == "exited":  # the log of one that was stopped in order means nothing
        return container.exit_code != 0 and not container.error
    return container.status == "restarting"


def _reason(container: Container | None) -> str:
    """What the health check found, in words that fit into a cause."""
    output = container.health.output.strip() if container else ""
    if not output or output.startswith("healthy"):  # it was so, and its next look is to come
        return ""
    return f"its health check says {output.removeprefix('unhealthy: ')!r}"


def _health(container: Container | None) -> str:
    if container is None or container.status != "running" or container.health.status == "none":
        return ""
    output = container.health.output.strip().removeprefix(f"{container.health.status}: ")
    return f"{container.health.status}: {output}" if output else container.health.status


def _endpoint(container: Container | None, host: HostRecord | None) -> str:
    published = api_endpoint(container) if container else ""
    return published or (host.gateway_endpoint if host else "")


def _image(container: Container | None, host: HostRecord | None) -> str:
    return container.image if container else (host and host.container_image) or ""


def _notices(look: _Look, verdict: Verdict) -> tuple[str, ...]:
    record = look.on_volume.record if look.on_volume else None
    found = [one.cause for one in (look.stored, record) if isinstance(one, Unknown)]
    notices = [f"{cause}." for cause in found if cause not in verdict.cause]
    if look.container is not None and LABEL_GATEWAY not in look.container.labels:
        notices.append("It was made by a retired release; `openshell gateway start` adopts it.")
    if look.journal is not None:
        notices.append(describe_pending(look.journal))
    known = look.host.cluster_id if look.host else None
    if isinstance(record, GatewayRecord) and known and record.cluster_id not in {"", known}:
        notices.append(
            "This host's record is of another cluster than the one on the volume; what that one "
            "held is not here."
        )
    return tuple(notices)
