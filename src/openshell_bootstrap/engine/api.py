"""What the product asks of a container engine: one protocol per noun.

``find`` returns None only where the engine says that there is no such thing. Every method raises
:class:`EngineUnavailableError` when the engine does not answer or fails itself, so that nothing
is ever taken for absent because nobody could say. All look-ups are by exact name or id.
Removals take an id (containers, networks) or an exact name (volumes have no id).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from openshell_bootstrap.models import (
    Completed,
    Container,
    ContainerSpec,
    EngineInfo,
    FileEntry,
    Image,
    Network,
    Volume,
)
from openshell_bootstrap.settings import COMMAND_TIMEOUT_S

Progress = Callable[[str, int, int], None]
"""Told of a transfer: item, bytes done, bytes in all (0 while unknown)."""


class Containers(Protocol):
    """Containers, running or not."""

    def find(self, name: str) -> Container | None:
        """The container of exactly this name or id."""

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Container]:
        """All containers, running or not, that bear these labels (an empty value: any)."""

    def using_volume(self, volume: str) -> Sequence[Container]:
        """All containers, running or not, that mount the volume of exactly this name."""

    def create(self, spec: ContainerSpec) -> str:
        """Make a container without starting it; returns its id.

        Raises:
            NameConflictError: Another container has that name.
            NoSuchImageError: The image is absent. Nothing is ever pulled here.
        """

    def start(self, container_id: str) -> None:
        """Start it; fine if it runs.

        Raises:
            PortConflictError: A host port could not be bound.
            NoSuchNetworkError: The network that it was attached to is gone. A container that ran
                keeps the id of its network; another one of that name is not taken instead.
        """

    def stop(self, container_id: str, grace_s: int) -> None:
        """TERM, and KILL after the grace; returns once it has ended. Fine if it does not run."""

    def pause(self, container_id: str) -> None:
        """Freeze its processes.

        Raises:
            ContainerNotRunningError: It does not run.
        """

    def unpause(self, container_id: str) -> None:
        """Let them go on; fine if it is not paused."""

    def rename(self, container_id: str, name: str) -> None:
        """Give it another name.

        Raises:
            NameConflictError: Another container has that name.
        """

    def set_restart_policy(self, container_id: str, policy: str) -> None:
        """``no`` or ``unless-stopped``."""

    def remove(self, container_id: str, *, force: bool = False, volumes: bool = False) -> None:
        """Remove it and see it gone; fine if it was. ``volumes`` takes its anonymous volumes only.

        Raises:
            EngineError: It runs or is paused, and ``force`` was not given.
            WaitTimeoutError: A removal that somebody else began did not end in a minute.
        """

    def logs(
        self, container_id: str, *, tail: int | None = None, follow: bool = False, since: float = 0
    ) -> Iterator[bytes]:
        """Lines of its output, oldest first, without line ends; ``since`` in epoch seconds.

        Nothing is asked, and nothing raised, before the first line is.
        """

    def put_files(self, container_id: str, files: Sequence[FileEntry]) -> None:
        """Write files, in this order, creating folders; works on one that never started.

        Owner is root. Paths below a mounted volume reach the volume.
        """

    def get_file(self, container_id: str, path: str) -> FileEntry | None:
        """One regular file (at most 16 MiB), links followed; None if there is no such file."""

    def get_files(self, container_id: str, path: str) -> Sequence[FileEntry] | None:
        """A folder with all below it (at most 64 MiB); None if there is no such folder."""

    def exec(
        self,
        container_id: str,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = COMMAND_TIMEOUT_S,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command in it to its end.

        Raises:
            ContainerNotRunningError: It does not run, is paused or restarting.
            EngineUnavailableError: No end within ``timeout_s``.
        """

    def attach_exec(self, container_id: str, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command wired to this process's own stdin, stdout and stderr; its exit status.

        With ``tty`` the terminal is raw meanwhile and resizes are passed on.
        """


class Images(Protocol):
    """Images that the engine has."""

    def find(self, reference: str) -> Image | None:
        """The image of this tag, digest or id."""

    def pull(self, reference: str, progress: Progress) -> Image:
        """Pull it.

        Raises:
            PullError: It could not be pulled; the registry's answer is in the details.
        """


class Networks(Protocol):
    """Networks. Docker lets two have one name, so a name may find several."""

    def list_named(self, name: str) -> Sequence[Network]:
        """All networks of exactly this name."""

    def list(self, labels: Mapping[str, str]) -> Sequence[Network]:
        """All networks that bear these labels (an empty value: any)."""

    def create(self, name: str, labels: Mapping[str, str], *, subnet: str = "") -> str:
        """Make a bridge network; returns its id. May make a twin in a race: look again after.

        Args:
            name: Its name.
            labels: Its labels.
            subnet: Its range of addresses; the engine chooses where it is empty.

        Raises:
            NameConflictError: There is one of that name.
            EngineError: No free address pool, or another network has addresses of the range.
        """

    def remove(self, network_id: str) -> None:
        """Remove it by id and look whether it is gone; fine if it was gone.

        Raises:
            EngineError: Something is still attached to it, or the engine said yes and it is still
                there.
        """


class Volumes(Protocol):
    """Volumes."""

    def find(self, name: str) -> Volume | None:
        """The volume of exactly this name."""

    def list(self, labels: Mapping[str, str] | None = None) -> Sequence[Volume]:
        """All volumes that bear these labels (an empty value: any)."""

    def create(self, name: str, labels: Mapping[str, str]) -> None:
        """Make it. An existing volume of that name stays as it is, data and labels."""

    def remove(self, name: str) -> None:
        """Remove it and look whether it is gone; fine if it was gone.

        Raises:
            EngineError: It is in use, or the engine said yes and it is still there.
        """


class Engine(Protocol):
    """One engine."""

    @property
    def containers(self) -> Containers:
        """Its containers."""

    @property
    def images(self) -> Images:
        """Its images."""

    @property
    def networks(self) -> Networks:
        """Its networks."""

    @property
    def volumes(self) -> Volumes:
        """Its volumes."""

    def info(self) -> EngineInfo:
        """What the engine says of itself.

        Raises:
            EngineTooOldError: It speaks an API older than 1.41.
        """
