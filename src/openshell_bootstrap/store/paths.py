"""Where things lie on the host. A name is checked before it becomes part of a path."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from platformdirs.unix import Unix

from openshell_bootstrap.names import check_adopted_name

SHARED_LOCKS = Path("/run/lock/openshell")
"""Locks that all users of the host see."""


@dataclass(frozen=True, slots=True)
class ConfigPaths:
    """The files below ``$XDG_CONFIG_HOME/openshell``, as the retired releases laid them out."""

    root: Path

    @property
    def active(self) -> Path:
        """Names the active gateway."""
        return self.root / "active_gateway"

    @property
    def gateways(self) -> Path:
        """One folder per gateway."""
        return self.root / "gateways"

    def gateway(self, name: str) -> Path:
        """The folder of one gateway.

        Raises:
            ConfigError: No gateway can have that name.
        """
        return self.gateways / check_adopted_name(name)

    def metadata(self, name: str) -> Path:
        """The record of one gateway."""
        return self.gateway(name) / "metadata.json"

    def kubeconfig(self, name: str) -> Path:
        """The kubeconfig of one gateway."""
        return self.gateway(name) / "kubeconfig"


def config_folder() -> Path:
    """``$XDG_CONFIG_HOME/openshell``, on every system."""
    return Path(Unix("openshell").user_config_dir)


def state_folder() -> Path:
    """``$XDG_STATE_HOME/openshell``, on every system."""
    return Path(Unix("openshell").user_state_dir)


def user_locks_folder() -> Path:
    """Where locks go that only this user sees: below ``$XDG_RUNTIME_DIR``.

    Where that is not set the library says which other folder it takes; so does the lock, if it
    comes to that.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Path(Unix("openshell").user_runtime_dir) / "locks"
