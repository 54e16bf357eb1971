"""The harness sees a product that loses data, touches what is others' or says what is not so."""

import pytest

from openshell_bootstrap.cli import errors
from openshell_bootstrap.gateway import stop
from openshell_bootstrap.gateway.starting import carry_out
from openshell_bootstrap.gateway.starting.carry_out import Acting
from openshell_bootstrap.store import files
from tests.faults.operations import OPERATIONS
from tests.faults.runner import break_everywhere

NAMED = {operation.name: operation for operation in OPERATIONS}


def violations(stage, name: str, only: str) -> str:
    return "\n".join(break_everywhere(stage, NAMED[name], only).violations)


def test_a_volume_that_is_taken_although_a_node_ran_on_it(stage, monkeypatch):
    undo = Acting.undo_first_start

    def undo_too_much(acting):
        removed = undo(acting)
        acting.engine.volumes.remove(acting.seen.names.volume)
        return removed

    monkeypatch.setattr(Acting, "undo_first_start", undo_too_much)
    found = violations(stage, "start, fresh", "containers.start")
    assert "answer lost: a volume on which a node ran is gone" in found


def test_a_volume_of_another_that_is_taken_by_its_name(stage, monkeypatch):
    def by_name(engine, gateway):
        used = {mount.source for one in engine.containers.list() for mount in one.mounts}
        for volume in engine.volumes.list():
            is_near = volume.name.startswith(f"openshell-scratch-{gateway}")
            if is_near and volume.name not in used:
                engine.volumes.remove(volume.name)

    monkeypatch.setattr(carry_out, "remove_leftover_scratch", by_name)
    found = violations(stage, "start, pruned", "volumes.find")
    assert "a foreign object is not as it was" in found


def test_an_engine_that_is_believed_to_have_stopped_a_node(stage, monkeypatch):
    def believe(engine, container, *, grace_s, report):
        engine.containers.stop(container.id, grace_s)
        return container

    monkeypatch.setattr(stop, "stop_container", believe)
    found = violations(stage, "stop", "containers.stop")
    assert "did nothing: it is said to be stopped, and is running" in found


def test_a_failure_that_is_told_as_success(stage, monkeypatch):
    monkeypatch.setattr(errors.CancelledError, "exit_code", 0)
    found = violations(stage, "start, stopped", "containers.start")
    assert "SIGINT: SIGINT, and exit code 0" in found


def test_a_file_that_is_not_written_by_rename(stage, monkeypatch):
    def in_place(path, content, *, mode=0o600):
        path.write_bytes(content[:20])
        files.os.fsync(0)
        path.write_bytes(content)

    for module in ("metadata", "kubeconfigs", "active"):
        monkeypatch.setattr(f"openshell_bootstrap.store.{module}.write_by_rename", in_place)
    found = violations(stage, "start, fresh", "disk.fsync")
    assert "metadata.json is not whole" in found


@pytest.mark.parametrize("name", ["start, fresh", "start, pruned"])
def test_the_product_as_it_is(stage, name):
    assert violations(stage, name, "containers.create") == ""
