"""Which settings a gateway is to have: what was asked, else what is recorded, else the default.

Pure. An explicit flag wins over the record; the record wins over everything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from openshell_bootstrap.errors import (
    BootstrapError,
    EngineError,
    GatewayExistsError,
    GatewayStateError,
)
from openshell_bootstrap.gateway.checks.ports import LOOPBACK
from openshell_bootstrap.gateway.classify import classify
from openshell_bootstrap.gateway.node_container import (
    API_PORT,
    describe_changes,
    find_api_port,
    mounts_data_volume,
    spec_of_own,
    spec_of_retired,
)
from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.record import LAST_PORT, DamagedRecord, GatewayRecord, NewerRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import Container, GatewaySpec, PublishedPort, Unknown
from openshell_bootstrap.names import (
    LABEL_GATEWAY,
    GatewayNames,
    check_adopted_name,
    check_new_name,
    is_node_name,
    node_name,
)
from openshell_bootstrap.settings import CLUSTER_NO_PROXY, PROXY_VARIABLES
from openshell_bootstrap.store.metadata import HostRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Settings, and how they came about.

    Attributes:
        spec: What the gateway is to be.
        base: What it was made of last; None for a new one.
        explicit_changes: Differences that a flag of this call made.
        notices: What the user should know.
    """

    spec: GatewaySpec
    base: GatewaySpec | None
    explicit_changes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def settle(
    request: StartRequest,
    seen: Seen,
    *,
    default_image: str,
    choose_port: Callable[[], PublishedPort],
) -> Settled:
    """Decide the gateway's settings.

    Args:
        request: What was asked.
        seen: What is there.
        default_image: Node image where neither the user nor a record names one.
        choose_port: A free port for the API; called only if none is asked for or recorded.

    Raises:
        ConfigError: The name cannot be.
        GatewayExistsError: The container of that name is no gateway.
        GatewayStateError: The volume is another gateway's, its record cannot be used, or its
            cluster has another token than the one given.
    """
    check_belongings(seen)
    _check_token(request, seen)
    base, notices = _base(request, seen, default_image, choose_port)
    if base is None:
        spec = _overlay(_new(request, seen, default_image, choose_port), request)
        return Settled(spec=_with_proxies(spec, request), base=None)
    return _over(base, request, notices)


def settle_recorded(spec: GatewaySpec, proxies: Mapping[str, str]) -> Settled:
    """What follows from a record and this environment alone, where nothing is asked for."""
    return _over(spec, StartRequest(name=spec.name, proxies=proxies), ())


def _over(base: GatewaySpec, request: StartRequest, notices: tuple[str, ...]) -> Settled:
    asked = _overlay(base, request)
    return Settled(
        spec=_with_proxies(asked, request),
        base=base,
        explicit_changes=describe_changes(base, asked),
        notices=notices,
    )


def check_belongings(seen: Seen) -> None:
    """Refuse what only looks like the gateway.

    Raises:
        ConfigError: The name cannot be.
        GatewayExistsError: The container of that name is no gateway.
        GatewayStateError: The volume's record is another gateway's, or of a newer release.
    """
    name = seen.names.gateway
    check_adopted_name(name) if seen.exists else check_new_name(name)
    if seen.container is not None:
        check_container(seen.container, name)
    record = seen.record
    if isinstance(record, GatewayRecord) and record.name != name:
        raise GatewayStateError(
            f"The volume {seen.names.volume} holds the gateway {record.name!r}, not {name!r}",
            remedies=[f"Use `--name {record.name}`, or put the right volume in its place."],
        )
    if isinstance(record, NewerRecord):
        raise GatewayStateError(
            f"The gateway {name!r} was made by a newer release of this command",
            details=record.cause,
            remedies=["Use that release, or a newer one."],
        )
    if isinstance(record, GatewayRecord):
        _check_cluster(seen, record)


