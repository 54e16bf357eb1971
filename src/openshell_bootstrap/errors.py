"""Every error that a user can meet, each with its exit code.

::

    BootstrapError                    1  internal
      ConfigError                     2  usage, settings, a name that cannot be
      EngineError                     5
        EngineUnavailableError           cannot be reached, or answered 5xx (transient)
        EngineTooOldError
        NoSuchContainerError
        NoSuchImageError
        NoSuchNetworkError
        NoSuchVolumeError
        NameConflictError                the engine has that name already
        PortConflictError                the engine could not bind a host port
        ContainerNotRunningError         exec asked of a container that does not run (transient)
        PullError                        an image that is absent could not be pulled
      ClusterError                    6
        ClusterUnreachableError          no answer from the API server (transient)
          ClusterTimeoutError            it did not come in time; what was asked may have happened
        NodeRefusedError                 PID 1 of the node refuses to start k3s
        ResourceConflictError            the object changed since it was read
          OtherResourceError             the name belongs to another object (its uid differs)
        ResourceExistsError              the name is taken
        InvalidResourceError             the API server refuses what the object says
        AccessDeniedError                the user of the kubeconfig may not do that
        NoSuchResourceError              the API server says that there is no such object
        NoSuchKindError                  the API server does not serve that version of the kind
      WaitTimeoutError                7
      WaitFailedError                 8
      GatewayNotFoundError            3
      GatewayExistsError              4
      GatewayStateError               4
        LostVolumeError                  its data is gone; the user may say that it is given up
      SandboxNotFoundError            3
      SandboxExistsError              4
      SandboxStateError               4
      SandboxFailedError              8
      InvalidSandboxError             2  (a ConfigError)
      GatewayUnhealthyError           8
        NodeStoppedError                 a node that was left running is stopped, or gone, since
      LockedError                    10  held by another command (transient)
        UnusableLockError                its file is not one that can be locked

Exit code 130 (interrupted, or answered no) is no error class: see ``cli.main``.
A class exists because somebody catches it, because it has an exit code of its own, or because
programs act on its code (``docs/output.md``).
"""

from collections.abc import Sequence


class BootstrapError(Exception):
    """What happened, the evidence, and what to do.

    Attributes:
        brief: One sentence without a full stop: what happened.
        details: The evidence: an engine's answer, the last log lines. May be empty.
        remedies: What the user can do, one step each, in the order to try.
        diagnostics: The file with what was seen when it happened; empty where none was saved.
    """

    exit_code = 1
    transient = False
    """Whether the same call may succeed a moment later."""

    def __init__(self, brief: str, details: str = "", remedies: Sequence[str] = ()) -> None:
        super().__init__(brief)
        self.brief = brief
        self.details = details
        self.remedies = tuple(remedies)
        self.diagnostics = ""


class ConfigError(BootstrapError):
    """Something the user gave cannot be used; nothing was touched."""

    exit_code = 2


class EngineError(BootstrapError):
    """The Docker engine refused, or the host cannot do what is asked of it."""

    exit_code = 5


class EngineUnavailableError(EngineError):
    """The engine cannot be reached, or answered that it failed itself."""

    transient = True


class EngineTooOldError(EngineError):
    """The engine speaks an API older than the oldest that is supported."""


class NoSuchContainerError(EngineError):
    """The engine says that there is no such container."""


class NoSuchImageError(EngineError):
    """The engine says that there is no such image."""


class NoSuchNetworkError(EngineError):
    """The engine says that there is no such network."""


class NoSuchVolumeError(EngineError):
    """The engine says that there is no such volume."""


class NameConflictError(EngineError):
    """The engine has an object of that name already: somebody else was faster."""


class PortConflictError(EngineError):
    """The engine could not bind a host port."""


class ContainerNotRunningError(EngineError):
    """A command was to run in a container that does not run (now)."""

    transient = True


class PullError(EngineError):
    """An image is absent and could not be pulled."""


class ClusterError(BootstrapError):
    """The Kubernetes API server refused, or its answer cannot be read."""

    exit_code = 6


class ClusterUnreachableError(ClusterError):
    """The Kubernetes API server did not answer."""

    transient = True


class ClusterTimeoutError(ClusterUnreachableError):
    """The answer did not come in time; what was asked for may have happened all the same."""


class NodeRefusedError(ClusterError):
    """PID 1 of the node refuses to start k3s, to keep the data volume from harm."""


class ResourceConflictError(ClusterError):
    """The object changed, or is another one, since it was read."""


class OtherResourceError(ResourceConflictError):
    """The name belongs to another object than the one that was meant: its uid differs."""


class ResourceExistsError(ClusterError):
    """An object of that name exists already."""


class InvalidResourceError(ClusterError):
    """The API server refuses what the object says."""


class AccessDeniedError(ClusterError):
    """Whoever the kubeconfig names may not do that."""


class NoSuchResourceError(ClusterError):
    """The API server says that there is no such object."""


class NoSuchKindError(ClusterError):
    """The API server does not serve that version of the kind: it may not be installed (yet)."""


class SandboxNotFoundError(BootstrapError):
    """No sandbox of that name is known to the cluster."""

    exit_code = 3


class SandboxExistsError(BootstrapError):
    """A sandbox of that name exists already, and is not the one that was asked for."""

    exit_code = 4


class SandboxStateError(BootstrapError):
    """The sandbox's present state does not allow what is asked."""

    exit_code = 4


class SandboxFailedError(BootstrapError):
    """The sandbox cannot come to the state that was asked for, and the cause is known."""

    exit_code = 8


class InvalidSandboxError(ConfigError):
    """What was asked for is no sandbox that could run; nothing was made."""


class WaitTimeoutError(BootstrapError):
    """What was waited for did not come in time."""

    exit_code = 7


class WaitFailedError(BootstrapError):
    """What was waited for cannot come any more."""

    exit_code = 8


class GatewayNotFoundError(BootstrapError):
    """No gateway of that name is known to the engine, a volume or a record."""

    exit_code = 3


class GatewayExistsError(BootstrapError):
    """A gateway of that name exists already."""

    exit_code = 4


class GatewayStateError(BootstrapError):
    """The gateway's present state does not allow what is asked."""

    exit_code = 4


class LostVolumeError(GatewayStateError):
    """The gateway's data is gone, and nobody said that it may start empty."""


class GatewayUnhealthyError(BootstrapError):
    """The gateway runs, or ran, but is not well; filled from a diagnosis."""

    exit_code = 8


class NodeStoppedError(GatewayUnhealthyError):
    """A node that was left as it ran has ended in order, or is gone: somebody told it to."""


class LockedError(BootstrapError):
    """Another operation works on this gateway."""

    exit_code = 10
    transient = True


class UnusableLockError(LockedError):
    """What lies where the lock should be can be locked by nobody."""

    transient = False
