"""``python -m openshell_bootstrap`` is the ``openshell`` command."""

from openshell_bootstrap.cli.main import run

run()
