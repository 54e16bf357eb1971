"""A node password that its cluster does not know: repaired, told, and gone for good."""

import pytest

from tests.integration.gateway.driver import Gateway, docker

OLD_MODE = "OPENSHELL_SOURCE_NODE_PASSWORD_MODE=reject"
"""Before k3s 1.33 a node is turned away by its password; nothing but a line in its log says so."""

EVENTS = ("events", "--field-selector=reason=NodePasswordValidationFailed")


@pytest.fixture(scope="module")
def gateway(make_gateway) -> Gateway:
    gateway = make_gateway()
    gateway.start()
    return gateway


def exchange_password(gateway: Gateway, image: str, password: str) -> None:
    """As another volume's, or the container's of a retired release, would come with."""
    gateway.run("stop")
    script = f"echo {password} >/d/openshell/node/password"
    mount = f"{gateway.container}:/d"
    docker("run", "--rm", "--volume", mount, "--entrypoint=/bin/sh", image, "-c", script)


def secret_uid(gateway: Gateway) -> str:
    secret = ("secret", "-n", "kube-system", f"{gateway.node}.node-password.k3s")
    return gateway.kubectl("get", *secret, "--ignore-not-found", "-o=jsonpath={.metadata.uid}")


def mismatches(gateway: Gateway) -> list[str]:
    told = [one["message"] for one in gateway.get(*EVENTS)["items"]]
    return [message for message in told if message.endswith("hash does not match")]


def test_a_password_that_does_not_fit_is_repaired_once(gateway, node_image):
    """R09, R12, R13: the node joins all the same, and the next start has nothing to tell."""
    first = secret_uid(gateway)
    exchange_password(gateway, node_image, "another")
    told = gateway.run("start")
    assert f"kube-system/{gateway.node}.node-password.k3s was removed" in told.err
    assert len(mismatches(gateway)) == 1
    assert secret_uid(gateway) == ""
    again = gateway.run("restart")
    assert "was removed" not in again.err
    assert secret_uid(gateway) not in {"", first}
    assert len(mismatches(gateway)) == 1


def test_a_node_that_is_turned_away_by_its_password_is_let_in(gateway, node_image):
    """R10: within the wait, and nothing but the one Secret is gone."""
    exchange_password(gateway, node_image, "a-third")
    told = gateway.run("start", "--env", OLD_MODE, "--timeout", "100")
    assert f"kube-system/{gateway.node}.node-password.k3s was removed" in told.err
    assert "Node password rejected" in gateway.run("logs", "--tail", "2000").out
    assert gateway.nodes() == [gateway.node]
    assert gateway.exec("cat", "/etc/rancher/node/password") == "a-third"
