"""Every operation of the command line in every state of a gateway that it may meet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import typer

from openshell_bootstrap.cli.main import app
from openshell_bootstrap.cluster.kubectl import REQUEST_TIMEOUT
from openshell_bootstrap.gateway.record import RECORD_PATH
from openshell_bootstrap.models import DATA_PATH
from openshell_bootstrap.settings import DEFAULT_NODE_IMAGE
from openshell_bootstrap.store.metadata import HostRecord
from tests.fakes import kube_objects as objects
from tests.faults.stage import GATEWAY, NAME, Stage

OLD_NODE = "0f3a9c1b2d4e"
"""Host name of a container that a retired release made, and so its node's name."""

CLAIMED = "/storage/pvc-0/file"
PRECIOUS = b"precious"
SETTINGS = ("--env", "KEPT=yes", "--tls-san", "example.org", "--k3s-arg", "--debug")
"""What the gateway was made with, and what nobody says again."""

FOREIGN_KUBECONFIG = b"""\
apiVersion: v1
kind: Config
clusters: [{name: theirs, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: theirs, context: {cluster: theirs, user: theirs}}]
users: [{name: theirs, user: {token: none}}]
current-context: theirs
"""

Scene = Callable[[Stage], None]


@dataclass(frozen=True)
class Operation:
    """One command in one state.

    Attributes:
        name: What it is called in the table.
        words: The command line; ``{}`` stands for the gateway's name.
        scene: Brings about the state; a gateway with data runs before it, but for a fresh start.
        goal: What is right when it says that it worked: the gateway is up, stopped, or gone; or
            as before, for a command that only looks, or writes files of the user, saves what
            it saw, or tries out what the engine can.
        has_data: A claim with a file is there before.
        calls: Fewer than so many calls would mean that it was not run at all.
    """

    name: str
    words: str
    scene: Scene = lambda _stage: None
    goal: Literal["up", "stopped", "gone", "looks", "host", "bundle", "check"] = "looks"
    has_data: bool = True
    calls: int = 1

    @property
    def command(self) -> str:
        """The words up to the first that is an option or a name."""
        return self.words.partition(" -")[0].removesuffix(" {}")

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(word.replace("{}", GATEWAY) for word in self.words.split())


def set_up(stage: Stage, operation: Operation) -> dict[str, Any]:
    """The state in which the operation begins; a summary of what in it is others'."""
    stage.new()
    _add_foreign(stage)
    foreign = stage.summary()
    if operation.has_data and operation.scene not in RETIRED:
        started = stage.run("gateway", "start", "--name", GATEWAY, *SETTINGS)
        assert started.exit_code == 0, started.told
        _add_data(stage, f"openshell-{GATEWAY}")
    operation.scene(stage)
    stage.world.clock.advance(60)
    return foreign


def _add_foreign(stage: Stage) -> None:
    """What others have on this host, under names that are nearly ours."""
    world, engine = stage.world, stage.world.engine
    engine.add_network(f"{NAME}x")
    world.run_foreign(f"{NAME}x", volume=f"{NAME}x", network=f"{NAME}x")
    world.run_foreign(f"{NAME}-aside-0123456789ab")
    theirs = {"openshell.ai/gateway": f"{GATEWAY}0", "openshell.ai/role": "scratch"}
    engine.volumes.create(f"openshell-scratch-{GATEWAY}-cafecafe-kubelet", {})
    engine.volumes.create(f"openshell-scratch-{GATEWAY}0-cafecafe-kubelet", theirs)
    engine.volume_files(f"{NAME}x").write("/file", b"foreign")
    world.store.records.write(
        HostRecord(
            name=f"{GATEWAY}0",
            gateway_endpoint="https://127.0.0.1:1",
            is_remote=False,
            gateway_port=1,
        )
    )
    world.store.kubeconfigs.write(f"{GATEWAY}0", FOREIGN_KUBECONFIG)
    world.store.active.select(f"{GATEWAY}0")
    (stage.folder / "kubeconfig").write_bytes(FOREIGN_KUBECONFIG)


def _add_data(stage: Stage, node: str) -> None:
    stage.world.engine.volume_files(NAME).write(CLAIMED, PRECIOUS)
    kube = stage.kube
    assert kube is not None
    kube.add(objects.volume("pvc-0", node, claim_uid="uid-0"), objects.claim("pvc-0", uid="uid-0"))
    kube.folders[f"{objects.STORAGE}/pvc-0"] = f"{objects.STORAGE}/pvc-0"
    stage.world.engine.write_log(NAME, b"a line", b"another line")


def stopped(stage: Stage) -> None:
    stage.world.engine.containers.stop(NAME, 1)


def pruned(stage: Stage) -> None:
    stage.world.engine.prune(NAME)


def drifted(stage: Stage) -> None:
    """Another release's files are in the container."""
    stopped(stage)
    box = stage.world.engine.box(NAME)
    box.spec = replace(box.spec, labels={**box.spec.labels, "openshell.ai/bundle-digest": "old"})


def lost_network(stage: Stage) -> None:
    stage.world.engine.replace_network(NAME)


