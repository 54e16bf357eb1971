"""Which settings a gateway is to have: what was asked, else what is recorded, else the default.

Pure. An explicit flag wins over the record; the record wins over everything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from openshell_bootstrap.errors import GatewayExistsError, GatewayStateError
from openshell_bootstrap.gateway.node_container import (
    describe_changes,
    mounts_data_volume,
    spec_of_retired,
)
from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import Container, GatewaySpec, PublishedPort, Unknown
from openshell_bootstrap.names import (
    LABEL_GATEWAY,
    GatewayNames,
    check_adopted_name,
    check_new_name,
    node_name,
)
from openshell_bootstrap.settings import CLUSTER_NO_PROXY, PROXY_VARIABLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Settings, and how they came about.

    Attributes:
        spec: What the gateway is to be.
        base: What it was made of last; None for a new one.
        explicit_changes: Differences that a flag of this call made.
        implicit_changes: Differences that this environment made.
        notices: What the user should know.
    """

    spec: GatewaySpec
    base: GatewaySpec | None
    explicit_changes: tuple[str, ...] = ()
    implicit_changes: tuple[str, ...] = ()
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
        GatewayStateError: The volume is another gateway's, or its record cannot be used.
    """
    check_belongings(seen)
    base, notices = _base(request, seen, default_image, choose_port)
    if base is None:
        spec = _overlay(_new(request, seen, default_image, choose_port), request)
        return Settled(spec=_with_proxies(spec, request.proxies), base=None)
    asked = _overlay(base, request)
    spec = _with_proxies(asked, request.proxies)
    return Settled(
        spec=spec,
        base=base,
        explicit_changes=describe_changes(base, asked),
        implicit_changes=describe_changes(asked, spec),
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
            remedies=[f"Use `--name {record.name}`, or remove the copy of the volume."],
        )


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
    witness = seen.container or seen.aside
    if witness is not None:
        spec = spec_of_retired(
            request.name, _node_name(request, seen), witness, request.api_port or choose_port()
        )
        return spec, tuple(_witness_notices(record, spec, is_retired=seen.is_retired))
    if isinstance(record, Unknown):
        raise GatewayStateError(
            f"The volume {seen.names.volume} cannot be read: {record.cause}",
            remedies=[
                "Make its node image present (`docker pull`, `docker load`) or name one that is "
                "with `--image`, and start again."
            ],
        )
    if seen.volume is None:
        return None, ()
    return _of_bare_volume(request, seen, default_image, choose_port)


def _of_bare_volume(
    request: StartRequest,
    seen: Seen,
    default_image: str,
    choose_port: Callable[[], PublishedPort],
) -> tuple[GatewaySpec, tuple[str, ...]]:
    """A volume without a container and without a record: a retired release's, or half made."""
    live = seen.on_volume.live_addons if isinstance(seen.on_volume, OnVolume) else frozenset()
    spec = _new(request, seen, request.image or default_image, choose_port)
    kept = tuple(addon for addon in spec.disabled_addons if addon not in live)
    notices = [f"The volume {seen.names.volume} bears no record: it is adopted as it is."]
    notices += [f"The addon {addon} stays on: it is in use there." for addon in sorted(live)]
    return replace(spec, disabled_addons=kept), tuple(notices)


def _witness_notices(record: object, spec: GatewaySpec, *, is_retired: bool) -> list[str]:
    notices = []
    if is_retired:
        notices.append("A gateway of a retired release is adopted; its data stays as it is.")
    if isinstance(record, Unknown):
        notices.append(f"The gateway's record is rebuilt from its container: {record.cause}.")
    notices += [
        f"The port {port} is kept; it is open to every host that reaches {port.address}."
        for port in (spec.api_port, *spec.ports)
        if port.address in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
    ]
    return notices


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
    """The name the node must have; a container of ours, running or not, says it best."""
    if seen.container is not None and not seen.is_retired and seen.container.hostname:
        return seen.container.hostname
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
    }
    changes: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    return replace(spec, **changes)  # type: ignore[arg-type]  # keys are its fields


def _with_proxies(spec: GatewaySpec, proxies: Mapping[str, str]) -> GatewaySpec:
    """Give the node this environment's proxies, keeping the gateway's network to itself."""
    if not proxies:
        return spec
    kept = {key: value for key, value in spec.environment.items() if key not in PROXY_VARIABLES}
    given = dict(proxies)
    ours = (*CLUSTER_NO_PROXY, spec.node_name)
    have = [part for part in given.get("NO_PROXY", "").split(",") if part]
    given["NO_PROXY"] = ",".join([*have, *(part for part in ours if part not in have)])
    return replace(spec, environment={**kept, **given})
