"""`openshell` that gives an engine or a node up after some seconds, and watches leases for one.

usage: python -m tests.faults.impatient ARGUMENT…

A fault lasts, so that nothing comes of waiting for longer; and nothing is behind the nodes that are
made stale for this.
"""

from openshell_bootstrap import settings
from openshell_bootstrap.cli.main import run
from openshell_bootstrap.models import Patience

GIVES_UP_S = 8

if __name__ == "__main__":
    # Before anybody has read them: the command loads what it needs when it needs it.
    settings.LEASE_WATCH_S = 1.0
    settings.READY_PATIENCE = Patience(timeout_s=60, interval_s=0.1)
    settings.WORKLOADS_PATIENCE = Patience(timeout_s=20, interval_s=0.25)
    settings.EXEC_PATIENCE = Patience(timeout_s=GIVES_UP_S, interval_s=1)
    from openshell_bootstrap.engine import connection

    connection.REQUEST_TIMEOUT_S = GIVES_UP_S
    run()
