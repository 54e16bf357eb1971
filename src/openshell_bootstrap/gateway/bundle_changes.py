"""Which of the files that were put into a node are not those of this release."""

import hashlib
from collections.abc import Mapping, Sequence

from openshell_bootstrap import bundle
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.models import Container, FileEntry
from openshell_bootstrap.names import LABEL_BUNDLE_DIGEST, LABEL_GATEWAY

_GIVEN = frozenset({bundle.TOKEN_FILE, bundle.REGISTRIES_FILE})
"""Part of the bundle, and not shipped: they are the user's."""


def read_bundle_changes(
    engine: Engine, container: Container | None, gateway: str
) -> tuple[str, ...]:
    """One line per shipped file that differs; none where the container's label says none do.

    Args:
        engine: Where the container is.
        container: The gateway's; one that bears no label of this gateway got no file of ours.
        gateway: The gateway.

    Raises:
        EngineUnavailableError: The engine did not answer.
    """
    if container is None or container.labels.get(LABEL_GATEWAY) != gateway:
        return ()
    if container.labels.get(LABEL_BUNDLE_DIGEST) == bundle.digest():
        return ()
    try:
        files = engine.containers.get_files(container.id, bundle.BUNDLE_PATH)
    except EngineUnavailableError:
        raise
    except EngineError:  # one that is half removed: that it differs is known all the same
        return ()
    return compare_files(files or (), bundle.shipped_files())


def compare_files(old: Sequence[FileEntry], new: Sequence[FileEntry]) -> tuple[str, ...]:
    """``shipped file NAME: OLD -> NEW``, with the first digits of what tells them apart."""
    before, after = _marks(old), _marks(new)
    return tuple(
        f"shipped file {path.removeprefix(f'{bundle.BUNDLE_PATH}/')}: "
        f"{before.get(path, 'none')} -> {after.get(path, 'none')}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def _marks(files: Sequence[FileEntry]) -> Mapping[str, str]:
    return {
        file.path: hashlib.sha256(b"%o\0%b" % (file.mode, file.content)).hexdigest()[:8]
        for file in files
        if file.content is not None and file.path not in _GIVEN
    }
