"""Choose the gateway that commands mean when none is named."""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.list import list_gateways
from openshell_bootstrap.gateway.results import Selected
from openshell_bootstrap.gateway.stop import not_found
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.host import Store


def select(name: str, *, engine: Engine, store: Store) -> Selected:
    """Make an existing gateway the active one.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
    """
    check_adopted_name(name)
    if all(row.name != name for row in list_gateways(engine=engine, store=store)):
        raise not_found(name)
    store.active.select(name)
    return Selected(name=name)
