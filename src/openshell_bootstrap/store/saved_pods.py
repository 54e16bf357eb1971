"""Pods that a clean-up had to delete although nothing makes them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.store.files import ensure_private_folder, write_by_rename
from openshell_bootstrap.store.paths import ConfigPaths


@dataclass(frozen=True, slots=True)
class SavedPods:
    """One file per clean-up, a Kubernetes list that ``kubectl create -f`` takes back."""

    paths: ConfigPaths

    def write(self, name: str, pods: Sequence[bytes]) -> Path:
        """Write pods, each a JSON object, and return the file's path.

        Raises:
            ConfigError: They cannot be written, so they must not be deleted.
        """
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        path = self.paths.gateway(name) / "saved-pods" / f"{moment}.json"
        text = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(pods) + b"]}\n"
        try:
            ensure_private_folder(path.parent)
            write_by_rename(path, text)
        except OSError as error:
            raise ConfigError(
                f"Pods that nothing makes again cannot be saved to {path}", details=str(error)
            ) from error
        return path
