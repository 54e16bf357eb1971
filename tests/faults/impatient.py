"""`openshell` that gives an engine up after some seconds, and watches leases only for a moment.

usage: python -m tests.faults.impatient ARGUMENT…

Nothing is behind the nodes that are made stale for this.
"""

from openshell_bootstrap.cli.main import run
from openshell_bootstrap.engine import connection
from openshell_bootstrap.gateway import stale_nodes

GIVES_UP_S = 8
WATCHES_S = 1.0

if __name__ == "__main__":
    connection.REQUEST_TIMEOUT_S = GIVES_UP_S
    stale_nodes.LEASE_WATCH_S = WATCHES_S
    run()
