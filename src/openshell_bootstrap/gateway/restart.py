"""Restart a gateway: stop in order, then start, under one hold of its lock."""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.events import Reporter, silent
from openshell_bootstrap.gateway.checks.host import Host
from openshell_bootstrap.gateway.evidence.diagnostics import Evidence
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.results import Started
from openshell_bootstrap.gateway.starting.bring_up import bring_up
from openshell_bootstrap.gateway.starting.prepare import Means, check_restart, lock_for
from openshell_bootstrap.gateway.stop import halt
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.host import Store


def restart(
    request: StartRequest,
    *,
    engine: Engine,
    store: Store,
    report: Reporter = silent,
    host: Host | None = None,
) -> Started:
    """Stop the gateway, then bring it up as ``start`` would; if it could not, leave it running.

    Raises:
        GatewayNotFoundError: There is no gateway of that name.
        BootstrapError: As ``stop`` and ``start`` raise.
    """
    check_adopted_name(request.name)
    means = Means(engine=engine, store=store, host=host or Host(), report=report)
    with lock_for(request, means):
        check_restart(request, means)
        evidence = Evidence(
            name=request.name, operation="restart", engine=engine, store=store, report=report
        )
        halt(request.name, grace_s=request.grace_s, evidence=evidence)
        return bring_up(request, means)
