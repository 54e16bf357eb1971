"""What an engine does to a gateway when it is restarted, killed, cut off from power or filled up.

All on one gateway with three writers: each drill finds what it needs and leaves the gateway up.
"""

import time
from collections.abc import Iterator

import pytest

from tests.faults.soak.ledger import Ledger
from tests.faults.soak.private_engine import PrivateEngine
from tests.faults.soak.strangers import Strangers
from tests.integration.gateway.driver import Command, Gateway, Ran, finish, until

BACK_S = 60
"""How long a gateway may take to be back by itself; measured: 6 to 8 s on a quiet machine."""


@pytest.fixture(scope="module")
def gateway(command: Command, run_id: str) -> Gateway:
    return Gateway(command, f"t{run_id}-drill")


@pytest.fixture(scope="module")
def ledger(
    gateway: Gateway, tiny_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ledger]:
    """A gateway whose writers were never wronged, and look-alikes that nobody touched."""
    made = Ledger(gateway, tmp_path_factory.mktemp("ledger") / "acknowledged")
    gateway.start(*made.mount)
    made.begin()
    strangers = Strangers(gateway, tiny_image)
    yield made
    made.check()
    strangers.check()


def await_back(gateway: Gateway) -> float:
    """Wait, without any other command, until `status` says ready; the seconds that it took."""
    begun = time.monotonic()
    until(lambda: gateway.run("status", expect=None).exit_code == 0, "a healthy gateway", BACK_S)
    return time.monotonic() - begun


def ports(gateway: Gateway) -> tuple[str, str]:
    """The host port that the engine publishes, and the endpoint that clients have stored."""
    (published,) = gateway.inspect()["NetworkSettings"]["Ports"]["6443/tcp"]
    stored = gateway.kubeconfig.read_text().partition("server: ")[2].split()[0]
    return published["HostPort"], stored


def every_command(gateway: Gateway) -> dict[str, Ran]:
    """All commands that ask the engine, at once."""
    name = ("--name", gateway.name)
    words = {
        "start": ("start", *name),
        "recreate": ("start", *name, "--recreate"),
        "dry-run": ("start", *name, "--dry-run"),
        "stop": ("stop", *name),
        "restart": ("restart", *name),
        "status": ("status", *name),
        "destroy": ("destroy", *name, "--yes"),
        "list": ("list",),
        "info": ("info", *name),
        "logs": ("logs", *name),
        "exec": ("exec", *name, "--", "true"),
        "kubectl": ("kubectl", *name, "--", "get", "nodes"),
    }
    begun = {each: gateway.command.begin("gateway", *said) for each, said in words.items()}
    return {each: finish(process) for each, process in begun.items()}


def test_the_engine_is_restarted(
    gateway: Gateway, ledger: Ledger, private_engine: PrivateEngine, record_property
):
    """R42, R37, R57, R99: without any command it is back, with its ports, its work, its names."""
    before = ports(gateway)
    private_engine.stop()
    for command, ran in every_command(gateway).items():
        assert ran.exit_code == 5, f"{command}: {ran}"
        assert "engine" in (ran.out + ran.err).lower(), f"{command}: {ran}"
    private_engine.up()
    record_property("back after seconds", await_back(gateway))
    ledger.check()
    assert ports(gateway) == before
    gateway.start()
    for alias in ("host.openshell.internal", "host.docker.internal"):
        until(lambda alias=alias: resolve(gateway, alias), f"the name {alias} in a pod", 30)


def resolve(gateway: Gateway, name: str) -> str:
    told = gateway.kubectl("exec", "ledger-0", "--", "nslookup", f"{name}.")
    return told.partition("\n\n")[2]
