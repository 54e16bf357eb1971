"""This host's copies of journals, for the time in which no container opens the volume.

The volume's own journal is the one that counts: a copy may be of work that another host finished.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.files import ensure_private_folder, write_by_rename


@dataclass(frozen=True, slots=True)
class Journals:
    """One file per gateway with unfinished work, below ``$XDG_STATE_HOME/openshell``."""

    folder: Path

    def find(self, name: str) -> bytes | None:
        """The copy, or None where there is none that can be read."""
        try:
            return self._path(name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keep a copy. A disk that takes none is no reason not to work: it is only a copy."""
        with suppress(OSError):
            ensure_private_folder(self.folder)
            write_by_rename(self._path(name), content)

    def remove(self, name: str) -> None:
        """Forget a copy. Fine if there is none."""
        with suppress(OSError):
            self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self.folder / f"{check_adopted_name(name)}.json"
