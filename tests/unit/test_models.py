"""Models: what follows from their fields."""

from typing import get_args

import pytest

from openshell_bootstrap.models import Container, ContainerStatus, PublishedPort

CONTAINER = {
    "id": "c",
    "name": "n",
    "image": "i",
    "image_id": "x",
    "hostname": "h",
    "labels": {},
}


@pytest.mark.parametrize("status", get_args(ContainerStatus))
def test_a_container_is_up_while_processes_of_it_exist(status):
    container = Container(status=status, **CONTAINER)
    assert container.is_up is (status in {"running", "paused", "restarting"})


@pytest.mark.parametrize(("started_at", "started"), [("", False), ("2026-01-01T00:00:00Z", True)])
def test_a_container_that_ran_has_a_moment_when_it_started(started_at, started):
    container = Container(status="exited", started_at=started_at, **CONTAINER)
    assert container.has_started is started


def test_a_port_is_written_as_docker_writes_it():
    assert str(PublishedPort("127.0.0.1", 16443, 6443)) == "127.0.0.1:16443:6443"
