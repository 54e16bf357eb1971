"""What an engine does to a gateway when it is restarted, killed, cut off from power or filled up.

All on one gateway with three writers: each drill finds what it needs and leaves the gateway up.
"""

import time
from collections.abc import Iterator

import pytest

from tests.faults.soak.ledger import Ledger
from tests.faults.soak.private_engine import PrivateEngine
from tests.faults.soak.strangers import Strangers
from tests.integration.gateway.driver import Command, Gateway, Ran, finish
from tests.until import until

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
    strangers.check()


@pytest.fixture(autouse=True)
def _engine_is_up(private_engine: PrivateEngine) -> Iterator[None]:
    """A drill that failed takes no other with it."""
    yield
    private_engine.free()
    private_engine.up()


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
    """R37, R42, R57, R99: without any command it is back, with its ports, work and names."""
    before = ports(gateway)
    private_engine.stop()
    for command, ran in every_command(gateway).items():
        assert ran.exit_code == 5, f"{command}: {ran}"
        assert "engine" in (ran.out + ran.err).lower(), f"{command}: {ran}"
    private_engine.up()
    record_property("back after seconds", await_back(gateway))
    ledger.check()
    assert ports(gateway) == before
    for alias in ("host.openshell.internal", "host.docker.internal"):
        until(lambda alias=alias: resolve(gateway, alias), f"the name {alias} in a pod", 30)


def resolve(gateway: Gateway, name: str) -> str:
    told = gateway.kubectl("exec", "ledger-0", "--", "nslookup", f"{name}.")
    return told.partition("\n\n")[2]


def test_the_machine_loses_power(
    gateway: Gateway, ledger: Ledger, private_engine: PrivateEngine, record_property
):
    """R42, R57: nobody could end in order, and nobody gives a command afterwards."""
    before = ports(gateway)
    ledger.go_on()
    private_engine.lose_power()
    private_engine.up()
    record_property("back after seconds", await_back(gateway))
    ledger.check()
    assert ports(gateway) == before
    assert "nothing had to be done" in gateway.run("start").out


def test_only_dockerd_is_killed(gateway: Gateway, ledger: Ledger, private_engine: PrivateEngine):
    """The node runs on without it, and so do the writers. The next dockerd ends what it finds.

    It notes that as a stop by hand, which `unless-stopped` respects: then `start` is needed.
    """
    ledger.go_on()
    private_engine.kill()
    written = ledger.lines()
    until(lambda: ledger.lines() > written, "writers that go on")
    private_engine.up()
    if gateway.inspect()["State"]["Running"]:
        await_back(gateway)
    else:
        assert gateway.inspect()["State"]["ExitCode"] == 0
        assert gateway.run("status", expect=4).out.startswith(f"Gateway {gateway.name}: stopped")
    gateway.start()
    ledger.check()


MEANWHILE: dict[str, tuple[tuple[str, ...], ...]] = {
    "nothing": (),
    "again nothing": (),
    "volume prune": (("volume", "prune", "--force"),),
    "container and network prune": (
        ("container", "prune", "--force"),
        ("network", "prune", "--force"),
    ),
}
"""What is done with docker between a stop and a start. Nothing here is filtered."""


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_stop_and_start(gateway: Gateway, ledger: Ledger, meanwhile: str):
    """R35, R37, R51, R57: with the one on a full disk five times in all."""
    before = ports(gateway)
    gateway.run("stop")
    for command in MEANWHILE[meanwhile]:
        gateway.command.docker(*command)
    gateway.start()
    ledger.check()
    assert ports(gateway) == before


def test_the_disk_is_full_when_it_stops(
    gateway: Gateway, ledger: Ledger, private_engine: PrivateEngine
):
    """It ends in order, and does not start again before there is room."""
    before = ports(gateway)
    private_engine.fill()
    gateway.run("stop")
    assert gateway.inspect()["State"]["ExitCode"] == 0
    there = belongings(gateway)
    refused = gateway.run("start", expect=5)
    assert "disk space" in refused.err, refused
    assert belongings(gateway) == there
    private_engine.free()
    gateway.start()
    ledger.check()
    assert ports(gateway) == before


def belongings(gateway: Gateway) -> list[object]:
    """All that is on the engine, and what the gateway's container is and how it ended."""
    container = gateway.inspect()
    about = [container[key] for key in ("Id", "Created", "Config", "HostConfig")]
    ended = [container["State"][key] for key in ("Status", "StartedAt", "FinishedAt", "ExitCode")]
    lists = ("ps --all --quiet", "network ls --quiet", "volume ls --quiet")
    listed = [sorted(gateway.command.docker(*words.split()).split()) for words in lists]
    return [*about, sorted(one["Destination"] for one in container["Mounts"]), *ended, *listed]


def test_the_disk_fills_up_while_it_runs(
    gateway: Gateway, ledger: Ledger, private_engine: PrivateEngine
):
    """R102: `status` names it; with room again everything goes on, whoever was evicted."""
    private_engine.fill()
    until(lambda: "disk" in gateway.run("status", expect=None).out.lower(), "a word of it", 60)
    private_engine.free()
    gateway.start()
    ledger.check()
