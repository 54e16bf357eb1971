import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import LockFolders
from openshell_bootstrap.store.metadata import HostRecord

RECORD = HostRecord(
    name="t1",
    gateway_endpoint="https://127.0.0.1:16443",
    is_remote=False,
    gateway_port=16443,
    container_image="rancher/k3s:v1.35.3-k3s1",
    node_name="openshell-t1",
    schema=1,
    cluster_id="ab" * 32,
)


def put(store: Store, content: bytes, name: str = "t1") -> Path:
    path = store.config / "gateways" / name / "metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_record_comes_back_as_it_was_written(store):
    assert store.records.find("t1") is None
    store.records.write(RECORD)
    assert store.records.find("t1") == RECORD
    assert store.records.list() == {"t1": RECORD}


def test_a_record_has_the_fields_of_the_retired_releases(store):
    store.records.write(RECORD)
    path = store.config / "gateways/t1/metadata.json"
    stored = json.loads(path.read_bytes())
    assert stored["name"] == "t1"
    assert stored["gateway_endpoint"] == "https://127.0.0.1:16443"
    assert stored["is_remote"] is False
    assert stored["gateway_port"] == 16443
    assert "remote_host" not in stored


def test_only_the_owner_may_read_it(store):
    store.records.write(RECORD)
    folder = store.config / "gateways" / "t1"
    assert stat.S_IMODE((folder / "metadata.json").stat().st_mode) == 0o600
    for made in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_unknown_fields_survive_a_rewrite_with_every_digit(store):
    path = put(
        store,
        b'{"name": "t1", "gateway_endpoint": "x", "is_remote": false, "gateway_port": 1,'
        b' "later": {"big": 123456789012345678901234567890, "f": 1.00000000000000000001},'
        b' "auth_mode": "plaintext", "nothing": null}',
    )
    store.records.write(RECORD)
    text = path.read_text()
    assert "123456789012345678901234567890" in text
    assert "1.00000000000000000001" in text
    stored = json.loads(text)
    assert stored["auth_mode"] == "plaintext"
    assert stored["nothing"] is None
    assert stored["gateway_port"] == 16443


def test_fields_that_a_new_record_does_not_speak_of_stay(store):
    store.records.write(RECORD)
    store.records.write(replace(RECORD, gateway_port=2, cluster_id=None))
    assert store.records.find("t1") == replace(RECORD, gateway_port=2)


def test_older_names_of_fields_are_understood_and_renamed(store):
    path = put(
        store,
        b'{"name":"t1","gateway_endpoint":"x","is_remote":true,"gateway_port":1,'
        b'"remote_host":"box","cf_team_domain":"team","cf_auth_url":"url"}',
    )
    found = store.records.find("t1")
    assert isinstance(found, HostRecord)
    assert (found.edge_team_domain, found.edge_auth_url) == ("team", "url")
    store.records.write(RECORD)
    stored = json.loads(path.read_bytes())
    assert (stored["edge_team_domain"], stored["remote_host"]) == ("team", "box")
    assert "cf_team_domain" not in stored


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"name": "t1", "gateway_endpo',
        b"\x00\x00\x00",
        b"[]",
        b"null",
        b'{"name": "t1"}',
        b'{"name":"other","gateway_endpoint":"x","is_remote":false,"gateway_port":1}',
        b'{"name":"t1","gateway_endpoint":"x","is_remote":false,"gateway_port":"1"}',
        b'{"a":' + b"[" * 5000,
    ],
)
def test_a_damaged_record_is_unknown_and_set_aside_only_when_a_new_one_is_written(store, content):
    path = put(store, content)
    found = store.records.find("t1")
    assert isinstance(found, Unknown)
    assert str(path) in found.cause
    assert path.read_bytes() == content
    store.records.write(RECORD)
    assert store.records.find("t1") == RECORD
    assert path.with_name("metadata.json.damaged").read_bytes() == content


