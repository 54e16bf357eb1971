"""Volumes over the Docker library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docker.errors import NotFound

from openshell_bootstrap.engine import translate
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.wire import VolumeAnswer, VolumesAnswer, convert
from openshell_bootstrap.errors import EngineError, NoSuchVolumeError
from openshell_bootstrap.models import Volume


@dataclass(frozen=True, slots=True)
class DockerVolumes:
    """Satisfies ``engine.api.Volumes``."""

    connection: Connection

    def find(self, name: str) -> Volume | None:
        """The volume of exactly this name."""
        with self.connection.doing(f"inspect the volume {name}", NoSuchVolumeError):
            try:
                answer = self.connection.api.inspect_volume(name)
            except NotFound:
                return None
            return translate.volume(convert(answer, VolumeAnswer))

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Volume]:
        """All volumes that bear these labels (an empty value: any)."""
        with self.connection.doing("list volumes"):
            answer = self.connection.api.volumes(filters=translate.label_filters(labels))
            return [translate.volume(one) for one in convert(answer, VolumesAnswer).volumes or ()]

    def create(self, name: str, labels: Mapping[str, str]) -> None:
        """Make it, or leave the one that is there."""
        with self.connection.doing(f"create the volume {name}"):
            self.connection.api.create_volume(name, labels=dict(labels))

    def remove(self, name: str) -> None:
        """Remove it and look whether it is gone; fine if it was gone."""
        with self.connection.doing(f"remove the volume {name}", NoSuchVolumeError):
            try:
                self.connection.api.remove_volume(name)
            except NotFound:
                return
        if self.find(name) is not None:
            raise EngineError(
                f"The engine said that the volume {name} is removed, and it is still there",
                remedies=["Look at the engine's log, and remove it by `docker volume rm`."],
            )
