"""From settings to a container and back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openshell_bootstrap import bundle
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.gateway.node_container import (
    build_container,
    describe_changes,
    disabled_addons,
    find_api_port,
    mounts_data_volume,
    parse_volume,
    scratch_volumes,
    spec_of_own,
    spec_of_retired,
)
from openshell_bootstrap.gateway.record import spec_digest
from openshell_bootstrap.models import Mount, PublishedPort
from openshell_bootstrap.names import LABEL_GATEWAY
from tests.fakes.engine_state import INFO
from tests.unit.gateway.specs import API, NAMES, SPEC, container_of

FULL = replace(
    SPEC,
    ports=(PublishedPort("0.0.0.0", 8080, 30080), PublishedPort("::1", 9090, 30090)),
    volumes=("/a/folder:/b:ro", "a-volume:/c"),
    environment={"HTTP_PROXY": "http://user:pass@p", "NO_PROXY": ".svc"},
    k3s_args=("--cluster-cidr=10.0.0.0/16", "--disable=local-storage", "--v", "4"),
    tls_sans=("example.org",),
)


def test_a_gateways_container_is_what_a_node_needs():
    """R02, R05: one name for the node and its host."""
    made = build_container(SPEC, INFO, generation="0a1b2c3d", has_modules=True)
    assert (made.name, made.hostname) == ("openshell-cluster-t1", "openshell-t1")
    assert made.environment == {"OPENSHELL_NODE_NAME": "openshell-t1"}
    assert made.entrypoint == ("/opt/openshell/cluster-entrypoint.sh",)
    assert made.command == (
        "server",
        "--disable=traefik",
        "--disable=servicelb",
        "--disable=metrics-server",
        "--tls-san=127.0.0.1",
        "--tls-san=localhost",
        "--tls-san=host.docker.internal",
        "--tls-san=openshell-cluster-t1",
    )
    assert [(mount.source, mount.target) for mount in made.mounts] == [
        ("openshell-cluster-t1", "/var/lib/rancher/k3s"),
        ("openshell-scratch-t1-0a1b2c3d-kubelet", "/var/lib/kubelet"),
        ("openshell-scratch-t1-0a1b2c3d-cni", "/var/lib/cni"),
        ("openshell-scratch-t1-0a1b2c3d-log", "/var/log"),
        ("/lib/modules", "/lib/modules"),
    ]
    assert made.mounts[-1].read_only
    assert (made.restart_policy, made.stop_timeout_s) == ("unless-stopped", 60)
    assert made.privileged
    assert made.userns_mode == "host"
    assert made.ports == (API,)
    assert made.network == "openshell-cluster-t1"
    assert set(made.extra_hosts.values()) == {"host-gateway"}
    assert made.health_command == (bundle.HEALTH_CHECK,)


def test_a_host_without_kernel_modules_mounts_none():
    made = build_container(SPEC, INFO, generation="0a1b2c3d", has_modules=False)
    assert all(mount.kind == "volume" for mount in made.mounts)


@pytest.mark.parametrize(("version", "namespace"), [("1", "host"), ("2", "private")])
def test_pods_stay_inside_the_containers_own_cgroup(version, namespace):
    """R96."""
    engine = replace(INFO, cgroup_version=version)
    made = build_container(SPEC, engine, generation="0", has_modules=True)
    assert made.cgroup_namespace == namespace


def test_nobody_sets_the_nodes_name_but_the_gateway():
    spec = replace(SPEC, environment={"OPENSHELL_NODE_NAME": "evil"})
    made = build_container(spec, INFO, generation="0", has_modules=True)
    assert made.environment["OPENSHELL_NODE_NAME"] == "openshell-t1"


@pytest.mark.parametrize(
    ("address", "is_added"),
    [("127.0.0.1", False), ("0.0.0.0", False), ("::", False), ("192.0.2.7", True)],
)
def test_the_certificate_names_an_address_that_clients_use(address, is_added):
    spec = replace(SPEC, api_port=replace(API, address=address), tls_sans=("localhost", "b"))
    command = build_container(spec, INFO, generation="0", has_modules=True).command
    assert (f"--tls-san={address}" in command[8:]) is is_added
    assert command[-1] == "--tls-san=b"
    assert len(set(command)) == len(command)


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("/a:/b", Mount(kind="bind", source="/a", target="/b")),
        ("/a:/b/", Mount(kind="bind", source="/a", target="/b")),
        ("vol:/b:rw", Mount(kind="volume", source="vol", target="/b")),
        ("vol:/b:ro", Mount(kind="volume", source="vol", target="/b", read_only=True)),
        ("/a://b//c/../d", Mount(kind="bind", source="/a", target="/b/d")),
        ("/a:/var/log/mine", Mount(kind="bind", source="/a", target="/var/log/mine")),
        ("/a:/opt/openshell-mine", Mount(kind="bind", source="/a", target="/opt/openshell-mine")),
        (
            "/i:/var/lib/rancher/k3s/agent/images",
            Mount(kind="bind", source="/i", target="/var/lib/rancher/k3s/agent/images"),
        ),
        ("/c:/etc/rancher/k3s", Mount(kind="bind", source="/c", target="/etc/rancher/k3s")),
    ],
)
def test_a_volume_is_read_as_docker_reads_it(text, mount):
    assert parse_volume(text) == mount


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a:",
        ":/b",
        "a:b",
        "a:/b:rx",
        "/a:/b:ro:z",
        "./a:/b",
        "~/a:/b",
        "a b:/c",
        "a:/b:"[:3],
    ],
)
def test_a_volume_of_another_form_is_refused(text):
    with pytest.raises(ConfigError) as refused:
        parse_volume(text)
    assert refused.value.remedies


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/var",
        "/var/lib/rancher/k3s",
        "/var/lib/rancher/k3s/",
        "//var/lib//rancher/k3s",
        "/var/lib/rancher/k3s/x/..",
        "/var/lib/rancher/k3s/storage",
        "/var/lib/rancher/k3s/server/db",
        "/var/lib/rancher/k3s/agent",
        "/var/lib/kubelet",
        "/var/log",
        "/opt",
        "/opt/openshell/manifests",
        "/etc",
        "/etc/rancher",
        "/etc/rancher/node",
        "/etc/rancher/node/password",
        "/lib/modules",
    ],
)
def test_nothing_hides_what_the_gateway_keeps(target):
    with pytest.raises(ConfigError, match="would hide"):
        parse_volume(f"/a:{target}")


@given(st.text(max_size=60))
def test_any_text_is_a_volume_or_refused(text):
    try:
        mount = parse_volume(text)
    except ConfigError:
        return
    assert mount.target.startswith("/")


def test_scratch_volumes_are_the_containers_own_and_no_others():
    foreign = (
        Mount(kind="volume", source="openshell-scratch-t1-0-x", target="/elsewhere"),
        Mount(kind="volume", source="openshell-scratch-t2-0-cni", target="/var/lib/cni"),
        Mount(kind="bind", source="/openshell-scratch-t1-0-cni", target="/var/lib/cni"),
    )
    container = container_of()
    found = scratch_volumes("t1", replace(container, mounts=(*container.mounts, *foreign)))
    assert found == tuple(NAMES.scratch("0a1b2c3d", part) for part in ("kubelet", "cni", "log"))


@pytest.mark.parametrize(
    ("mount", "is_it"),
    [
        (Mount(kind="volume", source=NAMES.volume, target="/var/lib/rancher/k3s"), True),
        (Mount(kind="volume", source=NAMES.volume, target="/data"), False),
        (
            Mount(kind="volume", source="openshell-cluster-t1x", target="/var/lib/rancher/k3s"),
            False,
        ),
        (Mount(kind="bind", source=NAMES.volume, target="/var/lib/rancher/k3s"), False),
    ],
)
def test_a_gateway_keeps_its_data_on_its_volume(mount, is_it):
    assert mounts_data_volume(container_of(mounts=(mount,)), "t1") is is_it


@pytest.mark.parametrize("spec", [SPEC, FULL, replace(FULL, disabled_addons=())])
def test_a_lost_record_is_rebuilt_from_our_own_container(spec):
    container = container_of(spec)
    rebuilt = spec_of_own("t1", container, API)
    assert rebuilt == spec
    assert spec_digest(rebuilt) == spec_digest(spec)


def test_an_address_of_the_api_port_is_not_taken_for_a_users_name():
    spec = replace(SPEC, api_port=PublishedPort("192.0.2.7", 16443, 6443))
    assert spec_of_own("t1", container_of(spec), spec.api_port) == spec


def test_a_container_with_another_command_still_has_settings():
    assert spec_of_own("t1", container_of(command=("sleep", "9")), API).k3s_args == ()


def test_of_a_retired_container_its_ports_addons_and_proxies_are_kept_and_no_secret():
    container = container_of(
        labels={},
        image="ghcr.example/cluster:0.0.36",
        command=("k3s", "server", "--disable", "traefik,servicelb", "--tls-san=a,localhost", "--x"),
        environment={"SSH_SECRET": "s", "https_proxy": "http://p", "NO_PROXY": "x", "PATH": "/bin"},
        ports=(PublishedPort("0.0.0.0", 8080, 30051), PublishedPort("0.0.0.0", 6443, 6443)),
    )
    spec = spec_of_retired("t1", "openshell-t1", container, API)
    assert spec.image == "ghcr.example/cluster:0.0.36"
    assert spec.ports == (PublishedPort("0.0.0.0", 8080, 30051),)
    assert spec.disabled_addons == ("traefik", "servicelb")
    assert spec.environment == {"HTTPS_PROXY": "http://p", "NO_PROXY": "x"}
    assert spec.tls_sans == ("a",)
    assert spec.k3s_args == ()


@pytest.mark.parametrize(
    ("command", "addons"),
    [
        (["server"], ()),
        (["server", "--disable=a,b", "--disable", "c"], ("a", "b", "c")),
        (["server", "--disable"], ()),
        (["server", "--disable-cloud-controller", "--disable=,"], ()),
    ],
)
def test_addons_are_read_in_every_spelling(command, addons):
    assert disabled_addons(command) == addons


@pytest.mark.parametrize(
    ("ports", "found"),
    [
        ((), None),
        ((PublishedPort("0.0.0.0", 8080, 30051),), None),
        ((PublishedPort("0.0.0.0", 0, 6443),), None),
        ((PublishedPort("0.0.0.0", 0, 6443), API), API),
    ],
)
def test_the_api_port_is_one_that_stays(ports, found):
    assert find_api_port(container_of(ports=ports)) == found


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, ()),
        ({"image": "k3s:v2"}, ("image: k3s:v1 -> k3s:v2",)),
        ({"tls_sans": ("a", "b")}, ("tls sans: none -> a, b",)),
        ({"gpus": "all"}, ("gpus: none -> all",)),
        (
            {"api_port": PublishedPort("127.0.0.1", 1, 6443)},
            ("api port: 127.0.0.1:16443:6443 -> 127.0.0.1:1:6443",),
        ),
        (
            {"environment": {"A": "secret", "HTTP_PROXY": "http://other"}},
            (
                "environment: A set",
                "environment: HTTP_PROXY changed",
                "environment: NO_PROXY no longer set",
            ),
        ),
    ],
)
def test_changes_are_told_by_name_and_no_variables_value(changes, lines):
    old = replace(SPEC, environment=FULL.environment if "environment" in changes else {})
    assert describe_changes(old, replace(old, **changes)) == lines


def test_no_secret_is_in_the_container():
    made = build_container(FULL, INFO, generation="0", has_modules=True)
    assert "token" not in str(made).lower()
    assert made.labels[LABEL_GATEWAY] == "t1"
    assert "pass" not in str(made.labels)
