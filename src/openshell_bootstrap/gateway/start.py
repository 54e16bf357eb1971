"""Start a gateway: observe, plan, check, carry out, wait, clean up, record.

Safe to repeat: what stands is kept. What this run cannot finish stays as it is for the next one,
but for a first start that failed, which takes away what it made.
"""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.events import Notice, Reporter, silent
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import Planned, Started
from openshell_bootstrap.gateway.starting.bring_up import bring_up
from openshell_bootstrap.gateway.starting.prepare import Means, lock_for, prepare
from openshell_bootstrap.names import check_adopted_name, check_new_name
from openshell_bootstrap.store.host import Store


def start(
    request: StartRequest,
    *,
    engine: Engine,
    store: Store,
    report: Reporter = silent,
    host: Host | None = None,
) -> Started:
    """Bring the gateway up and return once its node is ready and its workloads run.

    Raises:
        BootstrapError: With the exit code of its kind; nothing that is on a volume was removed.
    """
    _check_name(request.name)
    means = Means(engine=engine, store=store, host=host or Host(), report=report)
    with lock_for(request, means):
        return bring_up(request, means)


def plan_start(
    request: StartRequest, *, engine: Engine, store: Store, host: Host | None = None
) -> Planned:
    """What ``start`` would do. Nothing is changed.

    Raises:
        BootstrapError: ``start`` would refuse.
    """
    _check_name(request.name)
    notices: list[str] = []

    def note(event: object) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    means = Means(engine=engine, store=store, host=host or Host(), report=note)
    with lock_for(request, means):
        ready = prepare(request, means)
    return Planned(
        name=request.name,
        actions=tuple(one.describe(ready.settled, ready.seen) for one in ready.plan.steps),
        notices=(*ready.plan.notices, *notices),
    )


def _check_name(name: str) -> None:
    """Refuse, before the engine is asked anything, a name that no gateway can ever have had."""
    try:
        check_adopted_name(name)
    except ConfigError:
        check_new_name(name)
