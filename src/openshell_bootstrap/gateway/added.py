"""Gateways that were not made here: any Kubernetes cluster, known by a kubeconfig.

This host's record is all that there is of one, beside a private copy of what reaches its cluster.
The engine knows nothing of it, and nothing of the cluster itself is ever changed through it but
by the commands about sandboxes.
"""

from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.metadata import EXTERNAL, HostRecord


def find_added(name: str, store: Store) -> HostRecord | None:
    """This host's record of a cluster that was added; None for all else, a damaged one too.

    Raises:
        ConfigError: No gateway can have that name.
    """
    record = store.records.find(check_adopted_name(name))
    return record if isinstance(record, HostRecord) and record.kind == EXTERNAL else None


def refuse_added(name: str, what: str, store: Store) -> None:
    """Refuse what needs a node of ours.

    Args:
        name: The gateway.
        what: The command, ``gateway stop``.
        store: This host's records.

    Raises:
        ConfigError: No gateway can have that name.
        GatewayStateError: It is a cluster that was added.
    """
    record = find_added(name, store)
    if record is None:
        return
    raise GatewayStateError(
        f"`openshell {what}` is for gateways made here, and {name!r} is a cluster that was added",
        details=f"It is reached at {record.gateway_endpoint}, and whoever runs it starts, stops "
        "and changes it.",
        remedies=[
            "Use the tools of that cluster.",
            f"`openshell gateway destroy --name {name}` forgets it here and leaves it as it is.",
        ],
    )
