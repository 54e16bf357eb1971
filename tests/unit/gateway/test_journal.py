"""Journals: written before anything is taken away, and finished or undone by the next command."""

import pytest

from openshell_bootstrap.errors import EngineError, EngineUnavailableError, GatewayStateError
from openshell_bootstrap.gateway.journal import (
    JOURNAL_PATH,
    Destruction,
    decode_journal,
)
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.restart import restart
from openshell_bootstrap.gateway.stop import stop
from openshell_bootstrap.models import DATA_PATH
from tests.unit.gateway.scenes import JOURNAL, NAME, RECREATE, check_tidy, dry_run, record_of

ON_DISK = JOURNAL_PATH.removeprefix(DATA_PATH)
CHANGED = {"k3s_args": ("--v=4",)}
TOKEN = b"a" * 32


def journal_of(world):
    """What is pending on the volume, and the same in this host's copy."""
    tree = world.engine.volume_files(NAME)
    content = tree.read(ON_DISK) if ON_DISK in tree.paths() else None
    copied = decode_journal(world.store.journals.find("t1"))
    assert copied == decode_journal(content)
    return copied


def break_off(world, act, method, *, after=0, too_late=False):
    """Killed at a call, as a process is: nothing of its own runs afterwards."""
    world.engine.fail(method, KeyboardInterrupt(), after=after, too_late=too_late)
    with pytest.raises(KeyboardInterrupt):
        act()
    world.engine.heal()


def halt(world):
    return stop("t1", engine=world.engine, store=world.store, report=world.events.append)


def recreate_and_die(world, method="containers.create", **asked):
    asked = {**CHANGED, "recreate": True, **asked}
    break_off(world, lambda: world.start(**asked), method)


def test_what_needs_no_journal_writes_none(world):
    world.start()
    assert world.store.journals.find("t1") is None
    assert ON_DISK not in world.engine.volume_files(NAME).paths()
    world.changes()
    world.start()
    assert world.changes() == []
    halt(world)
    world.start()
    assert ON_DISK not in world.engine.volume_files(NAME).paths()


@pytest.mark.parametrize(
    "method",
    [
        "containers.stop",
        "containers.remove",
        "volumes.remove",
        "volumes.create",
        "containers.create",
    ],
)
@pytest.mark.parametrize("too_late", [False, True])
def test_settings_that_were_asked_for_are_not_forgotten(world, method, too_late):
    """Whatever the killed command had done: a plain start goes on to what was wanted."""
    world.start()
    tree = world.engine.volume_files(NAME)
    tree.write("/storage/claim/file", b"precious")
    break_off(world, lambda: world.start(**CHANGED, recreate=True), method, too_late=too_late)
    pending = journal_of(world)
    assert pending is not None
    assert pending.recreation is not None
    assert pending.recreation.spec.k3s_args == ("--v=4",)
    assert pending.by == world.store.who
    world.events.clear()
    world.start()
    assert "was begun at" in world.notices
    assert "it is finished now" in world.notices
    assert world.engine.seen(NAME).command[-1] == "--v=4"
    assert record_of(world).spec.k3s_args == ("--v=4",)
    assert journal_of(world) is None
    assert world.engine.volume_files(NAME) is tree
    assert tree.read("/storage/claim/file") == b"precious"
    assert world.nodes.rejected == []
    check_tidy(world)
    world.changes()
    world.start()
    assert world.changes() == []


@pytest.mark.parametrize("after", range(4))
def test_a_replacement_that_is_done_is_not_done_again(world, after):
    """Killed in the calls after the new container was filled: it stays, whoever made it."""
    world.start()
    world.changes()
    methods = [JOURNAL, "containers.stop", *RECREATE[1:]]
    last = methods[-3:]
    assert last == [JOURNAL, JOURNAL, "containers.start"]
    method, place, too_late = [
        (JOURNAL, 1, True),
        (JOURNAL, 2, False),
        (JOURNAL, 2, True),
        ("containers.start", 0, True),
    ][after]
    break_off(
        world,
        lambda: world.start(**CHANGED, recreate=True),
        method,
        after=place,
        too_late=too_late,
    )
    made = world.engine.seen(NAME)
    world.start()
    assert world.engine.seen(NAME).command[-1] == "--v=4"
    if made.has_started:
        assert world.engine.seen(NAME).id == made.id
    assert journal_of(world) is None
    check_tidy(world)


def test_a_journal_that_cannot_be_written_stops_everything_before_it_begins(world):
    world.start()
    before = world.engine.seen(NAME)
    world.changes()
    world.engine.fail(JOURNAL, EngineError("no space left on device"))
    with pytest.raises(EngineError, match="no space left"):
        world.start(**CHANGED, recreate=True)
    assert world.changes() == [JOURNAL]
    assert world.engine.seen(NAME) == before
    world.start()
    assert world.changes() == []


def test_a_flag_of_the_next_start_wins_over_what_was_begun(world):
    world.start()
    recreate_and_die(world)
    world.start(k3s_args=("--v=9",))
    assert record_of(world).spec.k3s_args == ("--v=9",)
    assert journal_of(world) is None


