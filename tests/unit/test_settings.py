"""Settings from the environment, and the patience and limits that are set here."""

from pathlib import Path

import pytest

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.settings import (
    CLUSTER_NO_PROXY,
    DEFAULT_NODE_IMAGE,
    STOP_GRACE_S,
    DockerSettings,
    read_secret,
    read_settings,
)

CLUSTER = ",".join(CLUSTER_NO_PROXY)


def test_an_empty_environment_says_nothing():
    seen = read_settings({"HOME": "/home/me"})
    assert (seen.gateway, seen.node_image, seen.is_ci, seen.proxies) == (None, None, False, {})
    assert seen.docker == DockerSettings()


@pytest.mark.parametrize(
    ("environ", "gateway", "image"),
    [
        ({"OPENSHELL_GATEWAY": "t1", "OPENSHELL_NODE_IMAGE": "k3s:x"}, "t1", "k3s:x"),
        ({"OPENSHELL_GATEWAY": "", "OPENSHELL_NODE_IMAGE": ""}, None, None),
    ],
)
def test_an_empty_variable_is_as_good_as_none(environ, gateway, image):
    seen = read_settings(environ)
    assert (seen.gateway, seen.node_image) == (gateway, image)


@pytest.mark.parametrize(
    ("value", "is_ci"), [("true", True), ("1", True), ("", False), ("0", False), ("False", False)]
)
def test_ci_is_what_ci_systems_set(value, is_ci):
    assert read_settings({"CI": value}).is_ci is is_ci


@pytest.mark.parametrize(
    ("environ", "proxies"),
    [
        ({}, {}),
        ({"NO_PROXY": "example.org"}, {}),
        ({"HTTP_PROXY": ""}, {}),
        ({"HTTP_PROXY": "http://p"}, {"HTTP_PROXY": "http://p", "NO_PROXY": CLUSTER}),
        ({"https_proxy": "http://p"}, {"HTTPS_PROXY": "http://p", "NO_PROXY": CLUSTER}),
        (
            {"HTTP_PROXY": "http://upper", "http_proxy": "http://lower"},
            {"HTTP_PROXY": "http://upper", "NO_PROXY": CLUSTER},
        ),
        (
            {"HTTP_PROXY": "http://p", "no_proxy": " a.example , ,.svc,"},
            {
                "HTTP_PROXY": "http://p",
                "NO_PROXY": "a.example,.svc,127.0.0.0/8,10.42.0.0/16,10.43.0.0/16,.cluster.local",
            },
        ),
    ],
)
def test_a_node_never_asks_a_proxy_for_its_own_cluster(environ, proxies):
    """R101."""
    assert read_settings(environ).proxies == proxies


@pytest.mark.parametrize(
    ("environ", "conflicts", "proxies_loopback"),
    [
        ({}, (), False),
        ({"HTTP_PROXY": "a", "http_proxy": "a"}, (), False),
        ({"HTTP_PROXY": "a", "http_proxy": "b"}, ("HTTP_PROXY",), False),
        ({"HTTP_PROXY": "", "http_proxy": "b"}, (), False),
        ({"https_proxy": "a"}, (), True),
        ({"https_proxy": "a", "no_proxy": "127.0.0.1"}, (), False),
        ({"https_proxy": "a", "NO_PROXY": "*"}, (), False),
        ({"https_proxy": "a", "NO_PROXY": "x, 127.0.0.0/8", "no_proxy": "x"}, ("NO_PROXY",), False),
        ({"HTTPS_PROXY": "a", "NO_PROXY": "localhost"}, (), True),
    ],
)
def test_proxy_settings_that_do_not_fit_each_other(environ, conflicts, proxies_loopback):
    """R101: upper and lower case, and the ports of this host itself."""
    seen = read_settings(environ)
    assert seen.proxy_conflicts == conflicts
    assert seen.proxies_loopback is proxies_loopback


def test_the_engine_is_named_in_the_docker_commands_own_variables():
    seen = read_settings(
        {
            "DOCKER_HOST": "tcp://e:2376",
            "DOCKER_CONTEXT": "far",
            "DOCKER_TLS": "1",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": "/certs",
            "DOCKER_CONFIG": "/config",
        }
    )
    assert seen.docker == DockerSettings(
        host="tcp://e:2376",
        context="far",
        uses_tls=True,
        verifies_tls=True,
        cert_path=Path("/certs"),
        config=Path("/config"),
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [("/a/b", Path("/a/b")), (":/a:/b", Path("/a")), ("", Path.home() / ".kube" / "config")],
)
def test_the_users_own_kubeconfig_is_the_one_that_kubectl_writes_to(value, path):
    assert read_settings({"KUBECONFIG": value}).kubeconfig == path


def test_the_default_image_is_pinned_by_digest():
    repository, _, digest = DEFAULT_NODE_IMAGE.partition("@sha256:")
    assert repository == "rancher/k3s:v1.35.3-k3s1"
    assert len(digest) == 64


def test_a_node_has_longer_to_stop_than_it_needs():
    k3s_s, pods_s, store_s = 10, 30, 5
    assert k3s_s + pods_s + store_s < STOP_GRACE_S


@pytest.mark.parametrize("name", ["OPENSHELL_NODE_IMAGE", "DOCKER_HOST", "NO_PROXY", "http_proxy"])
def test_a_variable_that_is_no_unicode_is_named(name):
    with pytest.raises(ConfigError, match=f"variable {name} is no UTF-8") as refused:
        read_settings({"HOME": "/home/me", name: "http://a\udcff"})
    assert refused.value.remedies


def test_the_image_of_new_sandboxes_comes_from_the_environment():
    assert read_settings({"OPENSHELL_SANDBOX_IMAGE": "mine"}).sandbox_image == "mine"
    assert read_settings({"OPENSHELL_SANDBOX_IMAGE": ""}).sandbox_image is None
    with pytest.raises(ConfigError, match="OPENSHELL_SANDBOX_IMAGE is no UTF-8 text"):
        read_settings({"OPENSHELL_SANDBOX_IMAGE": "\udcff"})


def test_a_secret_is_the_value_of_the_variable_that_was_named():
    assert read_secret("TOKEN", {"TOKEN": "hidden"}) == "hidden"
    assert read_secret("TOKEN", {"TOKEN": ""}) == ""


@pytest.mark.parametrize("environ", [{}, {"TOKEN": "hidden\udcff"}])
def test_a_secret_that_is_not_there_is_refused_without_a_value(environ):
    with pytest.raises(ConfigError, match="The variable TOKEN") as refused:
        read_secret("TOKEN", environ)
    assert "hidden" not in str(refused.value.__dict__)
