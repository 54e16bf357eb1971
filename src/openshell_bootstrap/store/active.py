"""Which gateway commands mean when none is named."""

from dataclasses import dataclass

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.names import check_adopted_name
from openshell_bootstrap.store.files import ensure_private_folder, write_by_rename
from openshell_bootstrap.store.paths import ConfigPaths

_SELECT = "`openshell gateway select NAME` chooses another one."


@dataclass(frozen=True, slots=True)
class ActiveGateway:
    """The choice that ``gateway select`` made."""

    paths: ConfigPaths

    def find(self) -> str | None:
        """The active gateway, or None if none was chosen.

        Raises:
            ConfigError: The file names no gateway. The default is not taken instead: a command
                would then act on a gateway that nobody meant.
        """
        path = self.paths.active
        try:
            name = path.read_text(encoding="utf-8", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(
                f"{path}, which names the active gateway, cannot be read",
                details=str(error),
                remedies=["Name the gateway with --name."],
            ) from error
        if not name:
            return None
        try:
            return check_adopted_name(name)
        except ConfigError as error:
            raise ConfigError(
                f"{path} does not name a gateway",
                details=f"It holds {name[:80]!r}.",
                remedies=["Name the gateway with --name.", _SELECT],
            ) from error

    def select(self, name: str) -> None:
        """Make a gateway the active one.

        Raises:
            ConfigError: No gateway can have that name, or the file cannot be written.
        """
        path = self.paths.active
        try:
            ensure_private_folder(path.parent)
            write_by_rename(path, f"{check_adopted_name(name)}\n".encode())
        except OSError as error:
            raise ConfigError(
                f"The active gateway cannot be written to {path}", details=str(error)
            ) from error

    def clear(self) -> None:
        """Have no active gateway; fine if there is none."""
        self.paths.active.unlink(missing_ok=True)
