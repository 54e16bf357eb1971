"""Results as the versioned envelope, or as text.

The envelope is a contract: ``schema`` changes when a key does.
"""

from typing import Any

import msgspec

from openshell_bootstrap.cli.errors import code_of
from openshell_bootstrap.cli.invocation import Invocation, Output
from openshell_bootstrap.cli.tables import name_of, printable, table_of
from openshell_bootstrap.errors import BootstrapError

SCHEMA = 1


def success(result: object, command: str, output: Output) -> str:
    """A result in the form that was asked for."""
    if output is Output.TABLE:
        return printable(table_of(result))
    if output is Output.NAME:
        return printable(name_of(result))
    told = msgspec.to_builtins(result)
    return _encode({"schema": SCHEMA, "command": command, "ok": True, "result": told}, output)


def failure(error: BootstrapError, invocation: Invocation) -> str:
    """An error as an envelope."""
    details = "\n".join([*filter(None, [error.details]), *getattr(error, "__notes__", ())])
    told = {
        "code": code_of(error),
        "brief": _encodable(error.brief),
        "details": _encodable(details),
        "remedies": [_encodable(remedy) for remedy in error.remedies],
        "diagnostics": _encodable(error.diagnostics),
    }
    envelope = {"schema": SCHEMA, "command": invocation.command, "ok": False, "error": told}
    return _encode(envelope, invocation.output)


def _encodable(text: str) -> str:
    """An error may quote a word of the command line that is no Unicode."""
    return text.encode(errors="backslashreplace").decode()


def _encode(envelope: dict[str, Any], output: Output) -> str:
    if output is Output.JSON:
        return msgspec.json.format(msgspec.json.encode(envelope)).decode()
    import yaml  # noqa: PLC0415 - costs more than most commands

    text: str = yaml.safe_dump(envelope, sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")
