"""What is asked of the engine when a container is to be made."""

from dataclasses import replace

from openshell_bootstrap.engine import translate
from openshell_bootstrap.models import (
    ContainerSpec,
    Mount,
    PublishedPort,
)

SPEC = ContainerSpec(
    name="openshell-cluster-t1",
    image="rancher/k3s:v1",
    hostname="openshell-t1",
    entrypoint=("/opt/openshell/cluster-entrypoint.sh",),
    command=("server", "--tls-san=127.0.0.1"),
    environment={"OPENSHELL_NODE_NAME": "openshell-t1", "NO_PROXY": "a=b,c"},
    labels={"openshell.ai/gateway": "t1"},
    mounts=(
        Mount(kind="volume", source="data", target="/var/lib/rancher/k3s"),
        Mount(kind="bind", source="/lib/modules", target="/lib/modules", read_only=True),
    ),
    ports=(
        PublishedPort("127.0.0.1", 24443, 6443),
        PublishedPort("127.0.0.1", 8080, 80),
        PublishedPort("10.0.0.1", 8080, 80),
    ),
    network="openshell-cluster-t1",
    extra_hosts={"host.docker.internal": "host-gateway"},
    health_command=("/opt/openshell/cluster-healthcheck.sh",),
    health_interval_s=0.5,
    restart_policy="unless-stopped",
    stop_timeout_s=60,
    privileged=True,
    cgroup_namespace="host",
    userns_mode="host",
    gpus="all",
)


PLAIN = ContainerSpec(
    name="plain",
    image="i",
    hostname="",
    entrypoint=(),
    command=(),
    environment={},
    labels={},
)

HOST_CONFIG = {
    "Privileged": True,
    "Init": False,
    "CgroupnsMode": "host",
    "UsernsMode": "host",
    "NetworkMode": "openshell-cluster-t1",
    "RestartPolicy": {"Name": "unless-stopped"},
    "ExtraHosts": ["host.docker.internal:host-gateway"],
    "Mounts": [
        {
            "Type": "volume",
            "Source": "data",
            "Target": "/var/lib/rancher/k3s",
            "ReadOnly": False,
        },
        {
            "Type": "bind",
            "Source": "/lib/modules",
            "Target": "/lib/modules",
            "ReadOnly": True,
        },
    ],
    "PortBindings": {
        "6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "24443"}],
        "80/tcp": [
            {"HostIp": "127.0.0.1", "HostPort": "8080"},
            {"HostIp": "10.0.0.1", "HostPort": "8080"},
        ],
    },
    "DeviceRequests": [{"Count": -1, "Capabilities": [["gpu"]]}],
}


def test_a_spec_becomes_the_body_of_a_create() -> None:
    """R59: no address is asked for, so none can be taken."""
    body = translate.container_body(SPEC)

    host = body.pop("HostConfig")
    assert body == {
        "Image": "rancher/k3s:v1",
        "Hostname": "openshell-t1",
        "Entrypoint": ["/opt/openshell/cluster-entrypoint.sh"],
        "Cmd": ["server", "--tls-san=127.0.0.1"],
        "Env": ["OPENSHELL_NODE_NAME=openshell-t1", "NO_PROXY=a=b,c"],
        "Labels": {"openshell.ai/gateway": "t1"},
        "StopTimeout": 60,
        "ExposedPorts": {"6443/tcp": {}, "80/tcp": {}},
        "Healthcheck": {
            "Test": ["CMD", "/opt/openshell/cluster-healthcheck.sh"],
            "Interval": 500_000_000,
        },
        "NetworkingConfig": {"EndpointsConfig": {"openshell-cluster-t1": {}}},
    }
    assert host == HOST_CONFIG


def test_a_plain_spec_asks_for_nothing_more() -> None:
    body = translate.container_body(PLAIN)

    assert "Healthcheck" not in body
    assert "NetworkingConfig" not in body
    assert body["HostConfig"]["NetworkMode"] == "none"
    assert body["HostConfig"]["DeviceRequests"] == []


def test_a_number_of_gpus_is_asked_for() -> None:
    requests = translate.container_body(replace(PLAIN, gpus="2"))["HostConfig"]["DeviceRequests"]

    assert requests[0]["Count"] == 2


def test_no_address_is_ever_fixed() -> None:
    """R59: the engine gives a free one, so that none can be in use."""
    endpoints = translate.container_body(replace(PLAIN, network="net"))["NetworkingConfig"]

    assert endpoints == {"EndpointsConfig": {"net": {}}}
