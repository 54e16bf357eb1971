"""Settings, containers and what is seen of a gateway, for tests of pure decisions."""

from dataclasses import replace
from typing import Any

from openshell_bootstrap.gateway.checks.host import HostFacts
from openshell_bootstrap.gateway.node_container import build_container
from openshell_bootstrap.gateway.observe import OnVolume, Seen
from openshell_bootstrap.gateway.record import GatewayRecord
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.gateway.starting.plan import plan_start
from openshell_bootstrap.gateway.starting.settle import Settled, settle
from openshell_bootstrap.models import (
    Attachment,
    Container,
    GatewaySpec,
    Network,
    PublishedPort,
    Volume,
)
from openshell_bootstrap.names import GatewayNames
from tests.fakes.engine_state import INFO

IMAGE = "k3s:v1"
NAMES = GatewayNames("t1")
API = PublishedPort("127.0.0.1", 16443, 6443)
CHOSEN = PublishedPort("127.0.0.1", 22222, 6443)
SPEC = GatewaySpec(name="t1", node_name="openshell-t1", image=IMAGE, api_port=API)
RECORD = GatewayRecord(spec=SPEC, cluster_id="c" * 64, k3s_version="v1.35.3+k3s1")
NETWORK = Network(id="n1", name=NAMES.network, labels={"openshell.ai/gateway": "t1"})
VOLUME = Volume(name=NAMES.volume, labels={})


def container_of(spec: GatewaySpec = SPEC, **changes: Any) -> Container:
    """The container that these settings make, running unless it is said otherwise."""
    made = build_container(spec, INFO, generation="0a1b2c3d", has_modules=True)
    seen = Container(
        id="c" * 64,
        name=made.name,
        image=made.image,
        image_id="sha256:1",
        status="running",
        hostname=made.hostname,
        labels=made.labels,
        command=(*made.entrypoint, *made.command),
        environment={**made.environment, "PATH": "/bin", "CRI_CONFIG_FILE": "/x"},
        mounts=made.mounts,
        ports=made.ports,
        attachments=(Attachment(network=made.network, network_id="n1"),),
        started_at="2026-01-01T00:00:00Z",
    )
    return replace(seen, **changes)


def other(name: str, **changes: Any) -> Container:
    """Somebody else's container."""
    seen = Container(
        id=name.ljust(64, "0"),
        name=name,
        image="busybox",
        image_id="sha256:2",
        status="running",
        hostname=name,
        labels={},
    )
    return replace(seen, **changes)


def seen_of(**changes: Any) -> Seen:
    """A gateway that is not there, changed as it is said."""
    nothing = Seen(
        names=NAMES,
        engine=INFO,
        host=HostFacts(),
        container=None,
        aside=None,
        volume=None,
        networks=(),
        others=(),
        on_volume=None,
    )
    return replace(nothing, **changes)


def standing(**changes: Any) -> Seen:
    """A gateway that runs with these settings."""
    there = {
        "container": container_of(),
        "volume": VOLUME,
        "networks": (NETWORK,),
        "on_volume": OnVolume(record=RECORD, has_password=True, token=b"K10ab::server:secret"),
    }
    return seen_of(**{**there, **changes})


OURS = {"openshell.ai/gateway": "t1"}
OTHER_SPEC = replace(SPEC, k3s_args=("--x",))
UP = {"running", "paused", "restarting"}


def plan(seen, settled=None, *, image_present=True, **asked):
    settled = settled or Settled(spec=SPEC, base=SPEC)
    request = StartRequest(name="t1", **asked)
    return plan_start(request, settled, seen, image_present=image_present)


def kinds(plan):
    return [type(step.action) for step in plan.steps]


def decide(seen: Seen, *, default: str = "default:v1", **asked: Any) -> Settled:
    """What a request is settled to, where a port that is chosen is ``CHOSEN``."""
    request = StartRequest(name=asked.pop("name", "t1"), **asked)
    return settle(request, seen, default_image=default, choose_port=lambda: CHOSEN)
