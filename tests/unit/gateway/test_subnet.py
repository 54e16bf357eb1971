"""The range of a gateway's network: which can be had, and how one is put in another's place."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import (
    BootstrapError,
    ConfigError,
    EngineError,
    GatewayStateError,
)
from openshell_bootstrap.gateway.checks.subnet import fits, overlapping, parse_subnet
from openshell_bootstrap.gateway.info import info
from openshell_bootstrap.gateway.starting.plan import (
    CreateNode,
    MakeNetwork,
    RemoveNode,
    RemoveTwinNetwork,
    StartNode,
    StopNode,
)
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import Network
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.scenes import check_tidy
from tests.unit.gateway.specs import NETWORK, SPEC, container_of, kinds, plan, standing

RANGE = "10.99.0.0/24"
RANGED = replace(SPEC, subnet=RANGE)
SETTLED = Settled(spec=RANGED, base=SPEC)
THERE = replace(NETWORK, subnets=("172.18.0.0/16",))


@pytest.mark.parametrize("text", [RANGE, "192.168.7.0/29", "10.0.0.0/12", "100.64.0.0/24"])
def test_ranges_that_a_network_can_have(text):
    assert parse_subnet(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Address"),
        ("x", "octets"),
        ("10.99.0.0", "prefix length"),
        ("10.99.0.0/30", "prefix length"),
        ("10.99.0.1/24", "host bits"),
        ("10.99.0.0/33", "/33"),
        ("fd00::/64", "octets"),
        ("10.42.7.0/24", "10.42.0.0/16"),
        ("10.0.0.0/8", "10.42.0.0/16"),
        ("10.43.0.0/16", "10.43.0.0/16"),
        ("127.0.0.0/24", "127.0.0.0/8"),
        ("224.0.0.0/24", "no host"),
        ("240.0.0.0/24", "no host"),
        ("169.254.0.0/24", "no host"),
    ],
)
def test_ranges_that_no_network_can_have(text, why):
    with pytest.raises(ConfigError, match=why) as refused:
        parse_subnet(text)
    assert "--subnet" in refused.value.remedies[0]


def test_which_networks_have_addresses_of_a_range():
    def network(name, *subnets):
        return Network(id=name, name=name, labels={}, subnets=subnets)

    inside = network("inside", "fd00::/64", "10.99.0.128/25")
    around = network("around", "10.96.0.0/12")
    beside = network("beside", "10.99.1.0/24")
    bare = network("bare")
    assert overlapping(RANGE, [inside, around, beside, bare]) == [inside, around]
    assert [fits(one, RANGE) for one in (inside, replace(beside, subnets=(RANGE,)))] == [
        False,
        True,
    ]
    assert fits(bare, "")


def test_a_network_with_another_range_is_replaced_once_its_container_is_gone():
    seen = standing(networks=(replace(THERE, containers=(container_of().id,)),))
    done = plan(seen, SETTLED, recreate=True)
    assert kinds(done) == [
        StopNode, RemoveNode, RemoveTwinNetwork, MakeNetwork, CreateNode, StartNode,
    ]  # fmt: skip
    assert done.steps[2].action.network_id == THERE.id


@pytest.mark.parametrize(
    "other",
    [replace(THERE, labels={}), replace(THERE, containers=("somebody",))],
    ids=["not ours", "used by others"],
)
def test_a_network_that_is_not_the_gateways_alone_is_not_removed(other):
    done = plan(standing(networks=(other,)), SETTLED, recreate=True)
    assert RemoveTwinNetwork not in kinds(done)


def test_a_network_that_has_the_range_stays():
    seen = standing(container=None, networks=(replace(THERE, subnets=(RANGE,)),))
    assert kinds(plan(seen, SETTLED)) == [CreateNode, StartNode]


def networks_of(world):
    return world.engine.networks.list_named(NAME)


def test_a_gateway_keeps_the_range_that_it_was_given(world):
    """R60: it is recorded, told, and used again where the network was pruned."""
    world.start(subnet=RANGE)
    (network,) = networks_of(world)
    assert network.subnets == (RANGE,)
    assert info("t1", engine=world.engine, store=world.store).settings["subnet"] == RANGE
    world.engine.prune(NAME)
    world.engine.networks.remove(network.id)
    world.start()
    assert [one.subnets for one in networks_of(world)] == [(RANGE,)]


def test_another_range_is_applied_by_a_recreate_and_the_data_stays(world):
    world.start()
    before = world.engine.state.disks[NAME].volume
    (old,) = networks_of(world)
    with pytest.raises(GatewayStateError) as refused:
        world.start(subnet=RANGE)
    assert "subnet: none -> 10.99.0.0/24" in refused.value.details
    assert [one.id for one in networks_of(world)] == [old.id]
    world.start(subnet=RANGE, recreate=True)
    (network,) = networks_of(world)
    assert network.subnets == (RANGE,)
    assert world.engine.seen(NAME).attachments[0].network_id == network.id
    assert world.engine.state.disks[NAME].volume == before
    assert world.start(subnet=RANGE).actions == ()
    check_tidy(world)


def test_a_range_that_is_taken_leaves_a_gateway_as_it_was_and_names_the_holder(world):
    """R59, R60."""
    world.start()
    container, (network,) = world.engine.seen(NAME), networks_of(world)
    world.engine.networks.create("holder", {}, subnet="10.99.0.0/25")
    with pytest.raises(EngineError) as refused:
        world.start(subnet=RANGE, recreate=True)
    assert "holder (" in refused.value.details
    assert "10.99.0.0/25" in refused.value.details
    assert world.engine.seen(NAME) == container
    assert networks_of(world) == [network]


@pytest.mark.parametrize("asked", [{}, {"subnet": RANGE}])
def test_without_a_free_range_nothing_is_made(world, asked):
    """R60: neither volume nor container."""
    failed = EngineError("The engine could not create the network", "no available address pool")
    world.engine.fail("networks.create", failed)
    with pytest.raises(EngineError, match="could not create the network"):
        world.start(**asked)
    state = world.engine.state
    assert state.boxes == state.disks == state.networks == {}
    world.start(**asked)
    check_tidy(world)


def test_of_twins_the_one_with_the_range_stays(world):
    """R45: a run that was killed between making one and removing the other."""
    world.start(subnet=RANGE)
    (network,) = networks_of(world)
    twin = world.engine.add_network(NAME, network.labels)
    world.start(recreate=True)
    assert [one.id for one in networks_of(world)] == [network.id]
    assert twin != network.id
    check_tidy(world)


def test_a_network_of_the_name_that_is_not_ours_is_left_to_its_owner(world):
    theirs = world.engine.add_network(NAME)
    with pytest.raises(BootstrapError) as refused:
        world.start(subnet=RANGE)
    assert refused.value.exit_code == 5
    assert "is not 10.99.0.0/24, and is not the gateway's alone" in refused.value.brief
    assert [one.id for one in networks_of(world)] == [theirs]
    assert world.engine.state.disks == {}


def test_a_record_with_a_range_that_cannot_be_is_damaged(world):
    world.start(subnet=RANGE)
    world.engine.containers.stop(NAME, 1)
    tree = world.engine.volume_files(NAME)
    (path,) = [path for path in tree.paths() if path.endswith("gateway.json")]
    content = tree.read(path).replace(RANGE.encode(), b"10.42.0.0/24")
    tree.write(path, content)
    world.start()
    assert "record is lost" in world.notices
