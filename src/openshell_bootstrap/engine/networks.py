"""Networks over the Docker library."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from docker.errors import NotFound
from docker.types import IPAMConfig, IPAMPool

from openshell_bootstrap.engine import translate
from openshell_bootstrap.engine.connection import Connection
from openshell_bootstrap.engine.wire import IdAnswer, NetworkAnswer, SummaryAnswer, convert
from openshell_bootstrap.errors import EngineError, NoSuchNetworkError
from openshell_bootstrap.models import Network


@dataclass(frozen=True, slots=True)
class DockerNetworks:
    """Satisfies ``engine.api.Networks``."""

    connection: Connection

    def list_named(self, name: str) -> Sequence[Network]:
        """All networks of exactly this name; the engine's own filter takes parts of names too."""
        return [one for one in self._inspected({"name": [name]}) if one.name == name]

    def list(self, labels: Mapping[str, str]) -> Sequence[Network]:
        """All networks that bear these labels (an empty value: any)."""
        return [*self._inspected(translate.label_filters(labels))]

    def create(self, name: str, labels: Mapping[str, str], *, subnet: str = "") -> str:
        """Make a bridge network; returns its id."""
        with self.connection.doing(f"create the network {name}"):
            answer = self.connection.api.create_network(
                name,
                driver="bridge",
                labels=dict(labels),
                check_duplicate=True,
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)]) if subnet else None,
            )
            return convert(answer, IdAnswer).id

    def remove(self, network_id: str) -> None:
        """Remove it by id and look whether it is gone; fine if it was gone."""
        with self.connection.doing(f"remove the network {network_id[:12]}", NoSuchNetworkError):
            try:
                self.connection.api.remove_network(network_id)
                self.connection.api.inspect_network(network_id)
            except NotFound:
                return
        raise EngineError(
            f"The engine said that the network {network_id[:12]} is removed, and it is still there",
            remedies=["Look at the engine's log, and remove it by `docker network rm`."],
        )

    def _inspected(self, filters: Mapping[str, Sequence[str]]) -> Iterator[Network]:
        """A list tells no containers, so each is inspected; one that is gone by then is none."""
        with self.connection.doing("list networks", NoSuchNetworkError):
            listed = self.connection.api.networks(filters=dict(filters))
            for summary in convert(listed, list[SummaryAnswer]):
                try:
                    answer = self.connection.api.inspect_network(summary.id)
                except NotFound:
                    continue
                yield translate.network(convert(answer, NetworkAnswer))
