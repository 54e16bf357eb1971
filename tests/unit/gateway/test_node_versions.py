"""No volume meets an older k3s than it knew."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineError, GatewayStateError, WaitTimeoutError
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.starting.node_versions import (
    check_no_downgrade,
    image_version,
    parse_version,
)
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import Unknown
from tests.unit.gateway.specs import IMAGE, RECORD, SPEC, standing

NEW = "k3s:v2"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("k3s version v1.35.3+k3s1 (abc)\ngo version go1.25", (1, 35, 3)),
        ("v1.36.10", (1, 36, 10)),
        ("v1.36", None),
        ("", None),
    ],
)
def test_a_version_is_read_from_what_k3s_says(text, version):
    assert parse_version(text) == version


def ask(world, text="k3s version v1.36.3+k3s1 (x)"):
    if world.engine.images.find(NEW) is None:
        world.engine.add_image(NEW, declared_volumes=("/var/lib/rancher/k3s",))
    world.nodes.version[NEW] = text
    return image_version(world.engine, NEW, gateway="t1")


def test_an_image_is_asked_in_a_container_without_a_volume_of_the_gateway(world):
    assert ask(world) == "v1.36.3+k3s1"
    assert world.engine.state.boxes == {}
    assert world.engine.state.disks == {}
    assert world.changes() == ["containers.create", "containers.start", "containers.remove"]


def test_an_image_that_does_not_say_its_version_is_refused(world):
    with pytest.raises(EngineError, match="does not say which k3s") as refused:
        ask(world, "no such file: /bin/k3s")
    assert "no such file" in refused.value.details
    assert refused.value.remedies
    assert world.engine.state.boxes == {}


def test_an_image_that_never_ends_is_not_waited_for_for_ever(world):
    world.engine.state.start_hooks.clear()
    with pytest.raises(WaitTimeoutError):
        ask(world)
    assert world.engine.state.boxes == {}


def test_a_probe_that_a_killed_command_left_is_taken_away(world):
    world.engine.fail("containers.remove", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ask(world)
    box = world.engine.box("openshell-version-t1")
    box.spec = replace(box.spec, labels={**box.spec.labels, "from.the.image": "x"})
    box.status = "running"
    assert ask(world) == "v1.36.3+k3s1"
    assert world.engine.state.boxes == world.engine.state.disks == {}


def test_a_strangers_container_of_the_probes_name_is_left_alone(world):
    world.run_foreign("openshell-version-t1")
    with pytest.raises(EngineError):
        ask(world)
    assert [box.name for box in world.engine.state.boxes.values()] == ["openshell-version-t1"]


def check(world, last, new, *, base=SPEC):
    world.engine.add_image(NEW)
    world.nodes.version[NEW] = new
    record = last if isinstance(last, Unknown) else replace(RECORD, k3s_version=last)
    settled = Settled(spec=replace(SPEC, image=NEW), base=base)
    check_no_downgrade(world.engine, settled, standing(on_volume=OnVolume(record=record)))


@pytest.mark.parametrize("new", ["v1.35.3+k3s1", "v1.35.4+k3s1", "v1.36.0", "v2.0.0"])
def test_the_same_version_and_a_newer_one_are_let_pass(world, new):
    check(world, "v1.35.3+k3s1", new)


@pytest.mark.parametrize("new", ["v1.35.2+k3s9", "v1.34.99", "v0.99.99"])
@pytest.mark.parametrize("base", [SPEC, None])
def test_an_older_version_is_refused(world, new, base):
    """R77."""
    with pytest.raises(GatewayStateError, match="older k3s") as refused:
        check(world, "v1.35.3+k3s1", new, base=base)
    assert refused.value.exit_code == 4
    assert "v1.35.3+k3s1" in refused.value.details
    assert new in refused.value.details


@pytest.mark.parametrize("last", ["", "unknown", Unknown("damaged")])
def test_a_volume_that_does_not_say_what_ran_on_it_cannot_be_checked(world, last):
    check(world, last, "v1.0.0")


def test_an_image_that_is_not_changed_is_not_asked(world):
    settled = Settled(spec=SPEC, base=SPEC)
    check_no_downgrade(world.engine, settled, standing())
    assert SPEC.image == IMAGE
    assert world.changes() == []
