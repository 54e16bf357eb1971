"""What a user asks of ``start``. None means: not said, so the record or the default decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.settings import READY_PATIENCE, STOP_GRACE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """One ``gateway start``.

    Attributes:
        name: The gateway.
        image: Node image that was asked for with ``--image`` or the environment.
        image_is_explicit: It came from ``--image``: then it wins over the record.
        api_port: Address and port for the Kubernetes API; host port 0 is refused.
        ports: Further published ports, all of them.
        volumes: ``SOURCE:TARGET[:ro]``, all of them.
        environment: Further variables of the node, all of them.
        k3s_args: Further arguments of ``k3s server``, all of them.
        tls_sans: Further names in the API server's certificate, all of them.
        gpus: ``all`` or a number.
        subnet: Range of addresses of the gateway's network; empty lets the engine choose again.
        token: The cluster's join token, from a file; never in argv or the environment.
        registries: Content of a ``registries.yaml``.
        proxies: Proxy variables of this environment, for a container that is made now.
        pull: ``missing`` pulls an absent image, ``never`` refuses.
        recreate: A running gateway may be stopped to apply what differs.
        grace_s: From TERM to KILL where the node has to be stopped.
        timeout_s: From the container's start to a ready node.
        start_empty: The data volume is lost, and the user gave its data up.
    """

    name: str
    image: str | None = None
    image_is_explicit: bool = False
    api_port: PublishedPort | None = None
    ports: tuple[PublishedPort, ...] | None = None
    volumes: tuple[str, ...] | None = None
    environment: Mapping[str, str] | None = None
    k3s_args: tuple[str, ...] | None = None
    tls_sans: tuple[str, ...] | None = None
    gpus: str | None = None
    subnet: str | None = None
    token: bytes | None = field(default=None, repr=False)
    registries: bytes | None = field(default=None, repr=False)
    proxies: Mapping[str, str] = field(default_factory=dict)
    pull: Literal["missing", "never"] = "missing"
    recreate: bool = False
    grace_s: int = STOP_GRACE_S
    timeout_s: float = READY_PATIENCE.timeout_s
    start_empty: bool = False
