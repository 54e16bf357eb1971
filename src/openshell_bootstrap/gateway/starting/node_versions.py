"""Which k3s an image holds, and that a volume never meets an older one than it knew."""

import re

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import EngineError, GatewayStateError
from openshell_bootstrap.gateway.node_container import object_labels
from openshell_bootstrap.gateway.observe import Seen, is_helper
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import ContainerSpec
from openshell_bootstrap.settings import PROBE_PATIENCE
from openshell_bootstrap.waits import wait_until

_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)\S*")


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Major, minor and patch of the first ``v1.35.3+k3s1`` in a text, or None."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def image_version(engine: Engine, image: str, *, gateway: str) -> str:
    """What ``k3s --version`` says in an image, run without a volume of the gateway.

    Raises:
        EngineError: The image has no k3s, or it does not say its version.
    """
    name = f"openshell-version-{gateway}"
    left_over = engine.containers.find(name)
    if left_over is not None and is_helper(left_over):
        engine.containers.remove(left_over.id, force=True, volumes=True)
    container_id = engine.containers.create(
        ContainerSpec(
            name=name,
            image=image,
            hostname="version",
            entrypoint=("/bin/k3s",),
            command=("--version",),
            environment={},
            labels=object_labels(gateway, "helper"),
        )
    )
    try:
        engine.containers.start(container_id)
        wait_until(
            lambda: engine.containers.find(container_id),
            lambda seen: seen is None or not seen.is_up,
            patience=PROBE_PATIENCE,
            what=f"the version of {image}",
        )
        text = b"\n".join(engine.containers.logs(container_id)).decode(errors="replace")
    finally:
        engine.containers.remove(container_id, force=True, volumes=True)
    found = _VERSION.search(text)
    if found is None:
        raise EngineError(
            f"The image {image} does not say which k3s it holds",
            details=text[-500:],
            remedies=["Use an image whose `/bin/k3s --version` names its version."],
        )
    return found[0]


def check_no_downgrade(engine: Engine, settled: Settled, seen: Seen) -> None:
    """Refuse an image with an older k3s than the one that ran on the volume last.

    An older API server cannot read what a newer one stored, and finds out after it has begun.

    Raises:
        GatewayStateError: It is older.
        EngineError: The image does not say its version.
    """
    record = seen.record
    if not isinstance(record, GatewayRecord) or not record.k3s_version:
        return
    if settled.base is not None and settled.base.image == settled.spec.image:
        return
    wanted = image_version(engine, settled.spec.image, gateway=settled.spec.name)
    last, new = parse_version(record.k3s_version), parse_version(wanted)
    if last is not None and new is not None and new < last:
        raise GatewayStateError(
            f"The image {settled.spec.image} holds an older k3s than the volume has seen",
            details=f"the volume was last used by {record.k3s_version}, the image has {wanted}",
            remedies=["Use an image with the same k3s or a newer one; a volume cannot go back."],
        )
