"""Whether the engine lets a privileged container run: tried with one that ends by itself.

It has no network, no volume and no port, and is removed again with what its image declares. Its
name tells when it was made, so that one which a killed command left behind is known and removed.
"""

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import BootstrapError, EngineUnavailableError
from openshell_bootstrap.gateway.checks.findings import Finding, fine, problem, unknown
from openshell_bootstrap.models import Container, ContainerSpec, EngineInfo
from openshell_bootstrap.names import LABEL_MANAGED_BY, LABEL_ROLE, MANAGED_BY
from openshell_bootstrap.settings import PROBE_PATIENCE
from openshell_bootstrap.waits import wait_until

LABELS = {LABEL_MANAGED_BY: MANAGED_BY, LABEL_ROLE: "probe"}
FORGOTTEN_AFTER_S = 600
"""No probe lives that long: whoever made it was killed."""

_NO_MOUNT, _NO_OVERLAY = 10, 11
_SCRIPT = f"""
mkdir /openshell-probe && mount -t tmpfs tmpfs /openshell-probe || exit {_NO_MOUNT}
cd /openshell-probe && mkdir lower upper work merged
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged || exit {_NO_OVERLAY}
"""
_NAME = re.compile(r"openshell-probe-(\d+)-[0-9a-f]+")


def try_privileged(engine: Engine, info: EngineInfo, image: str | None) -> Finding:
    """Run a privileged container of an image that is present, as a node's is.

    Args:
        engine: Where.
        info: What the engine says of itself.
        image: The image; None where none is present.
    """
    if image is None:
        return unknown("privileged", "Privileged containers were not tried: no node image is here")
    try:
        _remove_forgotten(engine, time.time())
        with _probe(engine, info, image) as container_id:
            engine.containers.start(container_id)
            ended = _wait_for_end(engine, container_id)
            said = b"\n".join(engine.containers.logs(container_id, tail=5)).decode(errors="replace")
    except BootstrapError as error:
        # A wait whose looks failed tells of the engine, not of what it lets a container do.
        if isinstance(error, EngineUnavailableError) or isinstance(
            error.__cause__, EngineUnavailableError
        ):
            brief = "Privileged containers could not be tried"
            return unknown("privileged", brief, _told(error))
        return problem(
            "privileged",
            "A privileged container cannot be run",
            "Let the engine run privileged containers: see its authorization plugins, its "
            "runtime and, on a virtual machine, what that one may do.",
            details=_told(error),
        )
    return _judge(image, ended.exit_code, said)


def _told(error: BootstrapError) -> str:
    return ": ".join(part for part in (error.brief, error.details) if part)


def _judge(image: str, exit_code: int, said: str) -> Finding:
    if exit_code == 0:
        return fine("privileged", f"A privileged container of {image} ran and could mount")
    if exit_code == _NO_OVERLAY:
        return Finding(
            check="privileged",
            severity="warning",
            brief="A privileged container cannot mount an overlay file system",
            details=said,
            remedies=("`modprobe overlay` as root on the engine's host.",),
        )
    why = "may not mount" if exit_code == _NO_MOUNT else f"ended with {exit_code}"
    return problem(
        "privileged",
        f"A privileged container of {image} {why}",
        "See what keeps it from that: `docker run --rm --privileged IMAGE mount`.",
        details=said,
    )


@contextmanager
def _probe(engine: Engine, info: EngineInfo, image: str) -> Iterator[str]:
    container_id = engine.containers.create(
        ContainerSpec(
            name=f"openshell-probe-{int(time.time())}-{secrets.token_hex(4)}",
            image=image,
            hostname="probe",
            entrypoint=("sh", "-c"),
            command=(_SCRIPT,),
            environment={},
            labels=LABELS,
            privileged=True,
            cgroup_namespace="private" if info.cgroup_version == "2" else "host",
            userns_mode="host",
        )
    )
    try:
        yield container_id
    finally:
        engine.containers.remove(container_id, force=True, volumes=True)


def _wait_for_end(engine: Engine, container_id: str) -> Container:
    found = wait_until(
        lambda: engine.containers.find(container_id),
        lambda seen: seen is not None and seen.status == "exited",
        failed=lambda seen: "it is gone" if seen is None else None,
        patience=PROBE_PATIENCE,
        what="the end of a container that only mounts",
    )
    assert found is not None  # noqa: S101 - a status was seen
    return found


def _remove_forgotten(engine: Engine, now: float) -> None:
    for container in engine.containers.list(LABELS):
        made = _NAME.fullmatch(container.name)
        if made and now - int(made[1]) > FORGOTTEN_AFTER_S:
            engine.containers.remove(container.id, force=True, volumes=True)
