"""Names: legal ones map one to one, adopted ones to something legal, and never two to one."""

import inspect
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openshell_bootstrap import names
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.names import (
    DEFAULT_GATEWAY,
    MAX_ADOPTED_NAME,
    MAX_DNS_LABEL,
    MAX_GATEWAY_NAME,
    GatewayNames,
    check_adopted_name,
    check_new_name,
    is_node_name,
    node_name,
    suggest_name,
)

NEW = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?", fullmatch=True)
ADOPTED = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=200).filter(
    lambda name: name not in {".", ".."} and not name.startswith("-")
)


@given(NEW)
def test_a_new_name_is_its_own_node_name_but_for_the_prefix(name):
    assert check_new_name(name) == check_adopted_name(name) == name
    assert node_name(name) == f"openshell-{name}"
    assert is_node_name(node_name(name))


@given(ADOPTED, st.sets(ADOPTED, max_size=5))
@example("A_b", {"a-b"})
@example("x" * 200, {"x" * 199})
@example("...", set())
def test_every_gateway_has_a_legal_node_name_of_its_own(name, others):
    """R07: an adopted name may be any, and two gateways never get one node name."""
    taken: list[str] = []
    for gateway in [*sorted(others - {name}), name]:
        taken.append(node_name(check_adopted_name(gateway), taken))
    assert all(is_node_name(one) for one in taken)
    assert len(set(taken)) == len(taken)


@given(ADOPTED)
def test_a_node_name_that_somebody_has_is_told_apart_again_and_again(name):
    """R07."""
    taken: list[str] = []
    for _ in range(5):
        taken.append(node_name(name, taken))
    assert all(is_node_name(one) for one in taken)
    assert len(set(taken)) == len(taken)


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("a--b", "openshell-a--b"),
        ("My_Gateway.1", "openshell-my-gateway-1"),
        ("__x__", "openshell-x"),
        ("___", "openshell-gateway"),
        ("x." + "y" * 60, "openshell-x-" + "y" * 42 + "-70fd91c4"),
    ],
)
def test_an_adopted_name_maps_as_the_retired_releases_did(name, node):
    """R04, R07."""
    assert node_name(name) == node


def test_names_follow_from_the_gateway_alone():
    """R02, R04, R05: no clock, host, image or container id; the same on every host and for ever."""
    assert GatewayNames("t1").container == "openshell-cluster-t1"
    assert GatewayNames("t1").volume == GatewayNames("t1").network == "openshell-cluster-t1"
    assert GatewayNames("t1").helper == "openshell-helper-t1"
    assert GatewayNames("t1").aside("0123456789abcdef") == "openshell-cluster-t1-aside-0123456789ab"
    assert GatewayNames("t1").scratch("0a1b2c3d", "cni") == "openshell-scratch-t1-0a1b2c3d-cni"
    source = inspect.getsource(names)
    assert not any(word in source for word in ("import time", "import os", "socket", "random"))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "my_gw",
        "-x",
        "x-",
        "x.",
        "X",
        "a" * 54,
        "a" * 80,
        "käse",
        "a b",
        "a/b",
        "..",
        "a\n",
        "\u0661",
    ],
)
def test_a_name_that_a_new_gateway_cannot_have_is_refused_with_one_that_it_can(name):
    """R07."""
    with pytest.raises(ConfigError) as refused:
        check_new_name(name)
    assert refused.value.exit_code == 2
    assert repr(suggest_name(name)) in refused.value.remedies[0]


@pytest.mark.parametrize(
    "name", ["", "-x", ".", "..", "a/b", "../x", "a b", "käse", "a\n", "a" * (MAX_ADOPTED_NAME + 1)]
)
def test_a_name_that_no_gateway_ever_had_reaches_nothing(name):
    with pytest.raises(ConfigError) as refused:
        check_adopted_name(name)
    assert refused.value.remedies


@given(st.text(max_size=300))
@example("")
@example("---")
@example("a" * 52 + "-b")
def test_a_suggestion_can_always_be_followed(text):
    assert check_new_name(suggest_name(text)) == suggest_name(text)


@given(NEW)
def test_a_name_that_is_legal_is_suggested_as_it_is(name):
    if "--" not in name:
        assert suggest_name(name) == name


def test_the_longest_names_fit():
    name = check_new_name("a" * MAX_GATEWAY_NAME)
    assert node_name(name) == f"openshell-{name}"
    assert len(node_name(name)) == MAX_DNS_LABEL
    assert check_new_name(DEFAULT_GATEWAY)
    longest = GatewayNames("a" * MAX_ADOPTED_NAME)
    assert len(longest.scratch("0" * 8, "kubelet")) <= 255


@pytest.mark.parametrize("name", ["", "A", "a.b", "-a", "a-", "a" * 64])
def test_what_is_no_node_name(name):
    assert not is_node_name(name)
