import pytest

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Unknown


def test_none_is_chosen_at_first(store):
    assert store.active.find() is None


def test_the_choice_is_kept_and_cleared(store):
    store.active.select("t1")
    store.active.select("t2")
    assert store.active.find() == "t2"
    store.active.clear()
    store.active.clear()
    assert store.active.find() is None


def test_the_file_of_a_retired_release_without_line_end(store):
    store.config.mkdir(parents=True)
    (store.config / "active_gateway").write_text("nemoclaw")
    assert store.active.find() == "nemoclaw"


def test_an_empty_file_is_no_choice(store):
    store.config.mkdir(parents=True)
    (store.config / "active_gateway").write_text("\n")
    assert store.active.find() is None


@pytest.mark.parametrize("content", [b"../../etc", b"\xff\xfe\x00", b"two words"])
def test_a_choice_that_names_no_gateway_is_not_taken_for_none(store, content):
    store.config.mkdir(parents=True)
    path = store.config / "active_gateway"
    path.write_bytes(content)
    found = store.active.find()
    assert isinstance(found, Unknown)
    assert str(path) in found.cause


def test_a_choice_that_cannot_be_read(store):
    (store.config / "active_gateway").mkdir(parents=True)
    assert isinstance(store.active.find(), Unknown)


def test_an_illegal_name_is_not_chosen(store):
    with pytest.raises(ConfigError):
        store.active.select("../x")
    assert store.active.find() is None
