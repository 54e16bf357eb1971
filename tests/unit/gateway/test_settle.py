"""Settings: a flag wins over the record, the record over the environment and the defaults."""

from dataclasses import replace
from typing import NoReturn

import pytest

from openshell_bootstrap.errors import (
    BootstrapError,
    ConfigError,
    GatewayExistsError,
    GatewayStateError,
)
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.record import DamagedRecord, NewerRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.settle import check_belongings, settle
from openshell_bootstrap.models import Mount, PublishedPort, Unknown
from openshell_bootstrap.names import GatewayNames
from openshell_bootstrap.settings import CLUSTER_NO_PROXY
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.specs import (
    API,
    CHOSEN,
    IMAGE,
    NAMES,
    RECORD,
    SPEC,
    VOLUME,
    container_of,
    decide,
    other,
    seen_of,
    standing,
)

DIRECT = ",".join((*CLUSTER_NO_PROXY, "openshell-t1"))
RETIRED = container_of(
    labels={},
    hostname="0f3a9c1b2d4e",
    command=("k3s", "server", "--disable=traefik"),
    environment={"SSH_SECRET": "s", "HTTP_PROXY": "http://old"},
    ports=(PublishedPort("0.0.0.0", 8080, 30051),),
)


def must_not_choose() -> NoReturn:
    raise AssertionError("a port was chosen although one is known")


def test_a_new_gateway_gets_the_defaults():
    done = decide(seen_of())
    assert done.spec == replace(SPEC, image="default:v1", api_port=CHOSEN)
    assert (done.base, done.explicit_changes, done.notices) == (None, (), ())


ASKED = {
    "image": "k3s:v2",
    "api_port": PublishedPort("0.0.0.0", 1, 6443),
    "ports": (PublishedPort("127.0.0.1", 2, 80),),
    "volumes": ("/a:/b",),
    "environment": {"A": "b"},
    "k3s_args": ("--x",),
    "tls_sans": ("example.org",),
    "gpus": "all",
    "subnet": "10.99.0.0/24",
}


@pytest.mark.parametrize("seen", [seen_of(), standing()], ids=["new", "recorded"])
@pytest.mark.parametrize(("key", "value"), ASKED.items())
def test_a_flag_wins(seen, key, value):
    done = decide(seen, image_is_explicit=True, **{key: value})
    assert getattr(done.spec, key) == value
    assert bool(done.explicit_changes) is (done.base is not None)


@pytest.mark.parametrize(
    ("key", "value"), [(key, getattr(SPEC, key)) for key in ASKED if key != "image"]
)
def test_a_flag_that_says_what_is_recorded_changes_nothing(key, value):
    done = decide(standing(), **{key: value})
    assert (done.spec, done.explicit_changes) == (SPEC, ())


def test_an_image_of_the_environment_is_for_new_gateways_alone():
    assert decide(seen_of(), image="env:v9").spec.image == "env:v9"
    done = decide(standing(), image="env:v9")
    assert (done.spec.image, done.explicit_changes) == (IMAGE, ())


@pytest.mark.parametrize("seen", [standing(), standing(container=None)])
def test_a_record_needs_nobody_to_choose_a_port(seen):
    """R57: the port is chosen once."""
    request = StartRequest(name="t1")
    done = settle(request, seen, default_image="x", choose_port=must_not_choose)
    assert (done.spec, done.base, done.notices) == (SPEC, SPEC, ())


def test_a_node_keeps_its_recorded_name_though_another_has_come_by_it():
    rival = other("x", hostname="openshell-t1", labels={"openshell.ai/role": "node"})
    assert decide(standing(others=(rival,))).spec.node_name == "openshell-t1"
    assert decide(seen_of(others=(rival,))).spec.node_name != "openshell-t1"


def test_only_nodes_of_gateways_take_a_nodes_name():
    assert decide(seen_of(others=(other("openshell-t1"),))).spec.node_name == "openshell-t1"


# --- proxies ---------------------------------------------------------------------------------

PROXIES = {"HTTP_PROXY": "http://p", "NO_PROXY": "a.example"}


def test_a_proxy_of_the_environment_reaches_the_node_and_spares_its_cluster():
    """R101."""
    done = decide(seen_of(), proxies=PROXIES)
    assert done.spec.environment == {"HTTP_PROXY": "http://p", "NO_PROXY": f"a.example,{DIRECT}"}