def test_registries_that_were_given_are_kept_for_whoever_finishes(world):
    world.start(registries=b"mirrors: {old: {}}")
    recreate_and_die(world, registries=b"mirrors: {new: {}}")
    assert b"mirrors" not in (world.store.journals.find("t1") or b"")
    world.start()
    kept = world.engine.files(NAME).file("/opt/openshell/registries.yaml")
    assert kept.content == b"mirrors: {new: {}}"


def test_a_token_is_never_kept_and_asked_for_again(world):
    world.start()
    halt(world)
    world.engine.volume_files(NAME).remove("/server/token")
    recreate_and_die(world, token=TOKEN)
    content = world.store.journals.find("t1")
    assert content is not None
    assert TOKEN not in content
    assert TOKEN not in world.engine.volume_files(NAME).read(ON_DISK)
    with pytest.raises(GatewayStateError, match="given a token") as refused:
        world.start()
    assert "--token-file" in refused.value.remedies[0]
    world.start(token=TOKEN)
    assert journal_of(world) is None


def test_an_adoption_keeps_what_was_asked_for(world):
    world.run_retired()
    break_off(world, lambda: world.start(tls_sans=("example.net",)), "containers.create")
    world.start()
    assert record_of(world).spec.tls_sans == ("example.net",)
    assert journal_of(world) is None
    assert world.kube.names("Node") == ["openshell-t1"]


def test_a_dry_run_tells_and_leaves_it(world):
    world.start()
    recreate_and_die(world)
    pending = journal_of(world)
    world.changes()
    planned = dry_run(world)
    assert any("was begun at" in notice for notice in planned.notices)
    assert set(world.changes()) <= {"containers.create", "containers.remove"}  # the helper
    assert journal_of(world) == pending


def test_a_restart_finishes_it_too(world):
    world.start()
    recreate_and_die(world, method="containers.stop")
    request = StartRequest(name="t1")
    restart(
        request,
        engine=world.engine,
        store=world.store,
        host=world.host,
        report=world.events.append,
    )
    assert record_of(world).spec.k3s_args == ("--v=4",)
    assert journal_of(world) is None


@pytest.mark.parametrize("method", ["containers.stop", "containers.create"])
def test_a_stop_tells_what_is_pending_and_leaves_it(world, method):
    """With its container there, and without."""
    world.start()
    recreate_and_die(world, method)
    pending = journal_of(world)
    assert any("the next start finishes it" in notice for notice in halt(world).notices)
    assert journal_of(world) == pending


DESTROYING = ["containers.stop", "containers.remove", "volumes.remove"]


@pytest.mark.parametrize("method", DESTROYING)
def test_a_destroy_that_was_broken_off_is_undone_by_a_start(world, method):
    """As long as the volume is there its data is."""
    world.start()
    tree, record = world.engine.volume_files(NAME), record_of(world)
    tree.write("/storage/claim/file", b"precious")
    break_off(world, world.destroy, method)
    assert isinstance(journal_of(world).work, Destruction)
    world.events.clear()
    world.start()
    assert "A destroy was begun at" in world.notices
    assert "it is undone now, and the data is kept" in world.notices
    assert journal_of(world) is None
    assert world.engine.volume_files(NAME) is tree
    assert tree.read("/storage/claim/file") == b"precious"
    assert record_of(world).spec == record.spec
    check_tidy(world)


@pytest.mark.parametrize("method", DESTROYING)
def test_a_destroy_that_was_broken_off_is_finished_by_another(world, method):
    world.start()
    break_off(world, world.destroy, method)
    world.events.clear()
    done = world.destroy()
    assert f"volume {NAME}" in done.removed
    assert "A destroy was begun at" in world.notices
    assert world.engine.state.disks == {}
    assert world.store.journals.find("t1") is None


def test_a_full_disk_is_no_reason_not_to_destroy(world):
    world.start()
    world.engine.fail(JOURNAL, EngineError("no space left on device"))
    world.destroy()
    assert "no later command will know of it: no space left" in world.notices
    assert world.engine.state.disks == {}


def test_an_engine_that_does_not_answer_is_one(world):
    world.start()
    world.engine.fail(JOURNAL, EngineUnavailableError("500"))
    with pytest.raises(EngineUnavailableError):
        world.destroy()
    assert world.engine.seen(NAME).status == "running"


@pytest.mark.parametrize("content", [b'{"half', b'{"schema": 9}'])
def test_a_journal_that_cannot_be_read_is_told(world, content):
    """Half a journal announces what was never begun; a newer one is not ours to finish."""
    world.start()
    halt(world)
    world.engine.volume_files(NAME).write(ON_DISK, content)
    if b"schema" in content:
        with pytest.raises(GatewayStateError, match="newer release") as refused:
            world.start()
        assert refused.value.exit_code == 4
        assert world.engine.volume_files(NAME).read(ON_DISK) == content
        return
    world.start()
    assert "Work may be unfinished" in world.notices
    assert world.engine.volume_files(NAME).read(ON_DISK) == b""


def test_a_copy_of_what_another_host_finished_is_forgotten(world):
    world.start()
    recreate_and_die(world)
    world.engine.volume_files(NAME).write(ON_DISK, b"")
    world.start()
    assert world.store.journals.find("t1") is None
