"""Gateways in every state, and what must be true of each."""

from dataclasses import replace

from openshell_bootstrap.gateway.record import RECORD_PATH, GatewayRecord, decode_record
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.start import plan_start
from openshell_bootstrap.models import DATA_PATH
from tests.unit.gateway.conftest import NAME

FRESH = [
    "networks.create",
    *["volumes.create"] * 4,
    "containers.create",
    "containers.put_files",
    "containers.start",
]
JOURNAL = "containers.put_files"
"""Its beginning, or its end."""
REMOVE = ["containers.remove", *["volumes.remove"] * 3]
RECREATE = [JOURNAL, *REMOVE, *FRESH[2:-1], JOURNAL, FRESH[-1]]


def record_of(world, volume=NAME):
    content = world.engine.volume_files(volume).read(RECORD_PATH.removeprefix(DATA_PATH))
    record = decode_record(content)
    assert isinstance(record, GatewayRecord)
    return record


def scratch_of(world):
    return {name for name in world.engine.state.disks if name.startswith("openshell-scratch-")}


def check_tidy(world):
    """No volume is left that no container mounts, no helper, nothing set aside."""
    boxes = world.engine.state.boxes.values()
    used = {mount.source for box in boxes for mount in box.mounts}
    assert set(world.engine.state.disks) <= used
    assert not [box.name for box in boxes if "helper" in box.name or "aside" in box.name]


def drift(world):
    world.engine.containers.stop(NAME, 1)
    box = world.engine.box(NAME)
    box.spec = replace(box.spec, labels={**box.spec.labels, "openshell.ai/bundle-digest": "old"})


SCENES = {
    "stopped": lambda world: world.engine.containers.stop(NAME, 1),
    "pruned": lambda world: world.engine.prune(NAME),
    "drifted": drift,
    "lost network": lambda world: world.engine.replace_network(NAME),
    "paused": lambda world: world.engine.containers.pause(NAME),
}


def prepare(world, scene):
    world.start()
    world.engine.volume_files(NAME).write("/storage/claim/file", b"precious")
    world.run_foreign("bystander")
    set_scene(world, scene)


def set_scene(world, scene):
    SCENES[scene](world)
    world.clock.advance(60)
    world.engine.calls.clear()


def dry_run(world, name="t1", **asked):
    request = StartRequest(name=name, **asked)
    return plan_start(request, engine=world.engine, store=world.store, host=world.host)
