"""A gateway whose node had another name, in memory."""

from openshell_bootstrap.cluster.nodes import Pod
from openshell_bootstrap.events import Event
from openshell_bootstrap.gateway.inside.stale_nodes import clean_stale_nodes
from openshell_bootstrap.gateway.inside.stale_plan import Identity
from openshell_bootstrap.gateway.results import CleanedNodes
from tests.fakes import kube_objects as objects
from tests.fakes.clock import FakeClock
from tests.fakes.kube import FakeKube

OWN = "openshell-t1"
OLD = "0f3a9c1b2d4e"
IDENTITY = Identity(OWN, OWN)


def make_cluster(clock: FakeClock) -> FakeKube:
    """A gateway that is freshly ready, and nothing else."""
    kube = FakeKube(clock=clock, started_s=int(clock.now) - 10)
    kube.add(objects.node(OWN, heartbeat_s=clock.now), objects.lease(OWN, clock.now))
    kube.alive.add(OWN)
    return kube


def make_adopted(clock: FakeClock, volumes: int = 3) -> FakeKube:
    """The same after its node had another name: a dead node, its volumes, claims and pods."""
    kube = make_cluster(clock)
    kube.add(objects.node(OLD, heartbeat_s=clock.now - 60), objects.lease(OLD, clock.now - 40))
    for number in range(volumes):
        name = f"pvc-{number}"
        kube.add(
            objects.volume(name, OLD, claim_uid=f"uid-{number}"),
            objects.claim(name, uid=f"uid-{number}"),
            objects.pod(f"web-{number}", OLD, controller="StatefulSet"),
        )
        kube.folders[f"{objects.STORAGE}/{name}"] = f"{objects.STORAGE}/{name}"
    return kube


def clean(
    kube: FakeKube, kept: list[Pod] | None = None, seen: list[Event] | None = None
) -> CleanedNodes:
    return clean_stale_nodes(
        kube,
        IDENTITY,
        keep_pods=([] if kept is None else kept).extend,
        report=([] if seen is None else seen).append,
    )


def pinned_to(kube: FakeKube, name: str) -> list[str]:
    affinity = kube.get("PersistentVolume", name)["spec"]["nodeAffinity"]
    (term,) = affinity["required"]["nodeSelectorTerms"]
    (requirement,) = term["matchExpressions"]
    return list(requirement["values"])
