"""The way in for those who speak the protocols only."""

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.settings import DockerSettings


def connect(settings: DockerSettings) -> Engine:
    """The engine that the ``docker`` command would speak to. No call is made before the first use.

    Raises:
        ConfigError: The address, the Docker context or its certificates cannot be used.
    """
    # Loading the Docker library costs more than a whole `openshell --help`.
    from openshell_bootstrap.engine.docker import DockerEngine  # noqa: PLC0415

    return DockerEngine.at(settings)
