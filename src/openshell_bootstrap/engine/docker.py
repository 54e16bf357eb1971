"""The engine's protocols over the Docker library."""

import time
from dataclasses import dataclass
from functools import cached_property

from openshell_bootstrap.engine import translate
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.containers import DockerContainers
from openshell_bootstrap.engine.endpoint import resolve
from openshell_bootstrap.engine.images import DockerImages
from openshell_bootstrap.engine.networks import DockerNetworks
from openshell_bootstrap.engine.volumes import DockerVolumes
from openshell_bootstrap.engine.wire import InfoAnswer, convert
from openshell_bootstrap.models import EngineInfo
from openshell_bootstrap.settings import DockerSettings

KEEPS_NAMED_VOLUMES_API = "1.42"
"""From Docker 23 on a prune of volumes takes anonymous ones only, unless it is told otherwise."""


@dataclass(frozen=True)
class DockerEngine:
    """One Docker engine. Making it costs no call."""

    connection: Connection

    @classmethod
    def at(cls, settings: DockerSettings) -> "DockerEngine":
        """The engine that these settings mean; raises as ``endpoint.resolve`` does."""
        return cls(Connection(resolve(settings)))

    @property
    def containers(self) -> DockerContainers:
        """Containers, running or not."""
        return DockerContainers(self.connection)

    @property
    def images(self) -> DockerImages:
        """Images that the engine has."""
        return DockerImages(self.connection)

    @property
    def networks(self) -> DockerNetworks:
        """Networks."""
        return DockerNetworks(self.connection)

    @property
    def volumes(self) -> DockerVolumes:
        """Volumes."""
        return DockerVolumes(self.connection)

    def info(self) -> EngineInfo:
        """What the engine says of itself. It is asked once: its identity and version stay."""
        return self._info

    @cached_property
    def _info(self) -> EngineInfo:
        connection = self.connection
        version = connection.version  # another call, and the next one is measured
        with connection.doing("describe itself"):
            asked_at = time.time()
            answer = convert(connection.api.info(), InfoAnswer)
            answered_at = time.time()
        return EngineInfo(
            id=answer.id,
            version=version.version,
            api_version=version.api_version,
            architecture=answer.architecture,
            endpoint=connection.endpoint.url,
            endpoint_source=connection.endpoint.source,
            is_local=connection.is_local(answer.name),
            is_rootless=translate.is_rootless(answer),
            cgroup_version="2" if answer.cgroup_version == "2" else "1",
            data_root=answer.docker_root_dir,
            memory_bytes=answer.mem_total,
            cpus=answer.ncpu,
            prunes_named_volumes=connection.is_older_than(KEEPS_NAMED_VOLUMES_API),
            os_type=answer.os_type,
            kernel=answer.kernel_version,
            missing_controllers=translate.missing_controllers(answer),
            has_proxy=bool(answer.http_proxy or answer.https_proxy),
            clock_offset_s=translate.clock_offset(answer, asked_at, answered_at),
        )

    def close(self) -> None:
        """Give its connections back."""
        self.connection.close()
