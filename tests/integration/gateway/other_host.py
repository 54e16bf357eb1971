"""`openshell` as on another host of the same engine: its locks are in a folder of its own.

usage: python -m tests.integration.gateway.other_host FOLDER ARGUMENT…
"""

import sys
from pathlib import Path

from openshell_bootstrap.cli.main import run
from openshell_bootstrap.store import host

if __name__ == "__main__":
    host.SHARED_LOCKS = Path(sys.argv.pop(1))
    run()