def _check_cluster(seen: Seen, record: GatewayRecord) -> None:
    """Refuse a volume whose cluster is not the one that its record names.

    Authorities that are lost are none of this: k3s brings them back from its datastore.
    """
    if classify(seen).record != "other-cluster":
        return
    found = seen.on_volume.cluster_id if isinstance(seen.on_volume, OnVolume) else ""
    raise GatewayStateError(
        f"The volume {seen.names.volume} does not hold the cluster that its record names",
        details=f"SHA-256 of server/tls/server-ca.crt: {found}\n"
        f"cluster_id in openshell/gateway.json:  {record.cluster_id}",
        remedies=[
            "Its files come from two gateways or two copies: bring one copy back as a whole, "
            "`server/`, `storage/` and `openshell/` together.",
            "Were the authorities exchanged on purpose, move `openshell/gateway.json` on the "
            "volume aside: start takes the settings from the container then.",
        ],
    )


def _check_token(request: StartRequest, seen: Seen) -> None:
    """Refuse a token with which the volume's cluster could not start, before anything stops."""
    kept = seen.on_volume.token if isinstance(seen.on_volume, OnVolume) else None
    if request.token is not None and kept and secret_of(request.token) != secret_of(kept):
        raise GatewayStateError(
            f"The token is not the one that the volume of {request.name!r} keeps",
            remedies=[
                "Start without `--token-file`: the volume keeps its own token.",
                "Was `server/token` on the volume replaced, put back that of this cluster first.",
            ],
        )


def secret_of(token: bytes) -> bytes:
    """What k3s compares of a token: ``K10HASH::USER:SECRET``, ``USER:SECRET`` or ``SECRET``."""
    token = token.strip()
    if token.startswith(b"K10"):
        token = token.partition(b"::")[2] or token
    return token.partition(b":")[2] or token


def check_container(container: Container, gateway: str) -> None:
    """Refuse a container that bears a gateway's name and is not that gateway.

    Raises:
        GatewayExistsError: It is another gateway's, or does not keep its data on the volume.
    """
    owner = container.labels.get(LABEL_GATEWAY, gateway)
    if owner != gateway:
        raise GatewayExistsError(
            f"The container {container.name} belongs to the gateway {owner!r}",
            remedies=["Choose another name."],
        )
    if not mounts_data_volume(container, gateway):
        raise GatewayExistsError(
            f"The container {container.name} is no gateway: it does not keep its data on the "
            f"volume {GatewayNames(gateway).volume}",
            details=f"container {container.id[:12]}, image {container.image}",
            remedies=["Rename or remove that container, or choose another name."],
        )


def _base(
    request: StartRequest,
    seen: Seen,
    default_image: str,
    choose_port: Callable[[], PublishedPort],
) -> tuple[GatewaySpec | None, tuple[str, ...]]:
    """What the gateway was made of last, as far as anybody knows."""
    record = seen.record
    if isinstance(record, GatewayRecord):
        return record.spec, ()
    if isinstance(record, Unknown) and not isinstance(record, DamagedRecord):
        raise _unreadable(seen, record)
    witness = seen.container or seen.aside
    if witness is not None:
        api_port = find_api_port(witness) or request.api_port or choose_port()
        return _of_witness(request, seen, witness, api_port)
    if seen.volume is None:
        return None, ()
    return _of_bare_volume(request, seen, default_image, choose_port)


def _unreadable(seen: Seen, record: Unknown) -> BootstrapError:
    """Nothing opens the volume, or the engine could not read it."""
    brief = f"The volume {seen.names.volume} cannot be read"
    if isinstance(seen.on_volume, Unknown):
        remedy = (
            "Make its node image present (`docker pull`, `docker load`) or name one that is with "
            "`--image`, and start again."
        )
        return GatewayStateError(brief, details=record.cause, remedies=[remedy])
    remedy = "Look into the engine's own log, and at its disk with `docker system df`."
    return EngineError(brief, details=record.cause, remedies=[remedy])


def _of_witness(
    request: StartRequest, seen: Seen, witness: Container, api_port: PublishedPort
) -> tuple[GatewaySpec, tuple[str, ...]]:
    """A container whose volume has no record that can be used: a retired release's, or ours."""
    if LABEL_GATEWAY in witness.labels:
        spec = spec_of_own(request.name, witness, api_port)
        return spec, ("The gateway's record is lost: it is rebuilt from its container.",)
    spec = spec_of_retired(request.name, _node_name(request, seen), witness, api_port)
    return spec, (
        "A gateway of a retired release is adopted; its data stays as it is.",
        *(
            f"The port {port} is kept; it is open to every host that reaches {port.address}."
            for port in (spec.api_port, *spec.ports)
            if port.address in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
        ),
    )


