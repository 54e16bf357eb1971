"""The ``openshell`` command: options to a spec, one call, a result rendered.

No decision is made here, and nothing below this package prints.
"""
