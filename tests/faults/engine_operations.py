"""The operations on a real gateway, each in the states that it may meet."""

import json
import random
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.faults.door import ERRORS, KILLS
from tests.integration.gateway.driver import Gateway, docker
from tests.integration.gateway.test_adoption import free_port, run_as_the_retired_release_did
from tests.integration.gateway.witness import Witness
from tests.until import until

START = "gateway start --name {}"
RECORD = "/var/lib/rancher/k3s/openshell/gateway.json"


@dataclass(slots=True)
class Place:
    """What the points work on: a gateway with data that all of them share, and others' things.

    Attributes:
        kept: The shared gateway and its claim.
        make: Makes the name of another gateway.
        image: The node image.
        tiny: An image for helpers of the tests.
        foreign: Containers, volumes and networks of others, as they must stay.
    """

    kept: Witness
    make: Callable[[], Gateway]
    image: str
    tiny: str
    foreign: dict[str, str] = field(default_factory=dict)


Prepare = Callable[[Place], Gateway]


@dataclass(frozen=True)
class EngineOperation:
    """One command in one state.

    Attributes:
        words: The command line; ``{}`` stands for the gateway's name.
        requests: About so many requests it makes of the engine; a point lies among them.
        prepare: Brings about the state and gives the gateway.
        goal: What is right when it says that it worked.
    """

    name: str
    words: str
    requests: int
    prepare: Prepare
    goal: Literal["up", "stopped", "gone", "looks"] = "looks"

    def argv(self, gateway: Gateway) -> list[str]:
        return [word.replace("{}", gateway.name) for word in self.words.split()]

    @property
    def command(self) -> str:
        return self.words.partition(" -")[0].removesuffix(" {}")


@dataclass(frozen=True)
class Point:
    """One run of one operation.

    Attributes:
        share: Where among the operation's requests the broken one lies, from 0 to 1.
    """

    number: int
    operation: EngineOperation
    kind: str
    share: float

    def __str__(self) -> str:
        return f"{self.number}: {self.operation.name}, {self.kind}"


def points(seed: int, count: int) -> list[Point]:
    """The points that a seed means: every operation before any comes again; half are kills."""
    chance = random.Random(seed)
    return [
        Point(number, operation, chance.choice(chance.choice((KILLS, ERRORS))), chance.random())
        for number, operation in zip(range(count), _shuffled(chance), strict=False)
    ]


def _shuffled(chance: random.Random) -> Iterator[EngineOperation]:
    while True:
        yield from chance.sample(ENGINE_OPERATIONS, len(ENGINE_OPERATIONS))


def healthy(place: Place) -> Gateway:
    return place.kept.gateway


def stopped(place: Place) -> Gateway:
    healthy(place).run("stop")
    return healthy(place)


def pruned(place: Place) -> Gateway:
    docker("rm", "--force", "--volumes", healthy(place).container)
    return healthy(place)


def lost_network(place: Place) -> Gateway:
    name = healthy(place).container
    docker("network", "disconnect", "--force", name, name)
    docker("network", "rm", name)
    return healthy(place)


def paused(place: Place) -> Gateway:
    docker("pause", healthy(place).container)
    return healthy(place)


def lost_record(place: Place) -> Gateway:
    """No container, and no record on the volume."""
    gateway = pruned(place)
    options = ["--rm", "--network=none", f"--volume={gateway.container}:/data"]
    docker("run", *options, place.tiny, "rm", f"/data/{RECORD.partition('/k3s/')[2]}")
    return gateway


def renamed_node(place: Place) -> Gateway:
    """A node that is no more, with the volume and a pod that nothing makes again."""
    gateway, name = healthy(place), f"stale-{secrets.token_hex(3)}"
    (volume,) = gateway.get("pv")["items"]
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    term["matchExpressions"][0]["values"] = [name]
    spec = {"nodeName": name, "containers": [{"name": "c", "image": "openshell/sandbox:latest"}]}
    gateway.apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec},
        volume,
    )
    return gateway


def nothing(place: Place) -> Gateway:
    return place.make()


def another(place: Place) -> Gateway:
    """A second gateway, which runs."""
    gateway = place.make()
    gateway.start()
    return gateway


def retired(place: Place) -> Gateway:
    """A container as a retired release left it, which runs."""
    gateway = place.make()
    run_as_the_retired_release_did(gateway, place.image, free_port())
    return gateway


def merged(place: Place) -> Gateway:
    healthy(place).command("gateway", "kubeconfig", "merge", "--name", healthy(place).name)
    return healthy(place)


ENGINE_OPERATIONS = (
    EngineOperation("start, fresh", START, 70, nothing, "up"),
    EngineOperation("start, healthy", START, 20, healthy, "up"),
    EngineOperation("start, stopped", START, 40, stopped, "up"),
    EngineOperation("start, pruned", START, 65, pruned, "up"),
    EngineOperation("start, lost network", START, 65, lost_network, "up"),
    EngineOperation("start, paused", START, 30, paused, "up"),
    EngineOperation("start, recreate", f"{START} --recreate --env A=b", 65, healthy, "up"),
    EngineOperation("start, lost record", START, 65, lost_record, "up"),
    EngineOperation("start, stale nodes", START, 45, renamed_node, "up"),
    EngineOperation("start, retired container", START, 90, retired, "up"),
    EngineOperation("start, dry run", f"{START} --dry-run", 16, healthy),
    EngineOperation("restart", "gateway restart --name {}", 60, healthy, "up"),
    EngineOperation("stop", "gateway stop --name {}", 20, healthy, "stopped"),
    EngineOperation("destroy", "gateway destroy --name {} --yes", 25, another, "gone"),
    EngineOperation("status", "gateway status --name {}", 13, healthy),
    EngineOperation("list", "gateway list", 5, healthy),
    EngineOperation("info", "gateway info --name {}", 6, healthy),
    EngineOperation("logs", "gateway logs --name {} --tail 5", 3, healthy),
    EngineOperation("exec", "gateway exec --name {} -- ls /", 6, healthy),
    EngineOperation("kubectl", "gateway kubectl --name {} -- get nodes", 6, healthy),
    EngineOperation("select", "gateway select {}", 5, healthy),
    EngineOperation("kubeconfig get", "gateway kubeconfig get --name {}", 3, healthy),
    EngineOperation("kubeconfig merge", "gateway kubeconfig merge --name {}", 3, healthy),
    EngineOperation("version", "version --name {}", 7, healthy),
    EngineOperation("doctor check", "doctor check --name {}", 20, healthy),
    EngineOperation("doctor bundle", "doctor bundle --name {}", 20, healthy),
)
WITHOUT_ENGINE = {"gateway kubeconfig remove"}
"""Commands that ask nothing of an engine, so that none of their requests can be broken."""


def look_at_foreign(names: tuple[str, str, str]) -> dict[str, str]:
    """A container, a volume and a network of others, with what would be another one."""
    container, volume, network = names
    state = json.loads(docker("inspect", container))[0]
    made: dict[str, Any] = json.loads(docker("volume", "inspect", volume))[0]
    return {
        container: f"{state['Id']} {state['State']['Status']} {state['State']['StartedAt']}",
        f"volume {volume}": made["CreatedAt"],
        f"network {network}": docker("network", "inspect", "--format", "{{.Id}}", network),
    }


def see_ready(gateway: Gateway) -> None:
    until(lambda: gateway.run("status", expect=None).exit_code == 0, "a ready gateway")
