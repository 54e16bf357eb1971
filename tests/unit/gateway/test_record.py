"""The record on the volume: whatever is in it, it is read or said to be damaged."""

import hashlib
import stat
import subprocess
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap.engine.node import ContainerNode
from openshell_bootstrap.errors import EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.record import (
    AUTHORITY_PATH,
    RECORD_PATH,
    SCHEMA,
    WRITE_SCRIPT,
    DamagedRecord,
    GatewayRecord,
    NewerRecord,
    decode_record,
    encode_record,
    read_cluster_id,
    read_record,
    record_entry,
    spec_digest,
    write_record,
)
from openshell_bootstrap.models import Completed, FileEntry, PublishedPort, Unknown
from tests.unit.gateway.conftest import NAME
from tests.unit.gateway.specs import RECORD, SPEC

WHOLE = encode_record(RECORD)


def changed(**spec):
    """The record with these parts of its settings changed, as bytes."""
    tree = msgspec.json.decode(WHOLE)
    tree["spec"].update(spec)
    return msgspec.json.encode(tree)


@given(st.binary())
def test_any_bytes_are_read_without_an_error(content):
    assert isinstance(decode_record(content), GatewayRecord | Unknown)


@given(st.integers(0, len(WHOLE) - 2))
def test_a_record_cut_anywhere_is_damaged(length):
    assert isinstance(decode_record(WHOLE[:length]), DamagedRecord)


def test_a_record_is_read_as_it_was_written():
    full = replace(
        RECORD,
        spec=replace(
            SPEC,
            ports=(PublishedPort("::1", 8080, 30080),),
            environment={"HTTP_PROXY": "http://p"},
            volumes=("/a:/b:ro",),
            gpus="all",
        ),
        kube_system_uid="u",
    )
    assert decode_record(encode_record(full)) == full
    assert full.name == "t1"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"schema": "one"}',
        b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"spec": "\xff"}',
        changed(name="../../etc"),
        changed(name=""),
        changed(node_name="Not Legal"),
        changed(node_name="x" * 64),
        changed(node_name="$(reboot)"),
        changed(image=""),
        changed(api_port={"address": "127.0.0.1", "host_port": 65536, "container_port": 6443}),
        changed(ports=[{"address": "127.0.0.1", "host_port": 80, "container_port": 0}]),
        changed(ports=[{"address": "127.0.0.1", "host_port": -1, "container_port": 80}]),
    ],
)
def test_what_could_not_be_a_gateway_is_damage(content):
    seen = decode_record(content)
    assert isinstance(seen, DamagedRecord)
    assert RECORD_PATH in seen.cause


@pytest.mark.parametrize(
    "content", [b'{"schema": 2}', b'{"schema": 99, "spec": 7, "new": []}', changed(new_thing=1)]
)
def test_a_newer_releases_record_is_told_from_damage(content):
    seen = decode_record(content)
    newer = b'"schema"' in content[:12]
    assert isinstance(seen, NewerRecord if newer else GatewayRecord)


@pytest.mark.parametrize("number", [0, 1, 65535])
def test_every_port_that_can_be_is_read(number):
    """0: the engine chooses, as a retired release may have asked it to."""
    port = {"address": "127.0.0.1", "host_port": number, "container_port": number or 65535}
    assert isinstance(decode_record(changed(ports=[port])), GatewayRecord)


def test_a_record_is_written_by_rename_and_for_root_alone():
    calls = []

    class Node:
        def run(self, argv, *, stdin=b"", timeout_s=60):
            calls.append((tuple(argv), stdin))
            return Completed(tuple(argv), 0, b"", b"")

    write_record(Node(), RECORD)
    assert calls == [(("sh", "-c", WRITE_SCRIPT, "sh", RECORD_PATH, str(len(WHOLE))), WHOLE)]
    assert record_entry(RECORD) == FileEntry(RECORD_PATH, WHOLE, 0o600)


@pytest.mark.parametrize("sent", [0, 10, len(WHOLE) - 1])
def test_a_writer_that_was_killed_within_its_input_leaves_the_old_record(tmp_path, sent):
    path = tmp_path / "gateway.json"
    command = ["sh", "-c", WRITE_SCRIPT, "sh", path]
    path.write_bytes(b"old")
    killed = subprocess.run([*command, str(len(WHOLE))], input=WHOLE[:sent], check=False)
    assert killed.returncode != 0
    assert path.read_bytes() == b"old"
    subprocess.run([*command, str(len(WHOLE))], input=WHOLE, check=True)
    assert path.read_bytes() == WHOLE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["gateway.json"]


