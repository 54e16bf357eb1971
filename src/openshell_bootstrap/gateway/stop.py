"""Stop a gateway in order: pods get their grace, the datastore is closed, the volume stays."""

from dataclasses import replace

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import GatewayNotFoundError
from openshell_bootstrap.events import Reporter, silent
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.lock import hold_lock
from openshell_bootstrap.gateway.results import Stopped
from openshell_bootstrap.gateway.starting.carry_out import stop_container
from openshell_bootstrap.gateway.starting.resume import find_pending
from openshell_bootstrap.gateway.starting.settle import check_container
from openshell_bootstrap.models import Container
from openshell_bootstrap.names import GatewayNames, check_adopted_name
from openshell_bootstrap.settings import STOP_GRACE_S
from openshell_bootstrap.store.host import Store

_KILLED = 137


def stop(
    name: str,
    *,
    engine: Engine,
    store: Store,
    grace_s: int = STOP_GRACE_S,
    report: Reporter = silent,
) -> Stopped:
    """Stop the gateway and return once its container has ended. Fine if it does not run.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        GatewayExistsError: The container of that name is no gateway.
        LockedError: Another command works on it.
    """
    check_adopted_name(name)
    info = engine.info()
    with hold_lock(name, engine=info, store=store, report=report):
        evidence = Evidence(name=name, operation="stop", engine=engine, store=store, report=report)
        stopped = halt(name, grace_s=grace_s, evidence=evidence)
        pending = find_pending(name, engine=engine, store=store)
    notices = [*stopped.notices, *([pending] if pending else [])]
    if info.prunes_named_volumes:
        notices.append(
            "This engine's `docker system prune --volumes` would take the volume "
            f"{GatewayNames(name).volume} once its stopped container was pruned: prune without "
            "`--volumes` here."
        )
    return replace(stopped, notices=tuple(notices))


def halt(name: str, *, grace_s: int, evidence: Evidence) -> Stopped:
    """``stop`` for a caller that holds the gateway's lock."""
    engine = evidence.engine
    names = GatewayNames(name)
    container = engine.containers.find(names.container)
    if container is None:
        if engine.volumes.find(names.volume) is None:
            raise not_found(name)
        return Stopped(name=name, was_running=False, exit_code=0)
    check_container(container, name)
    if not container.is_up:
        return Stopped(name=name, was_running=False, exit_code=container.exit_code)
    with evidence.kept():
        ended = stop_container(engine, container, grace_s=grace_s, report=evidence.report)
    return Stopped(
        name=name, was_running=True, exit_code=ended.exit_code, notices=_notices(ended, grace_s)
    )


def not_found(name: str) -> GatewayNotFoundError:
    """The error of a name that neither a container nor a volume bears."""
    return GatewayNotFoundError(
        f"There is no gateway {name!r}",
        details=f"neither a container nor a volume {GatewayNames(name).container}",
        remedies=["`openshell gateway list` shows the gateways that are there."],
    )


def _notices(ended: Container, grace_s: int) -> tuple[str, ...]:
    if ended.exit_code == _KILLED:
        return (
            f"The node did not end within {grace_s} s and was killed; its datastore recovers by "
            "itself at the next start. `--grace` gives it longer.",
        )
    if ended.exit_code:
        return (f"The node ended with exit code {ended.exit_code}: see `openshell gateway logs`.",)
    return ()
