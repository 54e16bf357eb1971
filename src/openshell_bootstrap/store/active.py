"""Which gateway commands mean when none is named."""

from dataclasses import dataclass

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.files import ensure_private_folder, explained, write_by_rename
from openshell_bootstrap.store.paths import ConfigPaths


@dataclass(frozen=True, slots=True)
class ActiveGateway:
    """The choice that ``gateway select`` made."""

    paths: ConfigPaths

    def find(self) -> str | Unknown | None:
        """The active gateway; None if none was chosen, Unknown if the file names no gateway.

        Unknown is not none: a command that took the default then would act on a gateway that
        nobody meant.
        """
        path = self.paths.active
        try:
            name = path.read_text(encoding="utf-8", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Unknown(f"{path} cannot be read: {error.strerror}")
        if not name:
            return None
        try:
            return check_adopted_name(name)
        except ConfigError:
            return Unknown(f"{path} does not name a gateway, it holds {name[:80]!r}")

    def select(self, name: str) -> None:
        """Make a gateway the active one.

        Raises:
            ConfigError: No gateway can have that name, or the file cannot be written.
        """
        check_adopted_name(name)
        path = self.paths.active
        with explained("The active gateway cannot be written", path):
            ensure_private_folder(path.parent)
            write_by_rename(path, f"{name}\n".encode())

    def clear(self) -> None:
        """Have no active gateway; fine if there is none.

        Raises:
            ConfigError: The file cannot be removed.
        """
        path = self.paths.active
        with explained("The active gateway cannot be cleared", path):
            path.unlink(missing_ok=True)
