"""Breaks one request of one operation on a real engine, and looks what came of it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.faults.door import AWAY, KILLS, TIME_OUT, fault_door
from tests.faults.engine_operations import EngineOperation, Place, Point, look_at_foreign
from tests.faults.kinds import MADE_UP_ID, MARK
from tests.faults.runner import Tally
from tests.integration.gateway.driver import OPENSHELL, Gateway, Ran, docker, finish

IMPATIENT = (sys.executable, "-m", "tests.faults.impatient")
WATCHES = {"start, stale nodes", "start, retired container"}
"""These watch a lease for as long as everybody does, and its node is known to be dead."""

INTERNAL, INTERRUPTED, KILLED = 1, 130, -9
LABEL = "label=openshell.ai/gateway="


class EngineRunner:
    """Runs points on one place."""

    def __init__(self, place: Place, engine_socket: str, folder: Path) -> None:
        self.place = place
        self.engine_socket = engine_socket
        self.socket = folder / "door.sock"

    def break_at(self, point: Point, seed: int) -> Tally:
        """Run the point; a request that is not reached is sought among those that were made."""
        operation = point.operation
        requests, tally = operation.requests, Tally(f"{operation.name} (engine)")
        for _ in range(3):
            at = int(point.share * requests)
            gateway = operation.prepare(self.place)
            ran, seen = self.run(operation, gateway, at, point.kind)
            tally.calls = max(tally.calls, len(seen))
            tally.runs += 1
            reached = at < len(seen)
            tally.kills += reached and point.kind in KILLS
            what = seen[at] if reached else "not reached"
            place = f"--seed {seed}, point {point.number}, {operation.name}, request {at} ({what})"
            wrong = self.check(operation, gateway, ran, point.kind if reached else "")
            tally.violations += [f"{place}, {point.kind}: {one}" for one in wrong]
            if reached:
                return tally
            requests = len(seen)
        tally.violations.append(f"{point}: its request is never reached")
        return tally

    def run(
        self, operation: EngineOperation, gateway: Gateway, at: int, kind: str
    ) -> tuple[Ran, list[str]]:
        """Run the command behind the door; what it was, and what it asked of the engine."""
        lasts = kind in {TIME_OUT, AWAY} or operation.name in WATCHES
        program = IMPATIENT if lasts else (OPENSHELL,)
        with fault_door(
            self.socket, self.engine_socket, lambda number, _what: number == at, kind
        ) as door:
            process = gateway.command.begin(
                *operation.argv(gateway), program=program, DOCKER_HOST=f"unix://{self.socket}"
            )
            door.client.set_result(process)
            ran = finish(process)
            return ran, list(door.seen)

    def check(
        self, operation: EngineOperation, gateway: Gateway, ran: Ran, kind: str
    ) -> Iterator[str]:
        """Everything that is wrong after a run, and after what follows it."""
        yield from self._check_told(gateway, ran, kind)
        if ran.exit_code == 0:
            yield from self._check_right(operation, gateway)
        yield from self._check_foreign()
        if operation.goal == "gone":
            yield from self._check_next_destroy(gateway)
        elif gateway is self.place.kept.gateway:
            yield from self._check_next_start(gateway)
            try:
                self.place.kept.check()
            except AssertionError as error:
                yield f"what the gateway keeps is not as it was: {error}"
        else:
            yield from self._check_next_start(gateway)
            docker("volume", "inspect", gateway.container)
            gateway.run("destroy", "--yes")
        yield from self._check_foreign()

    def _check_told(self, gateway: Gateway, ran: Ran, kind: str) -> Iterator[str]:
        if kind.startswith("SIGKILL"):
            if ran.exit_code != KILLED:
                yield f"it lived on: {ran}"
            return
        if kind == "SIGINT":
            if ran.exit_code != INTERRUPTED or "Interrupted" not in f"{ran.out}{ran.err}":
                yield f"an interrupt ends otherwise: {ran}"
            return
        told = f"{ran.out}\n{ran.err}"
        if ran.exit_code == INTERNAL or "Traceback" in told:
            yield f"a fault of ours: {ran}"
        causes = (MARK, gateway.name, str(self.socket), MADE_UP_ID[:12])
        if ran.exit_code != 0 and not any(cause in told for cause in causes):
            yield f"the message does not name the cause: {ran}"

    def _check_right(self, operation: EngineOperation, gateway: Gateway) -> Iterator[str]:
        """It said that it worked."""
        running = docker("ps", "--quiet", "--filter", f"name=^{gateway.container}$")
        match operation.goal:
            case "up":
                status = gateway.run("status", expect=None)
                if status.exit_code != 0:
                    yield f"it is said to be up, and is not: {status}"
            case "stopped" if running:
                yield "it is said to be stopped, and runs"
            case "gone":
                if left := remains_of(gateway):
                    yield f"it is said to be gone, and there is {left}"

    def _check_foreign(self) -> Iterator[str]:
        now = look_at_foreign(tuple(one.split()[-1] for one in self.place.foreign))  # type: ignore[arg-type]
        if now != self.place.foreign:
            yield f"what is others' is not as it was: {self.place.foreign} is {now}"

    def _check_next_start(self, gateway: Gateway) -> Iterator[str]:
        """It converges; nothing is left over, and the one after finds nothing to do."""
        ran = gateway.run("start", expect=None)
        if ran.exit_code != 0:
            yield f"the next start fails: {ran}"
            return
        again = gateway.run("start", "-o", "json", expect=None)
        if again.exit_code != 0 or again.envelope["result"]["actions"]:
            yield f"the start after the next has work to do: {again}"
        names = docker("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={gateway.name}")
        if set(names.split()) - self.place.foreign.keys() != {gateway.container}:
            yield f"its containers are {names}"
        mounts = json.loads(docker("inspect", gateway.container))[0]["Mounts"]
        mounted = {one["Name"] for one in mounts if one["Type"] == "volume"}
        labelled = docker("volume", "ls", "--quiet", "--filter", f"{LABEL}{gateway.name}")
        if set(labelled.split()) - mounted:
            yield f"volumes that nobody uses: {set(labelled.split()) - mounted}"

    def _check_next_destroy(self, gateway: Gateway) -> Iterator[str]:
        volume = docker("volume", "ls", "--quiet", "--filter", f"name=^{gateway.container}$")
        container = docker("ps", "--all", "--quiet", "--filter", f"name=^{gateway.container}$")
        if container and not volume:
            yield "its volume is gone before its container"
        ran = gateway.run("destroy", "--yes", expect=None)
        if ran.exit_code != 0:
            yield f"the next destroy fails: {ran}"
        if left := remains_of(gateway):
            yield f"after the next destroy there is {left}"


def remains_of(gateway: Gateway) -> list[str]:
    """All that bears the gateway's exact names or its label."""
    label = f"{LABEL}{gateway.name}"
    exact = f"name=^{gateway.container}$"
    return [
        *docker("ps", "--all", "--format", "{{.Names}}", "--filter", label).split(),
        *docker("volume", "ls", "--quiet", "--filter", label).split(),
        *docker("volume", "ls", "--quiet", "--filter", exact).split(),
        *docker("network", "ls", "--format", "{{.Name}}", "--filter", exact).split(),
        *(str(path) for path in gateway.kubeconfig.parent.glob("*")),
    ]
