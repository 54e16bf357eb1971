"""How the cluster behind a gateway's name is reached: one that was made here, or was added."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError, GatewayNotFoundError, GatewayStateError
from openshell_bootstrap.gateway.added import find_added
from openshell_bootstrap.gateway.kubeconfig import get_kubeconfig
from openshell_bootstrap.gateway.node import get_running
from openshell_bootstrap.models import Container, Unknown
from openshell_bootstrap.names import GatewayNames, check_adopted_name
from openshell_bootstrap.store.host import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """What a client needs to reach the cluster of a gateway.

    Attributes:
        name: The gateway.
        kubeconfig: With one cluster, context and user. It holds credentials.
        context: The one in it.
        is_managed: The gateway was made here: its cluster has what ``deploy/kube/`` installs.
        node_address: Of its node on the gateway's own network; empty for a cluster that was added.
    """

    name: str
    kubeconfig: Mapping[str, Any] = field(repr=False)
    context: str
    is_managed: bool
    node_address: str = ""


def cluster_access(name: str, *, engine: Engine, store: Store) -> ClusterAccess:
    """Find the way to a gateway's cluster; the engine is not asked about one that was added.

    Nothing is started: who asks for a sandbox did not ask for a gateway.

    Raises:
        ConfigError: No gateway can have that name, or the copy of an added one's kubeconfig is
            gone or damaged.
        GatewayStateError: The gateway does not run, or there is none; with the command that
            starts it.
        GatewayExistsError: The container of that name is no gateway.
    """
    check_adopted_name(name)
    if find_added(name, store) is not None:
        return _parsed(name, _stored(name, store), is_managed=False)
    container = _running(name, engine, store)
    content = get_kubeconfig(name, engine=engine).content.encode()
    return _parsed(name, content, is_managed=True, node_address=_address(name, container))


def _running(name: str, engine: Engine, store: Store) -> Container:
    try:
        return get_running(name, engine)
    except GatewayNotFoundError as error:
        stored = store.records.find(name)
        damage = f"; {stored.cause}" if isinstance(stored, Unknown) else ""
        raise GatewayStateError(
            f"There is no gateway {name!r} that sandboxes could run in",
            details=f"{error.details}{damage}",
            remedies=[f"`openshell gateway start --name {name}` makes it.", *error.remedies],
        ) from error


def _address(name: str, container: Container) -> str:
    network = GatewayNames(name).network
    return next((one.address for one in container.attachments if one.network == network), "")


def _stored(name: str, store: Store) -> bytes:
    content = store.kubeconfigs.find(name)
    if content is not None:
        return content
    raise _unusable(name, f"There is no {store.kubeconfigs.path(name)}.")


def _parsed(
    name: str, content: bytes, *, is_managed: bool, node_address: str = ""
) -> ClusterAccess:
    try:
        decoded = yaml.safe_load(content)
        context = decoded["current-context"]
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise _unusable(name, f"It cannot be read: {type(error).__name__}.") from error
    return ClusterAccess(
        name=name,
        kubeconfig=decoded,
        context=context,
        is_managed=is_managed,
        node_address=node_address,
    )


def _unusable(name: str, evidence: str) -> ConfigError:
    return ConfigError(
        f"The kubeconfig of the gateway {name!r} cannot be used",
        details=evidence,
        remedies=[
            f"`openshell gateway destroy --name {name}` forgets it, and `openshell gateway add "
            f"{name} --kubeconfig FILE` adds it again."
        ],
    )