def test_a_folder_in_the_records_place_makes_way_when_it_is_empty(tmp_path):
    path = tmp_path / "gateway.json"
    path.mkdir()
    command = ["sh", "-c", WRITE_SCRIPT, "sh", path, str(len(WHOLE))]
    subprocess.run(command, input=WHOLE, check=True)
    assert path.read_bytes() == WHOLE


def test_a_folder_with_files_in_the_records_place_is_told_and_left(tmp_path):
    path = tmp_path / "gateway.json"
    path.mkdir()
    (path / "somebodys").write_text("kept")
    command = ["sh", "-c", WRITE_SCRIPT, "sh", path, str(len(WHOLE))]
    failed = subprocess.run(command, input=WHOLE, check=False, capture_output=True)
    assert failed.returncode != 0
    assert b"gateway.json" in failed.stderr
    assert [one.name for one in path.iterdir()] == ["somebodys"]


def test_a_record_that_cannot_be_written_says_what_the_node_said():
    class Node:
        def run(self, argv, *, stdin=b"", timeout_s=60):
            return Completed(tuple(argv), 1, b"", b"No space left on device\xff")

    with pytest.raises(EngineError) as failed:
        write_record(Node(), RECORD)
    assert "No space left" in failed.value.details


def test_none_means_that_there_is_no_file_and_nothing_else(world):
    world.start()
    container = world.engine.seen(NAME)
    assert isinstance(read_record(world.engine, container.id), GatewayRecord)
    world.engine.fail("containers.get_file", EngineError("file is too large"))
    assert read_record(world.engine, container.id) == Unknown("file is too large")
    world.engine.fail("containers.get_file", EngineUnavailableError("the engine is away"))
    with pytest.raises(EngineUnavailableError):
        read_record(world.engine, container.id)
    world.engine.volume_files(NAME).remove("/openshell/gateway.json")
    assert read_record(world.engine, container.id) is None


def test_the_authority_is_the_clusters_identity(world):
    world.start()
    container = world.engine.seen(NAME)
    authority = world.engine.files(container.id).file(AUTHORITY_PATH).content
    assert read_cluster_id(world.engine, container.id) == hashlib.sha256(authority).hexdigest()
    world.engine.volume_files(NAME).remove("/server/tls")
    assert read_cluster_id(world.engine, container.id) == ""


def test_a_written_record_is_what_is_read(world):
    world.start()
    container = world.engine.seen(NAME)
    record = replace(RECORD, k3s_version="v9.9.9")
    write_record(ContainerNode(world.engine, container.id), record)
    assert read_record(world.engine, container.id) == record


@pytest.mark.parametrize("field", list(SPEC.__dataclass_fields__))
def test_every_setting_is_in_the_digest(field):
    other = {
        "name": "t2",
        "node_name": "openshell-t2",
        "image": "k3s:v2",
        "api_port": PublishedPort("127.0.0.1", 1, 6443),
        "ports": (PublishedPort("127.0.0.1", 2, 80),),
        "volumes": ("a:/b",),
        "environment": {"A": "b"},
        "k3s_args": ("--x",),
        "tls_sans": ("x",),
        "disabled_addons": (),
        "gpus": "1",
        "subnet": "10.99.0.0/24",
    }
    assert spec_digest(replace(SPEC, **{field: other[field]})) != spec_digest(SPEC)


def test_a_setting_that_nobody_gave_is_not_in_the_digest():
    """A release with one more setting must not find every container changed."""
    said = {key: getattr(SPEC, key) for key in ("name", "node_name", "image", "api_port")}
    encoded = msgspec.json.encode(said, order="deterministic")
    assert spec_digest(SPEC) == hashlib.sha256(encoded).hexdigest()


def test_the_digest_does_not_depend_on_the_order_of_variables():
    one = replace(SPEC, environment={"A": "1", "B": "2"})
    same = replace(SPEC, environment={"B": "2", "A": "1"})
    assert spec_digest(one) == spec_digest(same)


def test_the_schema_is_written():
    assert msgspec.json.decode(WHOLE)["schema"] == SCHEMA
