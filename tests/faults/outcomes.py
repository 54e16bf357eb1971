"""Whether a run told the truth, and what comes of it afterwards."""

import json
import tarfile
from collections.abc import Iterator

from openshell_bootstrap.cli.errors import INTERRUPTED
from openshell_bootstrap.cluster.kubeconfig import NODE_KUBECONFIG
from openshell_bootstrap.gateway.checks.privileged import FORGOTTEN_AFTER_S
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from tests.faults.invariants import (
    Before,
    check_data,
    check_foreign,
    check_host,
    check_lock,
    check_nothing_changed,
    check_order,
    check_record,
    record_of,
)
from tests.faults.kinds import KILLS, MADE_UP_ID, MARK
from tests.faults.stage import GATEWAY, KILLED, NAME, Ran, Stage

INTERNAL = 1
LABEL = "openshell.ai/gateway"
CAUSES = (
    *(MARK, NAME, repr(GATEWAY), f"openshell-{GATEWAY}", DEFAULT_NODE_IMAGE, NODE_KUBECONFIG),
    MADE_UP_ID[:12],
    "An answer of the API server cannot be read",
)
"""A message that has one of these names what was broken, or the thing that it was done to."""


def check_run(stage: Stage, before: Before, ran: Ran, kind: str) -> Iterator[str]:
    """What is wrong right after the run."""
    yield from check_foreign(stage, before)
    yield from check_host(stage, before)
    yield from check_lock(stage)
    yield from check_record(stage, before, kind)
    if before.operation.goal != "gone":
        yield from check_data(stage, before)
    else:
        yield from check_order(stage)
    if before.operation.goal in {"looks", "host", "bundle", "check"}:
        yield from check_nothing_changed(stage, before)
    if ran.exit_code == 0:
        yield from check_right(stage, before, ran, kind)
    else:
        yield from check_message(ran, kind)


def check_message(ran: Ran, kind: str) -> Iterator[str]:
    """The exit code and the words fit what was done to the run."""
    if kind.startswith("SIGKILL"):
        if ran.exit_code != KILLED:
            yield f"it lived on: exit code {ran.exit_code}"
        return
    if kind.startswith("SIGINT"):
        if ran.exit_code != INTERRUPTED or "Interrupted" not in ran.told:
            yield f"an interrupt ends with exit code {ran.exit_code}: {ran.told}"
        return
    if ran.exit_code == INTERNAL:
        yield f"a fault of ours: {ran.told}"
    if not any(word in ran.told for word in CAUSES):
        yield f"the message does not name the cause: {ran.told}"


def check_right(  # noqa: C901 - one line per goal
    stage: Stage, before: Before, ran: Ran, kind: str
) -> Iterator[str]:
    """It says that it worked: then it did."""
    if kind in KILLS:
        yield f"{kind}, and exit code 0"
    if kind == "404" and before.operation.goal in {"stopped", "gone", "looks", "check"}:
        return  # what an engine says so clearly is believed
    match before.operation.goal:
        case "up":
            yield from check_up(stage)
        case "stopped":
            box = stage.world.engine.state.find_box(NAME)
            if box is not None and box.is_up:
                yield f"it is said to be stopped, and is {box.status}"
        case "gone":
            yield from (what for what in check_gone(stage) if "left " not in ran.out)
        case "looks" | "check":
            yield from _check_told(before, ran)
        case "bundle":
            yield from _check_bundle(stage, ran)
        case "host":
            if stage.summary()["home"] != before.summary["home"]:  # the reference's
                yield "the user's files are not as the command leaves them"


def _check_told(before: Before, ran: Ran) -> Iterator[str]:
    """What is told is told so without a fault, or said to be unknown; less may be told."""
    known = before.reference.out.splitlines()
    for line in ran.out.splitlines():
        if line not in known and "unknown" not in line and MARK not in line:
            yield f"it tells what is not so: {line!r}"


def _check_bundle(stage: Stage, ran: Ran) -> Iterator[str]:
    """The archive that it speaks of is whole."""
    named = [path for path in stage.home() if path.endswith(".tar.gz") and path in ran.out]
    if len(named) != 1:
        yield f"it names {named}: {ran.out}"
    for path in named:
        with tarfile.open(stage.folder / path) as archive:
            if len(archive.getmembers()) < 2:
                yield f"{path} holds {archive.getnames()}"


