"""What the host keeps, by noun."""

import os
import pwd
import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from openshell_bootstrap.store.active import ActiveGateway
from openshell_bootstrap.store.diagnostics import Diagnostics
from openshell_bootstrap.store.journals import Journals
from openshell_bootstrap.store.kubeconfigs import Kubeconfigs
from openshell_bootstrap.store.lock import Held, LockFolders, hold, lock_name
from openshell_bootstrap.store.metadata import Records
from openshell_bootstrap.store.paths import (
    SHARED_LOCKS,
    ConfigPaths,
    config_folder,
    state_folder,
    user_locks_folder,
)
from openshell_bootstrap.store.saved_pods import SavedPods


@dataclass(frozen=True, slots=True)
class Store:
    """The host's disk as the product uses it.

    Attributes:
        config: ``$XDG_CONFIG_HOME/openshell``.
        locks: Where locks go.
        command: What this process does, for whoever finds a lock taken.
        wait_lock_s: How long it waits for a lock that another process holds.
        state: ``$XDG_STATE_HOME/openshell``.
    """

    config: Path
    locks: LockFolders
    command: str = "openshell"
    wait_lock_s: float = 0
    state: Path = field(kw_only=True)

    @property
    def records(self) -> Records:
        """The records of this host's gateways."""
        return Records(ConfigPaths(self.config))

    @property
    def active(self) -> ActiveGateway:
        """The active gateway."""
        return ActiveGateway(ConfigPaths(self.config))

    @property
    def kubeconfigs(self) -> Kubeconfigs:
        """The gateways' kubeconfigs."""
        return Kubeconfigs(ConfigPaths(self.config))

    @property
    def saved_pods(self) -> SavedPods:
        """Pods that a clean-up had to delete for good."""
        return SavedPods(ConfigPaths(self.config))

    @property
    def diagnostics(self) -> Diagnostics:
        """What was seen when something failed."""
        return Diagnostics(self.state / "diagnostics")

    @property
    def journals(self) -> Journals:
        """Copies of the journals of unfinished work."""
        return Journals(self.state / "journals")

    @property
    def who(self) -> str:
        """User, host and process, for whoever finds work that this process did not finish."""
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may run as a user that no file names
            user = str(os.getuid())
        return f"{user}@{socket.gethostname()} (process {os.getpid()})"

    def lock(self, engine_id: str, name: str) -> AbstractContextManager[Held]:
        """Hold the one lock of a gateway: not twice in one process either.

        Raises:
            LockedError: Another process, which it names, works on the gateway.
        """
        return hold(self.locks, lock_name(engine_id, name), gateway=name, command=self.command)


def open_store(command: str, wait_lock_s: float = 0) -> Store:
    """The store of this user on this host."""
    locks = LockFolders(SHARED_LOCKS, user_locks_folder())
    return Store(config_folder(), locks, command, wait_lock_s, state=state_folder())
