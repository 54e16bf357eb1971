"""Gateways of retired releases: adopted without loss, also in pieces."""

import re
from pathlib import Path

import pytest

from openshell_bootstrap.errors import (
    GatewayStateError,
)
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.names import LABEL_GATEWAY
from openshell_bootstrap.store.metadata import HostRecord
from tests.fakes import kube_objects as objects
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import check_tidy


@pytest.mark.parametrize("status", ["running", "exited"])
def test_a_retired_gateway_is_adopted(world, status):
    """Its data, ports, image and node password stay; its container goes once all is well."""
    old = world.run_retired(ports=(PublishedPort("0.0.0.0", 8080, 30051),))
    password = world.engine.files(old.id).file("/etc/rancher/node/password").content
    if status == "exited":
        world.engine.containers.stop(old.id, 1)
    done = world.start()
    new = world.engine.seen(NAME)
    assert new.labels[LABEL_GATEWAY] == "t1"
    assert PublishedPort("0.0.0.0", 8080, 30051) in new.ports
    assert new.environment["HTTPS_PROXY"] == "http://proxy:3128"
    assert "SECRET" not in new.environment
    assert "--disable=traefik" in new.command
    assert "--disable=servicelb" not in new.command
    tree = world.engine.volume_files(NAME)
    assert tree.read("/openshell/node/password") == password
    assert world.kube.names("Node") == ["openshell-t1"]
    assert done.cleaned.removed_nodes == ("0f3a9c1b2d4e",)
    assert "retired release is adopted" in done.notices[0]
    assert done.notices[0] in world.notices
    check_tidy(world)


def test_a_retired_gateways_record_on_the_host_keeps_its_endpoint(world):
    world.run_retired()
    world.store.records.write(
        HostRecord(
            name="t1", gateway_endpoint="https://127.0.0.1:8080", is_remote=False, gateway_port=8080
        )
    )
    world.start()
    seen = world.store.records.find("t1")
    assert isinstance(seen, HostRecord)
    assert (seen.gateway_endpoint, seen.node_name) == ("https://127.0.0.1:8080", "openshell-t1")


def test_a_retired_volume_without_a_container_is_adopted(world):
    old = world.run_retired()
    world.engine.prune(old.id)
    world.engine.volume_files(NAME).write("/server/manifests/traefik.yaml", b"x")
    done = world.start()
    assert "--disable=traefik" not in world.engine.seen(NAME).command
    assert done.cleaned.removed_nodes == ("0f3a9c1b2d4e",)
    check_tidy(world)


def test_an_adoption_that_was_cut_short_is_finished_by_the_next_start(world):
    old = world.run_retired()
    password = world.engine.files(old.id).file("/etc/rancher/node/password").content
    world.engine.fail("containers.create", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.start()
    assert world.engine.box(old.id).restart_policy == "no"
    world.start()
    assert world.engine.volume_files(NAME).read("/openshell/node/password") == password
    check_tidy(world)


def test_a_container_set_aside_that_somebody_started_is_a_second_writer(world):
    """R06."""
    old = world.run_retired()
    world.engine.fail("containers.create", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.start()
    world.engine.containers.start(old.id)
    world.changes()
    with pytest.raises(GatewayStateError, match="uses the volume"):
        world.start()
    assert world.changes() == []


def test_pods_that_nothing_makes_again_are_kept_before_they_go(world):
    world.run_retired()
    world.kube.add(objects.pod("alone", "0f3a9c1b2d4e"))
    done = world.start()
    assert done.cleaned.uncontrolled_pods == ("default/alone",)
    (told,) = re.findall(r"They are in (\S+), for", world.notices)
    assert "alone" in Path(told).read_text()