def test_a_proxy_of_the_environment_is_no_explicit_change_and_twice_none_at_all():
    done = decide(standing(), proxies=PROXIES)
    assert done.explicit_changes == ()
    assert done.spec.environment.keys() == {"HTTP_PROXY", "NO_PROXY"}
    recorded = standing(on_volume=OnVolume(record=replace(RECORD, spec=done.spec)))
    again = decide(recorded, proxies=PROXIES)
    assert again.spec == again.base == done.spec


def test_recorded_proxies_are_kept_where_the_environment_has_none_and_replaced_where_it_has():
    spec = replace(SPEC, environment={"HTTPS_PROXY": "http://old", "NO_PROXY": DIRECT, "A": "b"})
    recorded = standing(on_volume=OnVolume(record=replace(RECORD, spec=spec)))
    assert decide(recorded).spec == spec
    assert decide(recorded, proxies=PROXIES).spec.environment == {
        "HTTP_PROXY": "http://p",
        "NO_PROXY": f"a.example,{DIRECT}",
        "A": "b",
    }


def test_other_variables_replace_the_recorded_ones_and_leave_proxies():
    spec = replace(SPEC, environment={"HTTP_PROXY": "http://p", "NO_PROXY": DIRECT, "A": "b"})
    recorded = standing(on_volume=OnVolume(record=replace(RECORD, spec=spec)))
    assert decide(recorded, environment={"B": "c"}).spec.environment == {
        "HTTP_PROXY": "http://p",
        "NO_PROXY": DIRECT,
        "B": "c",
    }


def test_a_proxy_given_as_a_flag_wins_over_the_environments_and_is_the_same_twice():
    asked = {"environment": {"HTTP_PROXY": "http://flag", "NO_PROXY": "x"}, "proxies": PROXIES}
    done = decide(seen_of(), **asked)
    assert done.spec.environment == {"HTTP_PROXY": "http://flag", "NO_PROXY": f"x,{DIRECT}"}
    recorded = standing(on_volume=OnVolume(record=replace(RECORD, spec=done.spec)))
    again = decide(recorded, **asked)
    assert (again.explicit_changes, again.spec) == ((), again.base)


def test_no_proxy_alone_is_left_as_it_was_given():
    assert decide(seen_of(), environment={"NO_PROXY": "x"}).spec.environment == {"NO_PROXY": "x"}


# --- retired releases ------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["container", "aside"])
def test_a_retired_container_gives_its_ports_addons_and_image_and_no_secret(place):
    seen = seen_of(volume=VOLUME, on_volume=OnVolume(), **{place: RETIRED})
    done = decide(seen)
    assert done.spec == replace(
        SPEC,
        api_port=CHOSEN,
        ports=RETIRED.ports,
        disabled_addons=("traefik",),
        environment={"HTTP_PROXY": "http://old", "NO_PROXY": DIRECT},
    )
    assert "retired" in done.notices[0]
    assert "0.0.0.0:8080:30051 is kept" in done.notices[1]


def test_a_retired_containers_own_api_port_is_kept():
    container = replace(RETIRED, ports=(PublishedPort("127.0.0.1", 6443, 6443),))
    seen = seen_of(volume=VOLUME, on_volume=OnVolume(), container=container)
    request = StartRequest(name="t1")
    done = settle(request, seen, default_image="x", choose_port=must_not_choose)
    assert done.spec.api_port == PublishedPort("127.0.0.1", 6443, 6443)
    assert len(done.notices) == 1


def test_a_flag_wins_over_a_retired_container():
    seen = seen_of(volume=VOLUME, on_volume=OnVolume(), container=RETIRED)
    done = decide(seen, api_port=API, ports=(), image=IMAGE + "9", image_is_explicit=True)
    assert (done.spec.api_port, done.spec.ports, done.spec.image) == (API, (), IMAGE + "9")


def test_an_adopted_name_is_taken_only_where_something_bears_it():
    names = GatewayNames("My_Gw")
    volume = replace(VOLUME, name=names.volume)
    there = seen_of(names=names, volume=volume, on_volume=OnVolume())
    assert decide(there, name="My_Gw").spec.node_name == "openshell-my-gw"
    with pytest.raises(ConfigError, match="'My_Gw' cannot be"):
        decide(seen_of(names=names), name="My_Gw")


def test_a_bare_volume_keeps_the_addons_that_are_on_in_it():
    seen = seen_of(volume=VOLUME, on_volume=OnVolume(live_addons=frozenset({"traefik"})))
    done = decide(seen)
    assert done.spec.disabled_addons == ("servicelb", "metrics-server")
    assert done.spec.image == "default:v1"
    assert "bears no record: it is adopted" in done.notices[0]
    assert "traefik stays on" in done.notices[1]


