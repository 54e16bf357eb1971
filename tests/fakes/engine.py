"""An engine in memory that behaves as Docker does, as far as the product asks.

The contract suite runs the same tests on it and on a real engine, so that it cannot drift.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openshell_bootstrap.engine.api import Progress
from openshell_bootstrap.errors import (
    EngineError,
    NameConflictError,
    PullError,
)
from openshell_bootstrap.models import (
    Container,
    EngineInfo,
    Health,
    Image,
    Network,
    Volume,
)
from tests.fakes.engine_containers import FakeContainers, bears
from tests.fakes.engine_state import Box, ExecHandler, Hook, State
from tests.fakes.files import Tree, View


class FakeImages:
    """Satisfies ``engine.api.Images``; pulls from ``engine.state.registry``."""

    def __init__(self, state: State) -> None:
        self.state = state

    def find(self, reference: str) -> Image | None:
        with self.state.call("images.find", reference):
            for known, image in self.state.images.items():
                if reference in {known, image.id, *image.tags, *image.digests}:
                    return image
            return None

    def pull(self, reference: str, progress: Progress) -> Image:
        with self.state.call("images.pull", reference):
            image = self.state.registry.get(reference)
            if image is None:
                raise PullError(f"{reference} could not be pulled", details="manifest unknown")
            progress("layer", 0, image.size)
            progress("layer", image.size, image.size)
            self.state.images[reference] = image
            return image


class FakeNetworks:
    """Satisfies ``engine.api.Networks``."""

    def __init__(self, state: State) -> None:
        self.state = state

    def list_named(self, name: str) -> Sequence[Network]:
        with self.state.call("networks.list_named", name):
            return [one for one in self.state.networks.values() if one.name == name]

    def list(self, labels: Mapping[str, str]) -> Sequence[Network]:
        with self.state.call("networks.list", labels):
            return [one for one in self.state.networks.values() if bears(one.labels, labels)]

    def create(self, name: str, labels: Mapping[str, str], *, subnet: str = "") -> str:
        with self.state.call("networks.create", name):
            if any(one.name == name for one in self.state.networks.values()):
                raise NameConflictError(f"There is a network {name} already")
            subnet = subnet or self._free_subnet()
            if any(_overlap(subnet, one.subnets) for one in self.state.networks.values()):
                raise EngineError("Pool overlaps with other one on this address space")
            return self._add(name, labels, subnet)

    def remove(self, network_id: str) -> None:
        with self.state.call("networks.remove", network_id):
            network = self.state.networks.get(network_id)
            if network is not None and network.containers:
                raise EngineError(f"Something is still attached to the network {network.name}")
            self.state.networks.pop(network_id, None)

    def _free_subnet(self) -> str:
        taken = [one.subnets for one in self.state.networks.values()]
        candidates = (f"172.{second}.0.0/16" for second in range(18, 32))
        return next(one for one in candidates if not any(_overlap(one, theirs) for theirs in taken))

    def _add(self, name: str, labels: Mapping[str, str], subnet: str) -> str:
        network = Network(id=self.state.new_id(), name=name, labels=dict(labels), subnets=(subnet,))
        self.state.networks[network.id] = network
        return network.id


def _overlap(subnet: str, others: Sequence[str]) -> bool:
    wanted = ipaddress.ip_network(subnet)
    return any(wanted.overlaps(ipaddress.ip_network(other)) for other in others)


class FakeVolumes:
    """Satisfies ``engine.api.Volumes``."""

    def __init__(self, state: State) -> None:
        self.state = state

    def find(self, name: str) -> Volume | None:
        with self.state.call("volumes.find", name):
            disk = self.state.disks.get(name)
            return None if disk is None else disk.volume

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Volume]:
        with self.state.call("volumes.list", labels):
            volumes = [disk.volume for disk in self.state.disks.values()]
            return [one for one in volumes if bears(one.labels, labels)]

    def create(self, name: str, labels: Mapping[str, str]) -> None:
        with self.state.call("volumes.create", name):
            self.state.make_disk(name, labels)

    def remove(self, name: str) -> None:
        with self.state.call("volumes.remove", name):
            users = [box.name for box in self.state.users(name)]
            if users:
                raise EngineError(f"The volume {name} is in use", details=", ".join(users))
            self.state.disks.pop(name, None)


class FakeEngine:
    """Satisfies ``engine.api.Engine``.

    ``state`` holds everything and may be changed by a test: ``state.boxes``, ``state.busy_ports``,
    ``state.info``, ``state.registry``, ``state.now``. The methods here do what a test does often.
    """

    def __init__(self) -> None:
        self.state = State()
        self.containers = FakeContainers(self.state)
        self.images = FakeImages(self.state)
        self.networks = FakeNetworks(self.state)
        self.volumes = FakeVolumes(self.state)

    def info(self) -> EngineInfo:
        with self.state.call("info"):
            return self.state.info

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        """Every call in order: ``("containers.start", "openshell-cluster-a")``."""
        return self.state.calls

    def methods(self) -> list[str]:
        """The names of the calls that can change something, in order."""
        looks = {"find", "list", "list_named", "using_volume", "logs", "get_file", "get_files"}
        names = [call[0] for call in self.state.calls]
        return [name for name in names if name != "info" and name.split(".")[1] not in looks]

    def fail(
        self,
        method: str,
        error: BaseException,
        *,
        after: int = 0,
        times: int | None = 1,
        too_late: bool = False,
    ) -> None:
        """Make calls of a method raise.

        Args:
            method: ``containers.start`` and the like; ``*`` for every method.
            error: What is raised. ``KeyboardInterrupt`` is one.
            after: How many calls go well before.
            times: How many calls fail; None for all from then on.
            too_late: The call has its effect and fails all the same: its answer got lost.
        """
        self.state.fail(method, error, after=after, times=times, too_late=too_late)

    def heal(self) -> None:
        """Forget all failures that were to come."""
        self.state.failures.clear()

    def on_exec(self, handler: ExecHandler) -> None:
        """Answer exec: the handler gets container, argv and stdin; a later one replaces it."""
        self.state.exec_handler = handler

    def on_start(self, hook: Hook) -> None:
        """Called with a container that was just started: it may end it or make it healthy."""
        self.state.start_hooks.append(hook)

    def on_stop(self, hook: Hook) -> None:
        """Called with a container that is to stop; it ends with 0 unless the hook ended it."""
        self.state.stop_hooks.append(hook)

    def add_image(
        self,
        reference: str,
        *,
        declared_volumes: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        in_registry: bool = False,
    ) -> Image:
        """Have an image, on the engine or only in its registry."""
        image_id = f"sha256:{self.state.new_id()}"
        name, _, digest = reference.partition("@")
        image = Image(
            id=image_id,
            tags=(name,) if ":" in name else (),
            digests=(f"{name.split(':')[0]}@{digest}",) if digest else (),
            architecture="amd64",
            labels=dict(labels or {}),
            declared_volumes=tuple(declared_volumes),
            size=1000,
        )
        (self.state.registry if in_registry else self.state.images)[reference] = image
        return image

    def add_network(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Make a network although there may be one of that name: a twin."""
        return self.networks._add(name, labels or {}, self.networks._free_subnet())

    def box(self, ref: str) -> Box:
        """A container's whole state, by name or id; changes of it count."""
        return self.state.box(ref)

    def seen(self, ref: str) -> Container:
        """A container as the protocol tells it, without a call being noted."""
        return self.state.box(ref).seen()

    def files(self, ref: str) -> View:
        """The files as a container sees them."""
        return self.state.view(self.state.box(ref))

    def volume_files(self, name: str) -> Tree:
        """The files of a volume."""
        return self.state.disks[name].tree

    def end(self, ref: str, exit_code: int = 0, *log: bytes) -> None:
        """The container's PID 1 ends, after writing some log lines."""
        box = self.state.box(ref)
        self.write_log(ref, *log)
        self.state.end(box, "exited", exit_code)

    def crash_loop(self, ref: str, exit_code: int, restarts: int, *log: bytes) -> None:
        """The container ended that many times and waits for its next restart."""
        box = self.state.box(ref)
        self.write_log(ref, *log)
        self.state.end(box, "restarting", exit_code)
        box.restart_count = restarts

    def set_health(self, ref: str, health: Health) -> None:
        """What its health check said last."""
        self.state.box(ref).health = health

    def write_log(self, ref: str, *lines: bytes) -> None:
        """The container writes lines now."""
        self.state.box(ref).log.extend((self.state.now(), line) for line in lines)

    def prune(self, ref: str) -> None:
        """Somebody removes the container by force, and its anonymous volumes."""
        box = self.state.box(ref)
        self.state.end(box, "removing", box.exit_code)
        del self.state.boxes[box.id]
        for name in box.anonymous:
            self.state.disks.pop(name, None)

    def replace_network(self, name: str) -> str:
        """Somebody removes the network and makes it again: same name, another id."""
        for network in list(self.state.networks.values()):
            if network.name == name:
                self.state.networks[network.id] = replace(network, containers=())
                self.state.networks.pop(network.id)
        return self.networks._add(name, {}, self.networks._free_subnet())
