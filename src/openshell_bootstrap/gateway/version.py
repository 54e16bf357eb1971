"""Versions of this command and, where a gateway is named, of its k3s."""

from openshell_bootstrap import __version__
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.gateway.info import info
from openshell_bootstrap.gateway.results import Versions
from openshell_bootstrap.store.host import Store


def versions_of(name: str, *, engine: Engine, store: Store) -> Versions:
    """This command's version and that of a gateway's k3s.

    Raises:
        GatewayNotFoundError: Neither the engine nor a record knows the gateway.
    """
    known = info(name, engine=engine, store=store)
    return Versions(client=__version__, gateway=name, k3s=known.k3s_version)
