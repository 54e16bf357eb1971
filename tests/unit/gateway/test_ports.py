"""Ports of the host."""

from itertools import islice

import pytest

from openshell_bootstrap.errors import PortConflictError
from openshell_bootstrap.gateway.checks.ports import (
    api_port_candidates,
    choose_api_port,
    container_holding,
    overlap,
)
from openshell_bootstrap.models import PublishedPort
from tests.unit.gateway.specs import other

LINUX = (32768, 60999)


def port(number, address="127.0.0.1"):
    return PublishedPort(address, number, 6443)


def test_candidates_are_the_same_every_time_and_differ_between_gateways():
    first = list(islice(api_port_candidates("t1", LINUX), 100))
    assert first == list(islice(api_port_candidates("t1", LINUX), 100))
    assert first[0] != next(api_port_candidates("t2", LINUX))


@pytest.mark.parametrize(
    "ephemeral",
    [
        LINUX,
        (1, 1),
        (1, 1023),
        (1, 65535),
        (1024, 65535),
        (2000, 60000),
        (11_024, 65535),
        (65535,) * 2,
    ],
)
def test_there_are_always_candidates_and_each_can_be_a_port(ephemeral):
    found = [each.host_port for each in api_port_candidates("t1", ephemeral)]
    assert len(set(found)) == len(found) == 10_000
    assert all(1024 < number < 65536 for number in found)


@pytest.mark.parametrize("ephemeral", [LINUX, (49152, 65535), (10_000, 40_000), (1024, 50_000)])
def test_candidates_are_out_of_the_kernels_way_where_that_can_be(ephemeral):
    """R57: a port chosen once is not lost to a passing connection."""
    found = {each.host_port for each in api_port_candidates("t1", ephemeral)}
    assert not any(ephemeral[0] <= number <= ephemeral[1] for number in found)


def test_a_port_that_any_container_has_is_left_to_it_even_if_it_is_stopped():
    stopped = other("x", status="exited", ports=(port(1),))
    asked = []

    def holder(candidate):
        asked.append(candidate.host_port)
        return "a process has it" if candidate.host_port == 2 else None

    assert choose_api_port([port(1), port(2), port(3)], [stopped], holder) == port(3)
    assert asked == [2, 3]


def test_no_free_port_is_said_with_the_way_out():
    with pytest.raises(PortConflictError) as refused:
        choose_api_port([port(1)], [], lambda _port: "a process has it")
    assert "--api-port" in refused.value.remedies[0]


@pytest.mark.parametrize(
    ("one", "another", "do_they"),
    [
        (port(1), port(1), True),
        (port(1), port(2), False),
        (port(1), port(1, "0.0.0.0"), True),
        (port(1, "0.0.0.0"), port(1, "192.0.2.1"), True),
        (port(1), port(1, "192.0.2.1"), False),
        (port(1), port(1, "::"), False),
        (port(1, "0.0.0.0"), port(1, "::"), False),
        (port(1, "::1"), port(1, "::"), True),
        (port(1, "::1"), port(1, "::2"), False),
    ],
)
def test_two_ports_overlap_as_the_engine_binds_them(one, another, do_they):
    assert overlap(one, another) is overlap(another, one) is do_they


def test_only_a_container_that_is_up_holds_its_port():
    holders = [
        other("stopped", status="exited", ports=(port(1),)),
        other("elsewhere", ports=(port(2),)),
        other("paused", status="paused", ports=(port(1),)),
    ]
    found = container_holding(port(1), holders)
    assert found is not None
    assert found.name == "paused"
    assert container_holding(port(3), holders) is None
