"""What is read of a gateway, part by part, without its secrets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from openshell_bootstrap.errors import BootstrapError
from openshell_bootstrap.gateway.evidence.masking import Mask

MAX_PART = 1 << 20
"""Bytes of one part; of a longer one the end is kept."""

T = TypeVar("T")


@dataclass(slots=True)
class Collected:
    """What was read so far, without secrets.

    Attributes:
        mask: Takes secrets out.
        files: Content by path inside the archive.
        unread: Why something could not be read, by the same paths.
    """

    mask: Mask = field(default_factory=Mask)
    files: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def look(self, path: str, reader: Callable[[], T]) -> T | None:
        """What the reader finds; None where it failed, which is noted."""
        try:
            return reader()
        except (BootstrapError, OSError, ValueError) as error:
            details = getattr(error, "details", "")
            self.unread[path] = self.mask.text(f"{error}: {details}" if details else str(error))
            return None

    def add(self, path: str, found: object) -> None:
        """Add a part: text as it is, all else as JSON."""
        if isinstance(found, bytes):
            text = self.mask.text(found[-MAX_PART:].decode(errors="replace"))
            self.files[path] = text.encode(errors="backslashreplace")
            return
        plain = self.mask.tree(msgspec.to_builtins(found))
        self.files[path] = msgspec.json.format(msgspec.json.encode(plain)) + b"\n"

    def read(self, path: str, reader: Callable[[], T]) -> T | None:
        """Look and add what was found, if anything was."""
        found = self.look(path, reader)
        if found is not None:
            self.add(path, found)
        return found
