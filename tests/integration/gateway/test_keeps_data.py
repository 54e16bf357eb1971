"""Nothing that lives on a gateway's volume is lost, whatever becomes of its container."""

from collections.abc import Callable

import pytest

from tests.integration.gateway.driver import Gateway, docker, inspect
from tests.integration.gateway.witness import KEEPER, Witness, WriteLoad
from tests.integration.gateway.workloads import pod, running
from tests.until import until

FIVE_TIMES = pytest.mark.parametrize("turn", range(5))


@pytest.fixture(scope="module")
def kept(make_gateway: Callable[[], Gateway]) -> Witness:
    """A running gateway whose file every test finds unchanged and leaves so."""
    gateway = make_gateway()
    gateway.start()
    return Witness(gateway)


def kill_pid_1(gateway: Gateway, tiny_image: str) -> None:
    """From the engine's own process namespace: within its own one PID 1 cannot be killed."""
    pid = str(gateway.inspect()["State"]["Pid"])
    host = ["--rm", "--privileged", "--pid=host", "--network=none"]
    docker("run", *host, tiny_image, "kill", "-9", pid)


@FIVE_TIMES
def test_the_container_is_removed_and_start_follows_at_once(kept, turn):
    """R09, R12, R17, R57: the password is on the volume, so a new container is no stranger."""
    docker("rm", "--force", kept.gateway.container)
    kept.gateway.start()
    kept.check()


def test_container_and_network_are_pruned(kept):
    """R51, R57: and the scratch volumes of the pruned container go with it."""
    gateway = kept.gateway
    gateway.run("stop")
    mine = ["--force", "--filter", f"label=openshell.ai/gateway={gateway.name}"]
    assert len(docker("container", "prune", *mine).splitlines()) > 1
    assert gateway.container in docker("network", "prune", *mine)
    gateway.start()
    kept.check()


def test_the_network_is_made_again_under_its_name(kept):
    """R44, R51: a container keeps the id of its network, so that the name alone is of no use."""
    gateway = kept.gateway
    gateway.run("stop")
    docker("network", "rm", gateway.container)
    docker("network", "create", gateway.container)
    gateway.start()
    kept.check()


@FIVE_TIMES
def test_docker_kill_under_write_load(kept, turn, tmp_path):
    """R83."""
    with WriteLoad(kept, tmp_path) as load:
        docker("kill", kept.gateway.container)
    kept.gateway.start()
    kept.check()
    load.check()


@FIVE_TIMES
def test_kill_9_of_pid_1(kept, turn, tmp_path, tiny_image):
    """R83: the engine starts it again by itself; `start` may come before that, or not at all."""
    gateway = kept.gateway
    before = gateway.inspect()["State"]["StartedAt"]
    with WriteLoad(kept, tmp_path) as load:
        kill_pid_1(gateway, tiny_image)
    if turn % 2:
        gateway.start()
    else:
        until(lambda: gateway.inspect()["State"]["StartedAt"] != before, "the engine's restart")
        until(lambda: gateway.run("status", expect=None).exit_code == 0, "a ready gateway")
    kept.check()
    load.check()


@pytest.mark.parametrize("way", ["stopped", "removed"])
def test_the_address_is_another_afterwards(kept, way, tiny_image, unique_name):
    """R17, R20, R35, R57, R58, R59: the node's certificates, its DNS and the pods' DNS follow."""
    gateway, before = kept.gateway, kept.gateway.address
    gateway.run("stop")
    assert gateway.inspect()["State"]["ExitCode"] == 0
    if way == "removed":
        docker("rm", gateway.container)
    neighbour = take_address(gateway, before, tiny_image, unique_name)
    gateway.start()
    assert gateway.address != before
    kept.check()
    (node,) = gateway.get("nodes")["items"]
    assert {"type": "InternalIP", "address": gateway.address} in node["status"]["addresses"]
    assert "begun" in gateway.kubectl("logs", f"{KEEPER}-0")
    gateway.apply(pod("asker", "exec sleep 100000"))
    until(lambda: running(gateway, "asker"), "a new pod")
    answers = {"kubernetes.default.svc.cluster.local.": "10.43.0.1", f"{neighbour}.": before}
    for name, answer in answers.items():
        until(lambda name=name, answer=answer: answer in ask(gateway, name), f"the name {name}", 20)
    gateway.kubectl("delete", "pod", "asker", "--now")


def take_address(
    gateway: Gateway, address: str, image: str, unique_name: Callable[[str], str]
) -> str:
    """Name of a neighbour that has the address now: the engine gives what is free, in its order."""
    for _ in range(8):
        neighbour = unique_name("neighbour")
        join = ["--name", neighbour, "--network", gateway.container]
        docker("run", "--detach", "--stop-timeout=0", *join, image, "sleep", "600")
        (attached,) = inspect(neighbour)["NetworkSettings"]["Networks"].values()
        if attached["IPAddress"] == address:
            return neighbour
    return pytest.fail(f"the engine gave the address {address} to none of eight neighbours")


def ask(gateway: Gateway, name: str) -> str:
    """What a pod is told of a name, without the name server's own address."""
    told = gateway.kubectl("exec", "asker", "--", "nslookup", name)
    return told.partition("\n\n")[2]