def _of_bare_volume(
    request: StartRequest,
    seen: Seen,
    default_image: str,
    choose_port: Callable[[], PublishedPort],
) -> tuple[GatewaySpec, tuple[str, ...]]:
    """A volume without a container and without a record: a retired release's, or half made."""
    live = seen.on_volume.live_addons if isinstance(seen.on_volume, OnVolume) else frozenset()
    record, copy = seen.record, seen.host_copy
    if copy is not None:
        request = _complete(request, copy)
    spec = _new(request, seen, default_image, choose_port)
    if copy is not None and copy.node_name and is_node_name(copy.node_name):
        spec = replace(spec, node_name=copy.node_name)
    kept = tuple(addon for addon in spec.disabled_addons if addon not in live)
    damage = f" that can be used ({record.cause})" if isinstance(record, Unknown) else ""
    notices = [f"The volume {seen.names.volume} bears no record{damage}: it is adopted as it is."]
    if copy is not None:
        notices.append("Its image, API port and node name are those that this host knows of.")
    notices += [f"The addon {addon} stays on: it is in use there." for addon in sorted(live)]
    return replace(spec, disabled_addons=kept), tuple(notices)


def _complete(request: StartRequest, copy: HostRecord) -> StartRequest:
    """Put this host's copy of a lost record in the place of what was not asked for."""
    is_port = 0 < copy.gateway_port <= LAST_PORT
    port = PublishedPort(LOOPBACK, copy.gateway_port, API_PORT) if is_port else None
    image = request.image if request.image_is_explicit else copy.container_image or request.image
    return replace(request, image=image, api_port=request.api_port or port)


def _new(
    request: StartRequest,
    seen: Seen,
    default_image: str,
    choose_port: Callable[[], PublishedPort],
) -> GatewaySpec:
    return GatewaySpec(
        name=request.name,
        node_name=_node_name(request, seen),
        image=request.image or default_image,
        api_port=request.api_port or choose_port(),
    )


def _node_name(request: StartRequest, seen: Seen) -> str:
    """The name that the node gets, where no record says which it has."""
    return node_name(request.name, seen.taken_node_names)


def _overlay(spec: GatewaySpec, request: StartRequest) -> GatewaySpec:
    """Put what was asked for explicitly over the settings."""
    proxies = {key: value for key, value in spec.environment.items() if key in PROXY_VARIABLES}
    given: dict[str, object] = {
        "image": request.image if request.image_is_explicit else None,
        "api_port": request.api_port,
        "ports": request.ports,
        "volumes": request.volumes,
        "environment": None if request.environment is None else {**proxies, **request.environment},
        "k3s_args": request.k3s_args,
        "tls_sans": request.tls_sans,
        "gpus": request.gpus,
        "subnet": request.subnet,
    }
    changes: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    return _keep_cluster_direct(replace(spec, **changes))  # type: ignore[arg-type]  # its fields


def _with_proxies(spec: GatewaySpec, request: StartRequest) -> GatewaySpec:
    """Give the node this environment's proxies, if there are any, in the place of recorded ones.

    An explicit ``--env`` wins over both.
    """
    if not request.proxies:
        return spec
    kept = {key: value for key, value in spec.environment.items() if key not in PROXY_VARIABLES}
    environment = {**kept, **request.proxies, **(request.environment or {})}
    return _keep_cluster_direct(replace(spec, environment=environment))


def _keep_cluster_direct(spec: GatewaySpec) -> GatewaySpec:
    """Where the node has a proxy, keep its own cluster out of it."""
    environment = dict(spec.environment)
    if not environment.keys() & {"HTTP_PROXY", "HTTPS_PROXY"}:
        return spec
    ours = (*CLUSTER_NO_PROXY, spec.node_name)
    have = [part for part in environment.get("NO_PROXY", "").split(",") if part]
    environment["NO_PROXY"] = ",".join([*have, *(part for part in ours if part not in have)])
    return replace(spec, environment=environment)
