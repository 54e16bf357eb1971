"""A token is compared as k3s compares it, and another one is refused."""

import pytest

from openshell_bootstrap.errors import (
    GatewayStateError,
)
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.starting.settle import secret_of
from tests.unit.gateway.specs import (
    RECORD,
    container_of,
    decide,
    seen_of,
    standing,
)


@pytest.mark.parametrize(
    ("token", "secret"),
    [
        (b"abc", b"abc"),
        (b" abc\n", b"abc"),
        (b"server:abc", b"abc"),
        (b"a::b", b":b"),
        (b"K10deadbeef::server:abc\n", b"abc"),
        (b"K10deadbeef::abc", b"abc"),
        (b"K10 is no hash", b"K10 is no hash"),
    ],
)
def test_tokens_are_compared_as_k3s_compares_them(token, secret):
    assert secret_of(token) == secret


@pytest.mark.parametrize("given", [None, b"secret", b"K10ab::server:secret"])
def test_the_volumes_own_token_may_be_given_again(given):
    assert decide(standing(), token=given).explicit_changes == ()


@pytest.mark.parametrize("container", [None, container_of(), container_of(status="exited")])
def test_another_token_is_refused_before_anything_is_touched(container):
    """R14."""
    with pytest.raises(GatewayStateError, match="token is not the one") as refused:
        decide(standing(container=container), token=b"other")
    assert "other" not in str(refused.value.details)
    assert "`server/token` on the volume" in refused.value.remedies[-1]


def test_a_token_is_taken_where_the_volume_has_none():
    for seen in (seen_of(), standing(on_volume=OnVolume(record=RECORD))):
        assert decide(seen, token=b"any").spec.name == "t1"