def paused(stage: Stage) -> None:
    stage.world.engine.containers.pause(NAME)


def retired(stage: Stage) -> None:
    """A container as a retired release left it, which runs."""
    stage.world.run_retired(GATEWAY)
    _add_data(stage, OLD_NODE)


def bare_volume(stage: Stage) -> None:
    """Nothing but the volume of a retired release."""
    retired(stage)
    pruned(stage)
    for network in list(stage.world.engine.state.networks.values()):
        if network.name == NAME:
            stage.world.engine.networks.remove(network.id)


def lost_record(stage: Stage) -> None:
    """The volume of a gateway of ours without its record, and no container."""
    pruned(stage)
    stage.world.engine.volume_files(NAME).remove(RECORD_PATH.removeprefix(DATA_PATH))


def renamed_node(stage: Stage) -> None:
    """A dead node is in the cluster, with the volume and a pod that nothing makes again."""
    kube, now = stage.kube, stage.world.clock.now
    assert kube is not None
    kube.add(objects.node(OLD_NODE, heartbeat_s=now - 600), objects.lease(OLD_NODE, now - 600))
    kube.add(objects.volume("pvc-1", OLD_NODE, claim_uid="uid-1"))
    kube.add(objects.claim("pvc-1", uid="uid-1"))
    kube.add(objects.pod("web-0", OLD_NODE, controller="StatefulSet"), objects.pod("web", OLD_NODE))
    kube.folders[f"{objects.STORAGE}/pvc-1"] = f"{objects.STORAGE}/pvc-1"


def image_absent(stage: Stage) -> None:
    """The volume alone, and the image only in a registry."""
    pruned(stage)
    state = stage.world.engine.state
    state.registry[DEFAULT_NODE_IMAGE] = state.images.pop(DEFAULT_NODE_IMAGE)


def merged(stage: Stage) -> None:
    ran = stage.run("gateway", "kubeconfig", "merge", "--name", GATEWAY)
    assert ran.exit_code == 0


RETIRED = {retired, bare_volume}
START = "gateway start --name {}"
GET_NODES = f"get nodes -A -o json {REQUEST_TIMEOUT}"

OPERATIONS = (
    Operation("start, fresh", START, goal="up", has_data=False, calls=25),
    Operation("start, healthy", START, goal="up", calls=8),
    Operation("start, stopped", START, stopped, "up", calls=15),
    Operation("start, pruned", START, pruned, "up", calls=25),
    Operation("start, drifted", START, drifted, "up", calls=25),
    Operation("start, lost network", START, lost_network, "up", calls=25),
    Operation("start, paused", START, paused, "up", calls=8),
    Operation("start, recreate", f"{START} --recreate --env A=b", goal="up", calls=25),
    Operation("start, retired container", START, retired, "up", calls=35),
    Operation("start, bare volume", START, bare_volume, "up", calls=35),
    Operation("start, lost record", START, lost_record, "up", calls=25),
    Operation("start, stale nodes", START, renamed_node, "up", calls=15),
    Operation("start, image absent", START, image_absent, "up", calls=25),
    Operation("start, dry run", f"{START} --dry-run", pruned, calls=8),
    Operation("restart", "gateway restart --name {}", goal="up", calls=20),
    Operation("stop", "gateway stop --name {}", goal="stopped", calls=4),
    Operation("stop, paused", "gateway stop --name {}", paused, "stopped", calls=5),
    Operation("destroy", "gateway destroy --name {} --yes", goal="gone", calls=14),
    Operation("destroy, stopped", "gateway destroy --name {} --yes", stopped, "gone", calls=12),
    Operation("status", "gateway status --name {}", calls=5),
    Operation("list", "gateway list", calls=2),
    Operation("info", "gateway info --name {}", calls=4),
    Operation("logs", "gateway logs --name {}", calls=2),
    Operation("exec", "gateway exec --name {} -- mkdir -p /x", calls=2),
    Operation("kubectl", f"gateway kubectl --name {{}} -- {GET_NODES}", calls=2),
    Operation("select", "gateway select {}", goal="host", calls=3),
    Operation("kubeconfig get", "gateway kubeconfig get --name {}", calls=2),
    Operation("kubeconfig merge", "gateway kubeconfig merge --name {}", goal="host", calls=3),
    Operation("kubeconfig remove", "gateway kubeconfig remove --name {}", merged, "host"),
    Operation("version", "version --name {}", calls=3),
    Operation("doctor check", "doctor check --name {}", goal="check", calls=10),
    Operation("doctor bundle", "doctor bundle --name {}", goal="bundle", calls=10),
)

FAR_FROM_UP = frozenset(
    f"start, {state}"
    for state in ("retired container", "bare volume", "lost record", "image absent", "pruned")
)
"""From these states the way is longest: breaking it everywhere takes as long as all the rest."""


def commands_of_the_app() -> set[str]:
    """Every command that a user can give."""
    found = set()

    def walk(words: str, node: object) -> None:
        children = getattr(node, "commands", None)
        if children is None:
            found.add(words)
            return
        for name, child in children.items():
            walk(f"{words} {name}".strip(), child)

    walk("", typer.main.get_command(app))
    return found
