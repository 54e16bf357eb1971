"""The container of a gateway, for operations that need one."""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import GatewayStateError
from openshell_bootstrap.gateway.starting.settle import check_container
from openshell_bootstrap.gateway.stop import not_found
from openshell_bootstrap.models import Container
from openshell_bootstrap.names import GatewayNames, check_adopted_name


def get_container(name: str, engine: Engine) -> Container:
    """The gateway's container, running or not.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        GatewayStateError: It has a volume and no container.
        GatewayExistsError: The container of that name is no gateway.
    """
    names = GatewayNames(check_adopted_name(name))
    container = engine.containers.find(names.container)
    if container is not None:
        check_container(container, name)
        return container
    if engine.volumes.find(names.volume) is None:
        raise not_found(name)
    raise GatewayStateError(
        f"The gateway {name!r} has no container",
        details=f"Its data volume {names.volume} is there.",
        remedies=[f"`openshell gateway start --name {name}` makes a container for it."],
    )


def get_running(name: str, engine: Engine) -> Container:
    """The gateway's container, which runs.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        GatewayStateError: It does not run.
    """
    container = get_container(name, engine)
    if container.status == "running":
        return container
    raise GatewayStateError(
        f"The gateway {name!r} does not run",
        details=f"Its container is {container.status}.",
        remedies=[f"`openshell gateway start --name {name}` starts it."],
    )
