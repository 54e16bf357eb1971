"""The gateway's kubeconfig: as bytes, and in the user's own file when the user asks."""

from pathlib import Path

from openshell_bootstrap.cluster import kubeconfig as entries
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.list import api_endpoint
from openshell_bootstrap.gateway.node import get_container
from openshell_bootstrap.gateway.node_container import API_PORT
from openshell_bootstrap.gateway.results import Kubeconfig, KubeconfigChanged
from openshell_bootstrap.names import GatewayNames, check_adopted_name
from openshell_bootstrap.store.kubeconfigs import edit_user_kubeconfig


def get_kubeconfig(name: str, *, engine: Engine, internal: bool = False) -> Kubeconfig:
    """The gateway's kubeconfig, read from its node, which renews the credentials in it.

    Args:
        name: The gateway.
        engine: Where it is.
        internal: For other containers on the gateway's network instead of for this host.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        GatewayStateError: It never became ready, so there is none yet.
    """
    container = get_container(name, engine)
    file = engine.containers.get_file(container.id, entries.NODE_KUBECONFIG)
    inside = entries.server_url(GatewayNames(name).container, API_PORT)
    server = inside if internal else api_endpoint(container)
    if file is None or not file.content or not server:
        raise GatewayStateError(
            f"The gateway {name!r} has no kubeconfig yet",
            details=f"{entries.NODE_KUBECONFIG} in {container.name} and a published port "
            f"{API_PORT} are needed; the container is {container.status}.",
            remedies=[f"`openshell gateway start --name {name}` ends with one."],
        )
    content = entries.build_kubeconfig(file.content, name=name, server=server)
    return Kubeconfig(name=name, content=content.decode())


def merge_kubeconfig(name: str, path: Path, *, engine: Engine, use: bool) -> KubeconfigChanged:
    """Put the gateway into the user's kubeconfig.

    Args:
        name: The gateway.
        path: The user's kubeconfig; made if there is none.
        engine: Where the gateway is.
        use: Make its context the current one.

    Raises:
        ConfigError: The file is no kubeconfig or cannot be written; it was left as it is.
        LockedError: Another command is changing it.
        GatewayNotFoundError: There is no gateway of that name.
    """
    content = get_kubeconfig(name, engine=engine).content.encode()
    changed = edit_user_kubeconfig(
        path, lambda present: entries.merge(present, content, name=name, use=use)
    )
    return KubeconfigChanged(path=str(path), context=entries.entry_name(name), changed=changed)


def remove_kubeconfig(name: str, path: Path) -> KubeconfigChanged:
    """Take the gateway out of the user's kubeconfig, also when it is gone itself.

    Raises:
        ConfigError: The file is no kubeconfig or cannot be written; it was left as it is.
        LockedError: Another command is changing it.
    """
    check_adopted_name(name)
    changed = path.exists() and edit_user_kubeconfig(
        path, lambda present: entries.remove(present, name=name)
    )
    return KubeconfigChanged(path=str(path), context=entries.entry_name(name), changed=changed)
