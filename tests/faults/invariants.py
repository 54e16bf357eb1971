"""What must stay as it was in every run, whatever was broken in it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from openshell_bootstrap.errors import LockedError
from openshell_bootstrap.gateway.record import (
    AUTHORITY_PATH,
    RECORD_PATH,
    GatewayRecord,
    decode_record,
)
from openshell_bootstrap.models import DATA_PATH
from tests.faults.operations import CLAIMED, PRECIOUS, Operation
from tests.faults.stage import GATEWAY, NAME, Ran, Stage

ANONYMOUS = re.compile(r"[0-9a-f]{64}")
KEPT = ("PersistentVolume/", "PersistentVolumeClaim/")
FLEETING = (f"openshell-helper-{GATEWAY}", "openshell-probe-")
"""What commands that look make for the time of a look, and what the next one removes."""

ACTIVE = "config/openshell/active_gateway"
RECORD = RECORD_PATH.removeprefix(DATA_PATH)
IDENTITY = ("/openshell/node/password", "/server/token", AUTHORITY_PATH.removeprefix(DATA_PATH))


@dataclass(frozen=True)
class Before:
    """How it was before the run.

    Attributes:
        foreign: Of the summary, what is others'.
        files: Of the volume: what says which cluster and node it is, and a claim's file.
        claims: Uids of claims and volumes, by their place among the objects.
        reference: What the operation says where nothing is broken.
        wanted: The record that it leaves then.
    """

    operation: Operation
    foreign: dict[str, Any]
    summary: dict[str, Any]
    files: dict[str, bytes]
    claims: dict[str, str]
    record: GatewayRecord | None
    reference: Ran
    wanted: GatewayRecord | None


def look(
    stage: Stage,
    operation: Operation,
    foreign: dict[str, Any],
    reference: Ran,
    wanted: GatewayRecord | None,
) -> Before:
    """How it is now."""
    disk = stage.world.engine.state.disks.get(NAME)
    files = {path: disk.tree.read(path) for path in IDENTITY} if disk else {}
    return Before(
        operation,
        foreign,
        stage.summary(),
        {path: content for path, content in files.items() if content is not None},
        claims_of(stage),
        record_of(stage),
        reference,
        wanted,
    )


def claims_of(stage: Stage) -> dict[str, str]:
    kube = stage.kube
    found = kube.objects if kube else {}
    return {
        "/".join(key): made["metadata"]["uid"]
        for key, made in found.items()
        if f"{key[0]}/" in KEPT
    }


def record_of(stage: Stage) -> GatewayRecord | None:
    disk = stage.world.engine.state.disks.get(NAME)
    content = disk and disk.tree.read(RECORD)
    record = decode_record(content) if content else None
    return record if isinstance(record, GatewayRecord) else None


def check_foreign(stage: Stage, before: Before) -> Iterator[str]:
    """Nothing of anybody else was touched."""
    after = stage.summary()
    for noun in ("containers", "volumes", "networks"):
        for key, was in before.foreign[noun].items():
            if after[noun].get(key) != was:
                yield f"a foreign object is not as it was: {noun} {was}: {after[noun].get(key)}"


def check_data(stage: Stage, before: Before) -> Iterator[str]:
    """The volume with its files, the cluster's identity, all claims and settings."""
    if not before.operation.has_data:
        return
    disk = stage.world.engine.state.disks.get(NAME)
    if disk is None:
        yield "the data volume is gone"
        return
    if disk.tree.read(CLAIMED) != PRECIOUS:
        yield f"a claim's file is not as it was: {disk.tree.read(CLAIMED)!r}"
    for path, content in before.files.items():
        if disk.tree.read(path) != content:
            yield f"{path} on the volume is not as it was"
    now = claims_of(stage)
    lost = {key: uid for key, uid in before.claims.items() if now.get(key) != uid}
    if lost:
        yield f"claims or volumes are gone or are others: {lost}"
    if stage.world.nodes.rejected:
        yield f"a node came with another password: {stage.world.nodes.rejected}"


def check_record(stage: Stage, before: Before, kind: str) -> Iterator[str]:
    """The settings, as they were or as they were asked for; a record is whole, or there is none."""
    disk = stage.world.engine.state.disks.get(NAME)
    if disk is None:
        if before.operation.goal != "gone" and stage.world.nodes.boots.get(NAME):
            yield "a volume on which a node ran is gone"
        return
    content, was, now = disk.tree.read(RECORD), before.record, record_of(stage)
    if content is not None and now is None:
        yield f"the gateway's record is damaged: {content!r}"
    if was is None or kind == "404":  # the engine said clearly that there is no record
        return
    if now is None:
        yield "the gateway's record is gone"
        return
    if now.spec not in [was.spec, before.wanted and before.wanted.spec]:
        yield f"the gateway's settings are lost: {was.spec} became {now.spec}"
    if was.cluster_id != now.cluster_id:
        yield "the record is another cluster's"


def check_order(stage: Stage) -> Iterator[str]:
    """A volume goes after its containers, or is there."""
    state = stage.world.engine.state
    users = [box.name for box in state.users(NAME)]
    if users and NAME not in state.disks:
        yield f"the volume is gone before its containers: {users}"


def check_host(stage: Stage, before: Before) -> Iterator[str]:
    """The user's files are whole, and those of others as they were."""
    files = stage.summary()["home"]
    for path, content in before.foreign["home"].items():
        if path not in {"kubeconfig", ACTIVE} and files.get(path) != content:
            yield f"a foreign file is not as it was: {path}"
    yield from (f"{path} is not whole" for path, one in files.items() if not _is_whole(path, one))
    contexts = [one["name"] for one in _kubeconfig(files["kubeconfig"])["contexts"]]
    if "theirs" not in contexts:
        yield f"the user's own context is gone: {contexts}"
    chosen = [b"t1\n"] if before.operation.goal == "host" else []
    if files.get(ACTIVE) not in [b"t10\n", *chosen]:
        yield f"another gateway is active: {files.get(ACTIVE)!r}"


def _is_whole(path: str, content: bytes) -> bool:
    name = path.rpartition("/")[2]
    try:
        if name == "metadata.json":
            return "gateway_endpoint" in json.loads(content)
        if name == "kubeconfig":
            return bool(_kubeconfig(content)["clusters"][0]["cluster"]["server"])
    except (ValueError, LookupError, TypeError, yaml.YAMLError):
        return False
    return True


def check_lock(stage: Stage) -> Iterator[str]:
    try:
        with stage.world.store.lock(stage.world.engine.state.info.id, GATEWAY):
            pass
    except LockedError as error:
        yield f"the lock is held on: {error.brief}"


@cache
def _kubeconfig(content: bytes) -> dict[str, Any]:
    return yaml.load(content, Loader=yaml.CSafeLoader)


def check_nothing_changed(stage: Stage, before: Before) -> Iterator[str]:
    """A command that looks may leave its own helper at most, and that only if it was killed."""
    after = stage.summary()
    after["volumes"] = {  # of the helper's image, and removed with it
        name: one for name, one in after["volumes"].items() if not ANONYMOUS.fullmatch(name)
    }
    for noun in ("volumes", "networks", "cluster"):
        if after[noun] != before.summary[noun]:
            yield f"a command that only looks changed {noun}: {after[noun]}"
    was = before.summary["containers"]
    for key, one in after["containers"].items():
        if was.get(key) != one and not one[0].startswith(FLEETING):
            yield f"a command that only looks changed a container: {one}"
    if gone := was.keys() - after["containers"].keys():
        yield f"a command that only looks removed containers: {gone}"
