"""`doctor check` on a real engine, and the range of a gateway's network that it looks at too."""

import json
import secrets

import pytest

from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.witness import Witness

SECOND = 100 + secrets.randbelow(100)
RANGE, OTHER, TAKEN = (f"10.{SECOND}.{third}.0/24" for third in (1, 2, 3))


def checked(gateway: Gateway, *words: str, **changed: str) -> tuple[int, dict[str, dict]]:
    """The exit code, and the worst finding of every check by its name."""
    ran = gateway.command(
        "doctor", "check", "--name", gateway.name, "-o", "json", *words, **changed
    )
    found: dict[str, dict] = {}
    for one in ran.envelope["result"]["checks"]:
        found.setdefault(one["check"], one)
    return ran.exit_code, found


def probes() -> str:
    return docker("ps", "--all", "--quiet", "--filter", "label=openshell.ai/role=probe")


def ranges(gateway: Gateway) -> list[str]:
    networks = json.loads(docker("network", "inspect", gateway.container))
    return [one["Subnet"] for network in networks for one in network["IPAM"]["Config"]]


@pytest.fixture(scope="module")
def gateway(make_gateway) -> Gateway:
    return make_gateway()


@pytest.fixture(scope="module")
def witness(gateway: Gateway) -> Witness:
    gateway.start("--subnet", RANGE)
    return Witness(gateway)


def test_a_host_that_runs_these_tests_can_run_a_gateway(gateway: Gateway) -> None:
    exit_code, found = checked(gateway)
    assert exit_code == 0, found
    assert found["privileged"]["severity"] == "fine", found["privileged"]
    assert found["image"]["severity"] == "fine"
    assert {"engine", "cgroups", "kernel", "disk", "memory", "inotify", "clock"} <= set(found)
    assert found["port"]["brief"].endswith("is free")
    assert probes() == ""
    assert gateway.container not in docker("volume", "ls", "--quiet")


def test_without_an_engine_the_rest_is_told(gateway: Gateway) -> None:
    """R103: the address and where it came from."""
    exit_code, found = checked(gateway, DOCKER_HOST="unix:///nonexistent.sock")
    assert exit_code == 5
    assert "unix:///nonexistent.sock (from DOCKER_HOST)" in found["engine"]["details"]
    assert found["folders"]["severity"] == "fine"


def test_a_gateway_that_runs_passes_and_is_left_as_it_is(
    gateway: Gateway, witness: Witness
) -> None:
    """R60: its network has the range that was asked for."""
    before = gateway.inspect()["State"]["StartedAt"]
    exit_code, found = checked(gateway)
    assert exit_code == 0, found
    assert "is the gateway's own" in found["port"]["brief"]
    assert ranges(gateway) == [RANGE]
    assert gateway.inspect()["State"]["StartedAt"] == before
    witness.check()


def test_another_range_is_taken_by_a_recreate_and_the_data_stays(
    gateway: Gateway, witness: Witness
) -> None:
    """R59, R60: one that somebody has is refused with their name before anything is touched."""
    somebody = f"{gateway.container}-other"
    docker("network", "create", "--subnet", TAKEN, somebody)
    try:
        before = gateway.inspect()
        refused = gateway.run("start", "--subnet", TAKEN, "--recreate", expect=5)
        assert somebody in refused.err
        after = gateway.inspect()
        assert after["Id"] == before["Id"]
        assert after["State"]["StartedAt"] == before["State"]["StartedAt"]
    finally:
        docker("network", "rm", somebody)
    gateway.start("--subnet", OTHER, "--recreate")
    assert ranges(gateway) == [OTHER]
    witness.check()
