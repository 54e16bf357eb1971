"""Starting and stopping a gateway, beside the docker command on the same image."""

import json
from collections.abc import Callable

from benchmarks import measure, table
from benchmarks.plain import PlainNode
from benchmarks.product import Gateway, Product

FRESH_TIMES_PLAIN = 1.10
HEALTHY_S = 0.8
STOP_EXCESS_S = 1.0
FRESH_ROUNDS = 6
HEALTHY_ROUNDS = 5
STOP_ROUNDS = 3
PODS = 3

Runner = Callable[..., str]
"""Runs a command in a node."""


def rows(product: Product, gateway: Gateway) -> list[table.Row]:
    """Measure; ``gateway`` runs, and runs again afterwards."""
    return [_fresh(product, gateway), _healthy(gateway), _stop_of_the_same(gateway)]


def _fresh(product: Product, gateway: Gateway) -> table.Row:
    def ours() -> float:
        with product.borrowed() as new:
            return new.time_to_ready()

    took = measure.least(
        {"docker run": lambda: PlainNode.alike(gateway).time_to_ready(), "start, fresh": ours},
        FRESH_ROUNDS,
    )
    return table.ratio(
        "start, fresh, to a node that is ready",
        plain_s=took["docker run"],
        ours_s=took["start, fresh"],
        at_most=FRESH_TIMES_PLAIN,
    )


def _healthy(gateway: Gateway) -> table.Row:
    arm = {"start, healthy": lambda: measure.timed(gateway.start)}
    took = measure.least(arm, HEALTHY_ROUNDS)
    return table.absolute(
        "start on a healthy gateway", ours_s=took["start, healthy"], at_most_s=HEALTHY_S
    )


def _stop_of_the_same(gateway: Gateway) -> table.Row:
    """Both arms stop the same gateway with the same pods, brought up again in between."""
    gateway.exec("kubectl", "apply", "-f", "-", stdin=json.dumps(_deployment()))
    _await_pods(gateway)

    def again(stop: Callable[[], object]) -> float:
        taken = measure.timed(stop)
        gateway.start()
        _await_pods(gateway)
        return taken

    took = measure.least(
        {
            "docker stop": lambda: again(
                lambda: measure.run(["docker", "stop", gateway.container])
            ),
            "stop": lambda: again(gateway.stop),
        },
        STOP_ROUNDS,
    )
    gateway.exec("kubectl", "delete", "deployment", "bench")
    return table.excess(
        f"stop with {PODS} pods that end on TERM",
        plain_s=took["docker stop"],
        ours_s=took["stop"],
        at_most_s=STOP_EXCESS_S,
    )


def _deployment() -> dict[str, object]:
    container = {
        "name": "c",
        "image": "openshell/sandbox:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"],
    }
    labels = {"app": "bench"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "bench", "namespace": "default"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _await_pods(gateway: Gateway) -> None:
    """Until as many shells as pods run in the node: a pod's status outlives its processes."""

    def have_begun() -> bool:
        script = "grep -lsx sleep /proc/[0-9]*/comm | wc -l"
        return int(gateway.exec("sh", "-c", script)) >= PODS

    measure.until(have_begun, f"{PODS} running pods")