def test_a_second_damaged_record_does_not_take_the_place_of_the_first(store):
    for content in (b"one", b"two", b"three"):
        put(store, content)
        store.records.write(RECORD)
    folder = store.config / "gateways/t1"
    kept = {path.read_bytes() for path in folder.glob("metadata.json.damaged*")}
    assert kept == {b"one", b"two", b"three"}


def test_a_record_that_is_a_folder_is_unknown(store):
    (store.config / "gateways/t1/metadata.json").mkdir(parents=True)
    assert isinstance(store.records.find("t1"), Unknown)


def test_list_passes_over_what_can_be_no_gateway(store):
    store.records.write(RECORD)
    put(store, b"{", "broken")
    (store.config / "gateways" / "empty").mkdir()
    (store.config / "gateways" / "-x").mkdir()
    (store.config / "gateways" / "a file").write_text("x")
    listed = store.records.list()
    assert list(listed) == ["broken", "t1"]
    assert isinstance(listed["broken"], Unknown)


def test_list_of_nothing(store):
    assert store.records.list() == {}


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "", "-x", "a\0b"])
def test_a_name_that_is_a_path_is_refused(store, name):
    with pytest.raises(ConfigError):
        store.records.find(name)
    with pytest.raises(ConfigError):
        store.kubeconfigs.write(name, b"")
    assert not store.config.exists()


def test_remove_takes_the_folder_when_nothing_else_is_in_it(store):
    store.records.write(RECORD)
    store.records.remove("t1")
    store.records.remove("t1")
    assert not (store.config / "gateways/t1").exists()


def test_remove_leaves_what_is_not_ours(store):
    store.records.write(RECORD)
    other = store.config / "gateways/t1/mtls"
    other.mkdir()
    store.records.remove("t1")
    assert store.records.find("t1") is None
    assert other.is_dir()


def test_a_folder_that_cannot_be_written_is_an_error_with_the_place(store):
    store.config.parent.mkdir()
    store.config.write_text("a file where the folder goes")
    with pytest.raises(ConfigError) as caught:
        store.records.write(RECORD)
    assert str(store.config) in caught.value.brief
    assert caught.value.remedies


WORDS = st.text('aé"\\\n', max_size=4)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


# Each example writes to the disk, twice: how long that takes says nothing.
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(unknown=st.dictionaries(st.text("abxyz", min_size=2, max_size=6), JSON, max_size=4))
def test_any_unknown_field_survives(tmp_path_factory, unknown):
    base = tmp_path_factory.mktemp("store")
    store = Store(base, LockFolders(base, base), state=base)
    known = {"name": "t1", "gateway_endpoint": "x", "is_remote": False, "gateway_port": 1}
    path = put(store, json.dumps({**unknown, **known}).encode())
    store.records.write(RECORD)
    stored = json.loads(path.read_bytes())
    assert {key: stored[key] for key in unknown} == unknown


def test_a_damaged_record_is_set_aside_when_its_gateway_goes(store):
    path = put(store, b"{")
    store.records.remove("t1")
    assert store.records.list() == {}
    assert path.with_name("metadata.json.damaged").read_bytes() == b"{"


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.records.list(),
        lambda store: store.records.remove("t1"),
        lambda store: store.kubeconfigs.find("t1"),
        lambda store: store.kubeconfigs.write("t1", b""),
        lambda store: store.kubeconfigs.remove("t1"),
        lambda store: store.active.select("t1"),
        lambda store: store.active.clear(),
    ],
)
def test_what_the_system_refuses_is_told_with_its_place_and_a_remedy(store, write):
    """As after a command that ran as root; a loop of links is refused to root too."""
    store.config.parent.mkdir()
    store.config.symlink_to(store.config)
    with pytest.raises(ConfigError) as caught:
        write(store)
    assert str(store.config) in caught.value.brief
    assert "XDG_CONFIG_HOME" in caught.value.remedies[0]
    assert isinstance(store.records.find("t1"), Unknown)
    assert isinstance(store.active.find(), Unknown)
