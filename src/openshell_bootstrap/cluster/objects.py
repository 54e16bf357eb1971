"""What all Kubernetes objects have in common, and how an answer becomes one of ours.

Only fields that somebody uses are read; what else an object holds is none of our business and
survives a replace because the object's own text is kept.
"""

from datetime import datetime
from typing import TypeVar

import msgspec

from openshell_bootstrap.errors import ClusterUnreachableError

T = TypeVar("T")


class OwnerReference(msgspec.Struct, frozen=True):
    """Who owns an object; at most one owner is its controller."""

    controller: bool = False


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel"):
    """``metadata`` of an object."""

    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class Resource(msgspec.Struct, frozen=True):
    """One object as the API server told it: its kind and its whole text."""

    kind: str
    raw: bytes


def parse(raw: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Read one object.

    Raises:
        ClusterUnreachableError: It is not what it should be: half an answer is none. Never taken
            for an absent object.
    """
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClusterUnreachableError(
            "An answer of the API server cannot be read",
            details=f"{error}\n{bytes(raw)[:500].decode(errors='replace')}",
        ) from error
