"""What may happen to a gateway, its engine and its disk. Each act leaves the engine up."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from tests.faults.soak.ledger import Ledger
from tests.faults.soak.private_engine import PrivateEngine
from tests.integration.gateway.driver import Gateway
from tests.until import until

OPERATIONS = (("start",), ("start", "--recreate"), ("stop",), ("restart",))
LONGEST_OPERATION_S = 6.0
FIRST_PORT = 21000
FULL_S = 3.0


@dataclass(frozen=True)
class Scene:
    """Where it happens; ``chance`` decides what an act leaves open, and nothing else may."""

    gateway: Gateway
    engine: PrivateEngine
    ledger: Ledger
    chance: Random

    def docker(self, *words: str) -> str:
        return self.gateway.command.docker(*words)

    def start(self, *words: str) -> None:
        self.gateway.run("start", *words)


def stop(scene: Scene) -> None:
    scene.gateway.run("stop")


def docker_stop(scene: Scene) -> None:
    scene.docker("stop", scene.gateway.container)


def docker_kill(scene: Scene) -> None:
    scene.docker("kill", scene.gateway.container)


def docker_rm(scene: Scene) -> None:
    scene.docker("rm", "--force", scene.gateway.container)


def kill_pid_1(scene: Scene) -> None:
    """The engine starts the container again by itself: with or without a `start` beside it."""
    os.kill(scene.gateway.inspect()["State"]["Pid"], signal.SIGKILL)


def restart(scene: Scene) -> None:
    scene.gateway.run("restart")


def recreate(scene: Scene) -> None:
    scene.start("--recreate")


def change_api_port(scene: Scene) -> None:
    port = FIRST_PORT + scene.chance.randrange(1000)
    scene.start("--recreate", "--api-port", str(port))
    (published,) = scene.gateway.inspect()["NetworkSettings"]["Ports"]["6443/tcp"]
    assert published["HostPort"] == str(port)


def kill_command(scene: Scene) -> None:
    """`openshell` itself, at any moment of any operation."""
    operation = scene.chance.choice(OPERATIONS)
    moment_s = scene.chance.uniform(0, LONGEST_OPERATION_S)
    verb, *words = operation
    running = scene.gateway.command.begin("gateway", verb, "--name", scene.gateway.name, *words)
    with suppress(subprocess.TimeoutExpired):
        running.communicate(timeout=moment_s)
    running.kill()
    running.communicate()


def restart_engine(scene: Scene) -> None:
    scene.engine.stop()
    scene.engine.up()


def lose_power(scene: Scene) -> None:
    scene.engine.lose_power()
    scene.engine.up()


def kill_dockerd_for_now(scene: Scene) -> None:
    scene.engine.kill()


def kill_dockerd(scene: Scene) -> None:
    kill_dockerd_for_now(scene)
    scene.engine.up()


def system_prune(scene: Scene) -> None:
    """While its container is there, the engine takes nothing of the gateway."""
    scene.docker("system", "prune", "--volumes", "--force")


def fill_disk(scene: Scene) -> None:
    """For a while it runs without a byte of room; then it is freed in one of several orders."""
    scene.engine.fill()
    time.sleep(scene.chance.uniform(0, FULL_S))
    end = scene.chance.choice((None, stop, docker_kill, kill_pid_1, kill_dockerd_for_now))
    if end:
        end(scene)
    scene.engine.free()
    scene.engine.up()  # only now, if it was killed: dockerd needs room itself


ENDS: dict[str, Callable[[Scene], None]] = {
    "stop": stop,
    "plain docker stop": docker_stop,
    "docker kill": docker_kill,
    "docker rm -f": docker_rm,
    "kill -9 of PID 1": kill_pid_1,
    "restart": restart,
    "recreate": recreate,
    "another API port": change_api_port,
    "kill -9 of the command": kill_command,
    "engine restarted": restart_engine,
    "power lost": lose_power,
    "kill -9 of dockerd": kill_dockerd,
    "docker system prune --volumes": system_prune,
    "disk full": fill_disk,
}
"""What ends a life of the node, or may."""


def lose_network(scene: Scene) -> None:
    """A container that still runs would keep it."""
    scene.gateway.run("stop")
    scene.docker("network", "rm", scene.gateway.container)


def prune(scene: Scene) -> None:
    """What a tidy user does between two days."""
    scene.gateway.run("stop")
    scene.docker("container", "prune", "--force")
    scene.docker("network", "prune", "--force")


def prune_volumes(scene: Scene) -> None:
    """A stopped container keeps its volumes; one that is gone would not, on old engines."""
    scene.gateway.run("stop")
    if scene.gateway.container in scene.docker("ps", "--all", "--format", "{{.Names}}").split():
        scene.docker("volume", "prune", "--force")


def refuse_on_full_disk(scene: Scene) -> None:
    scene.gateway.run("stop")
    scene.engine.fill()
    scene.gateway.run("start", expect=5)
    scene.engine.free()


def restart_engine_while_stopped(scene: Scene) -> None:
    """A stop by hand outlives the engine."""
    scene.gateway.run("stop")
    restart_engine(scene)
    status = scene.gateway.run("status", expect=4)
    assert "stopped" in status.out, status


MEANWHILE: dict[str, Callable[[Scene], None]] = {
    "nothing": lambda _scene: None,
    "network removed": lose_network,
    "containers and networks pruned": prune,
    "volumes pruned": prune_volumes,
    "start refused on a full disk": refuse_on_full_disk,
    "engine restarted": restart_engine_while_stopped,
    "start killed": kill_command,
}
"""What may happen before the next start."""


def by_itself(scene: Scene) -> None:
    """Without a command, where the engine brings it back; else by `start` as everybody does."""

    def is_settled() -> bool:
        """A stop that was under way when its command was killed still comes to its end."""
        running = scene.docker("ps", "--format", "{{.Names}}").split()
        ready = scene.gateway.run("status", expect=None).exit_code == 0
        return ready or scene.gateway.container not in running

    until(is_settled, "a gateway that is back or stopped")
    scene.start()


RETURNS: dict[str, Callable[[Scene], None]] = {"start": Scene.start, "by itself": by_itself}
