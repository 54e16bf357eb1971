import pytest

from openshell_bootstrap.errors import PullError
from tests.contract.conftest import DECLARED_PATH, DECLARING_IMAGE, World
from tests.plugins.engine import TINY_IMAGE


def test_an_image_is_found_by_tag_and_id(world: World) -> None:
    found = world.engine.images.find(TINY_IMAGE)

    assert found is not None
    assert TINY_IMAGE in found.tags
    assert found.id.startswith("sha256:")
    assert found.size > 0
    assert found.declared_volumes == ()
    assert world.engine.images.find(found.id) == found
    assert world.engine.images.find("openshell/no-such-image:dev") is None


def test_an_image_tells_the_volumes_that_it_declares(world: World) -> None:
    found = world.engine.images.find(DECLARING_IMAGE)

    assert found is not None
    assert found.declared_volumes == (DECLARED_PATH,)


def test_an_image_that_cannot_be_pulled_is_told_with_the_registrys_answer(world: World) -> None:
    # Nothing listens on port 1: the engine's answer comes at once and no network is needed.
    with pytest.raises(PullError) as caught:
        world.engine.images.pull("127.0.0.1:1/no/such:dev", lambda *_told: None)

    assert caught.value.details
    assert not caught.value.transient


def test_the_engine_describes_itself(world: World) -> None:
    info = world.engine.info()

    assert info.id
    assert info.endpoint.startswith(("unix://", "tcp://", "ssh://"))
    assert info.memory_bytes > 0
    assert info.cpus > 0
    assert info.cgroup_version in {"1", "2"}
    assert tuple(map(int, info.api_version.split("."))) >= (1, 41)
    assert info.prunes_named_volumes == (tuple(map(int, info.api_version.split("."))) < (1, 42))