# --- records that cannot be used -------------------------------------------------------------


def test_a_damaged_record_is_rebuilt_from_our_own_container():
    spec = replace(SPEC, k3s_args=("--x",), volumes=("/a:/b",))
    damaged = OnVolume(record=DamagedRecord("it is cut short"))
    done = decide(standing(container=container_of(spec), on_volume=damaged))
    assert (done.spec, done.base) == (spec, spec)
    assert "rebuilt from its container" in done.notices[0]


def test_a_damaged_record_without_a_container_is_told_and_the_data_is_taken_as_it_is():
    done = decide(standing(container=None, on_volume=OnVolume(record=DamagedRecord("cut short"))))
    assert "no record that can be used (cut short)" in done.notices[0]
    assert done.spec.node_name == "openshell-t1"


COPY = HostRecord(
    name="t1",
    gateway_endpoint="https://127.0.0.1:23456",
    is_remote=False,
    gateway_port=23456,
    container_image="known:v1",
    node_name="openshell-t1-0123abcd",
    schema=1,
)


def bare(copy=COPY):
    damaged = OnVolume(record=DamagedRecord("cut short"))
    return standing(container=None, on_volume=damaged, host_copy=copy)


def test_this_hosts_copy_stands_in_for_a_lost_record_where_there_is_no_container():
    done = decide(bare(), image="of-the-environment")
    assert done.spec.image == "known:v1"
    assert done.spec.api_port == PublishedPort("127.0.0.1", 23456, 6443)
    assert done.spec.node_name == "openshell-t1-0123abcd"
    assert any("that this host knows" in notice for notice in done.notices)


def test_a_flag_wins_over_this_hosts_copy():
    done = decide(bare(), image="asked", image_is_explicit=True, api_port=API)
    assert (done.spec.image, done.spec.api_port) == ("asked", API)


def test_this_hosts_copy_says_nothing_where_it_cannot_be():
    copy = replace(COPY, container_image=None, node_name="Not A Name", gateway_port=0)
    done = decide(bare(copy))
    assert (done.spec.image, done.spec.api_port) == ("default:v1", CHOSEN)
    assert done.spec.node_name == "openshell-t1"


def test_this_hosts_copy_says_nothing_where_the_volume_or_the_container_does():
    assert decide(standing(host_copy=COPY)).spec == SPEC
    damaged = OnVolume(record=DamagedRecord("cut short"))
    assert decide(standing(on_volume=damaged, host_copy=COPY)).spec == SPEC


@pytest.mark.parametrize("container", [None, container_of(), RETIRED])
@pytest.mark.parametrize(
    ("on_volume", "why", "exit_code"),
    [
        (Unknown("no image to open it with"), "no image to open it with", 4),
        (OnVolume(record=Unknown("no answer")), "no answer", 5),
    ],
)
def test_nothing_follows_from_a_volume_that_nobody_could_read(container, on_volume, why, exit_code):
    with pytest.raises(BootstrapError, match="cannot be read") as refused:
        decide(standing(container=container, on_volume=on_volume))
    assert (refused.value.details, refused.value.exit_code) == (why, exit_code)


def test_a_newer_releases_gateway_is_left_alone():
    """R77."""
    with pytest.raises(GatewayStateError, match="newer release") as refused:
        decide(standing(on_volume=OnVolume(record=NewerRecord("schema 2"))))
    assert refused.value.details == "schema 2"


def test_another_gateways_volume_is_left_alone():
    foreign = replace(RECORD, spec=replace(SPEC, name="t2"))
    with pytest.raises(GatewayStateError, match="holds the gateway 't2', not 't1'") as refused:
        check_belongings(standing(on_volume=OnVolume(record=foreign)))
    assert "remove" not in " ".join(refused.value.remedies)


@pytest.mark.parametrize(
    ("container", "message"),
    [
        (container_of(labels={"openshell.ai/gateway": "t2"}), "belongs to the gateway 't2'"),
        (container_of(mounts=()), "is no gateway"),
        (
            container_of(mounts=(Mount(kind="volume", source=NAMES.volume, target="/data"),)),
            "is no gateway",
        ),
    ],
)
def test_a_container_that_only_bears_the_name_is_left_alone(container, message):
    with pytest.raises(GatewayExistsError, match=message) as refused:
        decide(standing(container=container))
    assert refused.value.exit_code == 4
    assert refused.value.remedies