def check_up(stage: Stage) -> Iterator[str]:
    """The gateway is up, and nothing lies about."""
    state = stage.world.engine.state
    box = state.find_box(NAME)
    if box is None or box.status != "running":
        yield f"the container is {box.status if box else 'absent'}"
        return
    networks = [one.id for one in state.networks.values() if one.name == NAME]
    if [one.network_id for one in box.attachments] != networks:
        yield f"it is on {box.attachments}, and the networks are {networks}"
    kube = stage.kube
    if kube is None or f"openshell-{GATEWAY}" not in kube.names("Node"):
        yield "its node is not in its cluster"
    if record_of(stage) is None:
        yield "there is no record on the volume"
    files = stage.summary()["home"]
    for name in ("metadata.json", "kubeconfig"):
        if f"config/openshell/gateways/{GATEWAY}/{name}" not in files:
            yield f"this host has no {name} of it"


def check_tidy(stage: Stage, before: Before) -> Iterator[str]:
    """Nothing is left of earlier runs: no container, volume or file that nobody uses."""
    state = stage.world.engine.state
    foreign = before.foreign
    ours = [box for key, box in state.boxes.items() if key not in foreign["containers"]]
    if [box.name for box in ours] != [NAME]:
        yield f"the containers of the gateway are {[box.name for box in ours]}"
    used = {mount.source for box in state.boxes.values() for mount in box.mounts}
    unused = set(state.disks) - used - set(foreign["volumes"])
    if unused:
        yield f"volumes that nobody uses: {sorted(unused)}"
    networks = [one.name for key, one in state.networks.items() if key not in foreign["networks"]]
    if networks != [NAME]:
        yield f"the networks of the gateway are {networks}"
    kube = stage.kube
    if kube and kube.names("Node") != [f"openshell-{GATEWAY}"]:
        yield f"the nodes in its cluster are {kube.names('Node')}"
    yield from check_no_half_files(stage)


def check_no_half_files(stage: Stage) -> Iterator[str]:
    half = [path for path in stage.home() if path.rpartition("/")[2].startswith(".")]
    if half:
        yield f"half-written files lie about: {half}"


def check_gone(stage: Stage) -> Iterator[str]:
    """Nothing of the gateway is left."""
    state = stage.world.engine.state
    left = [box.name for box in state.boxes.values() if box.spec.labels.get(LABEL) == GATEWAY]
    left += [name for name, disk in state.disks.items() if disk.volume.labels.get(LABEL) == GATEWAY]
    left += [one.name for one in state.networks.values() if one.name == NAME]
    left += [name for name in (NAME,) if name in state.disks or state.find_box(name)]
    left += [path for path in stage.home() if f"gateways/{GATEWAY}/" in path]
    if left:
        yield f"it is said to be gone, and there is {sorted(set(left))}"


def check_next(stage: Stage, before: Before, kind: str) -> Iterator[str]:
    """The next start converges, and the one after that finds nothing to do."""
    if before.operation.goal == "gone":
        yield from _check_next_destroy(stage)
        return
    stage.let_files_age()
    if before.operation.goal in {"host", "bundle", "check"}:
        stage.world.clock.advance(FORGOTTEN_AFTER_S + 1)
        again = stage.run(*before.operation.argv)
        if again.exit_code != 0:
            yield f"the same command again fails: {again.told}"
    started = stage.run("gateway", "start", "--name", GATEWAY)
    if started.exit_code != 0:
        yield f"the next start fails with exit code {started.exit_code}: {started.told}"
        return
    yield from check_up(stage)
    if kind != "404":  # a thing that the engine said is gone is nobody's to remove
        yield from check_tidy(stage, before)
    yield from check_foreign(stage, before)
    yield from check_data(stage, before)
    yield from check_record(stage, before, kind)
    once_more = stage.run("gateway", "start", "--name", GATEWAY, "-o", "json")
    if once_more.exit_code or json.loads(once_more.out)["result"]["actions"]:
        yield f"the start after the next has work to do: {once_more.told}"
    status = stage.run("gateway", "status", "--name", GATEWAY)
    if status.exit_code != 0:
        yield f"status does not call it ready: {status.told}"


def _check_next_destroy(stage: Stage) -> Iterator[str]:
    """Another destroy ends clean; a start instead works or says what there is to do."""
    stage.let_files_age()
    kept = stage.keep()
    started = stage.run("gateway", "start", "--name", GATEWAY)
    if started.exit_code == 0:
        yield from check_up(stage)
    elif not any(step in started.told for step in ("gateway destroy", "--start-empty")):
        yield f"the next start fails and does not say what to do: {started.told}"
    stage.put_back(kept)
    done = stage.run("gateway", "destroy", "--name", GATEWAY, "--yes")
    if done.exit_code != 0:
        yield f"the next destroy fails: {done.told}"
    yield from check_gone(stage)
    yield from check_no_half_files(stage)
