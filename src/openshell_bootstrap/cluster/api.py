"""A cluster as sandboxes need it: what is asked of an API server, and what it may answer.

Objects are the JSON that the server told, as dicts: a field that nobody here knows survives.
Every call that removes is bound to the uid of what was seen.

All calls may raise, beside what they name:

- ClusterUnreachableError: no answer, or one that cannot be read (a 5xx too);
- ClusterTimeoutError: none in time: what was asked may have happened;
- NoSuchKindError: the version of the kind is not served (a 404 that is no JSON Status);
- AccessDeniedError: 401 or 403;
- ClusterError: any other refusal, quoted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from openshell_bootstrap.cluster.kinds import Kind
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import CALL_TIMEOUT_S

JsonObject = dict[str, Any]

Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of one list.

    Attributes:
        resource_version: Where a watch goes on from.
    """

    items: tuple[JsonObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch: ``BOOKMARK`` bears a resourceVersion only."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: JsonObject


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a delete is bound to, and how it is done.

    Attributes:
        uid: Of the object that is meant.
        resource_version: Where the delete was decided on what the object said; else empty.
        grace_s: Until a pod is killed; None leaves it to the pod.
    """

    uid: str
    resource_version: str = ""
    propagation: Propagation = "Background"
    grace_s: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerRef:
    """A container of a pod; an empty name means its only or default one."""

    namespace: str
    pod: str
    container: str = ""


class Cluster(Protocol):
    """The calls."""

    def get(
        self, kind: Kind, name: str, namespace: str = "", *, timeout_s: float = CALL_TIMEOUT_S
    ) -> JsonObject:
        """One object.

        Raises:
            NoSuchResourceError: The API server says that there is none of that name.
        """

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Listing:
        """All objects, page by page; begins anew once where the pages ran out of date (410)."""

    def create(
        self,
        kind: Kind,
        body: Mapping[str, Any],
        namespace: str = "",
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> JsonObject:
        """Create one object, fields checked strictly.

        Raises:
            ResourceExistsError: The name is taken.
            InvalidResourceError: 400 or 422, quoted.
        """

    def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> JsonObject:
        """Change one object: a mapping is a merge patch, a sequence a JSON patch.

        A merge patch that bears ``metadata.uid`` and ``metadata.resourceVersion`` is bound to
        both.

        Raises:
            NoSuchResourceError: There is none of that name.
            OtherResourceError: The uid is not that of the object.
            ResourceConflictError: It changed since it was read, or a ``test`` failed.
            InvalidResourceError: 400 or 422 otherwise.
        """

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        options: DeleteOptions,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        """Delete the object with that uid; it may live on for its grace or its finalizers.

        Raises:
            NoSuchResourceError: There is none of that name.
            OtherResourceError: The name belongs to another object now, which stays.
            ResourceConflictError: It is the one, and changed since it was read.
        """

    def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        resource_version: str,
        labels: str = "",
        timeout_s: float,
    ) -> Iterator[WatchEvent]:
        """What happens from then on, until the server ends it or the time is over.

        Closing the iterator ends the connection.

        Raises:
            ResourceConflictError: That resourceVersion is too old (410): list anew.
        """

    def read_log(
        self, where: ContainerRef, *, follow: bool, tail: int | None = None
    ) -> Iterator[bytes]:
        """Lines of a container's output, without line ends."""

    def exec(
        self, where: ContainerRef, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float
    ) -> Completed:
        """Run a command in a container to its end."""

    def attach_exec(self, where: ContainerRef, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command wired to this process's own streams; its exit status."""

    def close(self) -> None:
        """Give the connections back."""
