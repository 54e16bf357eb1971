"""Two hosts on one engine: no lock covers both, so that the engine's own names decide.

The other host's whole command runs between two calls of ours, whichever two these are.
"""

from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from openshell_bootstrap.errors import BootstrapError, LockedError, PortConflictError
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.start import start
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.names import LABEL_ROLE
from openshell_bootstrap.store.lock import LockFolders
from tests.fakes.engine import FakeNetworks
from tests.fakes.engine_containers import FakeContainers
from tests.fakes.engine_state import State
from tests.unit.gateway.scenes import NAME, SCENES, check_tidy, prepare, record_of, set_scene

CALLS, CHUNK = 45, 5


@pytest.fixture
def elsewhere(world, tmp_path):
    """The store of another host: locks, records and all."""
    folders = LockFolders(shared=tmp_path / "theirs" / "locks", user=tmp_path / "theirs" / "own")
    (tmp_path / "theirs").mkdir()
    place = tmp_path / "theirs"
    return replace(world.store, config=place / "config", state=place / "state", locks=folders)


@pytest.fixture
def meanwhile(monkeypatch):
    """While the body runs, something is done just before the nth call of the engine, once."""
    real, waiting = State.call, []

    @contextmanager
    def call(state, method, *arguments):
        if waiting and waiting[0][0] == 0:
            waiting.pop()[1]()
        elif waiting:
            waiting[0][0] -= 1
        with real(state, method, *arguments):
            yield

    @contextmanager
    def before(number, act):
        waiting.append([number, act])
        with suppress(BootstrapError):
            yield
        waiting.clear()

    monkeypatch.setattr(State, "call", call)
    return before


def start_there(world, store, name="t1"):
    """What becomes of it is not ours to say; it must only do no harm."""
    with suppress(BootstrapError):
        start(StartRequest(name=name), engine=world.engine, store=store, host=world.host)


def check_one(world, name="t1"):
    """The engine has one of everything, and our own start finds it or finishes it."""
    world.start(name)
    bears = f"openshell-cluster-{name}"
    state = world.engine.state
    assert [box.name for box in state.boxes.values() if name in box.name] == [bears]
    assert [one.name for one in state.networks.values() if name in one.name] == [bears]
    scratch = [disk for place, disk in state.disks.items() if f"scratch-{name}-" in place]
    assert [disk.volume.labels.get(LABEL_ROLE) for disk in scratch] == ["scratch"] * 3
    assert world.nodes.rejected == []
    check_tidy(world)


@pytest.mark.parametrize("first", range(0, CALLS, CHUNK))
def test_first_starts_on_two_hosts_end_with_one_gateway(world, elsewhere, meanwhile, first):
    """R45: whoever is faster, and whenever the other one comes."""
    for call in range(first, first + CHUNK):
        name = f"g{call}x"
        with meanwhile(call, lambda name=name: start_there(world, elsewhere, name)):
            world.start(name)
        check_one(world, name)


@pytest.mark.parametrize("first", range(0, CALLS, CHUNK))
@pytest.mark.parametrize("scene", list(SCENES))
def test_starts_on_two_hosts_lose_nothing(world, elsewhere, meanwhile, scene, first):
    """R87."""
    prepare(world, scene)
    tree, record = world.engine.volume_files(NAME), record_of(world)
    for call in range(first, first + CHUNK):
        with meanwhile(call, lambda: start_there(world, elsewhere)):
            world.start()
        check_one(world)
        assert world.engine.volume_files(NAME) is tree
        assert tree.read("/storage/claim/file") == b"precious"
        assert record_of(world).cluster_id == record.cluster_id
        set_scene(world, scene)


@pytest.mark.parametrize("first", range(0, CALLS, CHUNK))
def test_a_stop_elsewhere_during_a_start_loses_nothing(world, elsewhere, meanwhile, first):
    prepare(world, "stopped")
    tree = world.engine.volume_files(NAME)
    for call in range(first, first + CHUNK):
        with meanwhile(call, lambda: stop("t1", engine=world.engine, store=elsewhere)):
            world.start()
        check_one(world)
        assert tree.read("/storage/claim/file") == b"precious"
        set_scene(world, "stopped")


def test_giving_way_leaves_the_network_that_the_faster_one_is_about_to_use(world, monkeypatch):
    """Ours is the network, theirs the volume and the container, which has not started yet."""
    makes_network, makes_container = FakeNetworks.create, FakeContainers.create

    def create_network(networks, *what, **how):
        made = makes_network(networks, *what, **how)
        world.engine.volumes.create(NAME, {})
        return made

    def create_container(containers, spec):
        makes_container(containers, replace(spec, mounts=spec.mounts[:1]))
        return makes_container(containers, spec)

    monkeypatch.setattr(FakeNetworks, "create", create_network)
    monkeypatch.setattr(FakeContainers, "create", create_container)
    with pytest.raises(LockedError, match="on another host") as refused:
        world.start()
    assert not hasattr(refused.value, "__notes__")
    world.engine.containers.start(NAME)
    assert world.engine.seen(NAME).status == "running"


def test_a_port_that_is_lost_between_choice_and_start_is_chosen_again(world, monkeypatch):
    """Two first starts at once on one engine may choose the same one."""
    tried = []
    real = FakeContainers.create

    def create(containers, spec):
        if len(tried) < 2:  # somebody binds it just before the engine would
            world.engine.state.busy_ports.add(("127.0.0.1", spec.ports[0].host_port))
        tried.append(spec.ports[0].host_port)
        return real(containers, spec)

    monkeypatch.setattr(FakeContainers, "create", create)
    world.start()
    assert len(set(tried)) == 3
    assert record_of(world).spec.api_port.host_port == tried[-1]
    assert "another port is chosen" in world.notices
    check_tidy(world)


def test_a_port_is_not_chosen_for_ever(world):
    world.engine.fail("containers.start", PortConflictError("taken"), times=None)
    with pytest.raises(PortConflictError, match="taken"):
        world.start()
    assert world.engine.methods().count("containers.start") == 3
    assert world.engine.state.boxes == {}


def test_a_port_that_was_asked_for_is_not_exchanged(world):
    world.engine.fail("containers.start", PortConflictError("taken"))
    with pytest.raises(PortConflictError):
        world.start(api_port=PublishedPort("127.0.0.1", 7443, 6443))
    assert world.engine.methods().count("containers.start") == 1
