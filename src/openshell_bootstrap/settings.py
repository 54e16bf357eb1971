"""Settings and where each came from: flag, environment, record, default.

The only reader of the process environment.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.models import Patience

DEFAULT_NODE_IMAGE = (
    "rancher/k3s:v1.35.3-k3s1"
    "@sha256:4607083d3cac07e1ccde7317297271d13ed5f60f35a78f33fcef84858a9f1d69"
)
"""The node image of a new gateway: the release that this version was made for."""

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")

CLUSTER_NO_PROXY = ("127.0.0.0/8", "10.42.0.0/16", "10.43.0.0/16", ".svc", ".cluster.local")
"""What a node must never ask a proxy for: itself, pods, services."""

READY_PATIENCE = Patience(timeout_s=300, interval_s=0.1)
"""From the start of the container to a node that is ready and schedulable."""

WORKLOADS_PATIENCE = Patience(timeout_s=300, interval_s=0.25)
"""From there to the node's own workloads (DNS, storage)."""

EXEC_PATIENCE = Patience(timeout_s=45, interval_s=1)
"""How long a failing exec is tried again before the clean-up of stale nodes is put off."""

PROBE_PATIENCE = Patience(timeout_s=30, interval_s=0.1)
"""For a container that ends by itself at once: one that tells a version, or tries something."""

REMOVAL_PATIENCE = Patience(timeout_s=60, interval_s=0.1)
"""For a removal that somebody else began: its name and volumes are taken until it is done."""

EXIT_STATUS_PATIENCE = Patience(timeout_s=10, interval_s=0.02)
"""From the end of a command's output to its exit status: the engine closes the stream first."""

HOLDER_PATIENCE = Patience(timeout_s=1, interval_s=0.01)
"""From the moment a lock is taken to its holder's name in the file."""

REQUEST_TIMEOUT_S = 60
"""For one answer of the engine, where the question says nothing else."""

SSH_CONNECT_TIMEOUT_S = 30
"""For a connection to an engine by ssh."""

SANDBOX_TIMEOUT_S = 300.0
"""For a sandbox to become what was asked of it, where the user says nothing else."""

CALL_TIMEOUT_S = 30.0
"""For one answer of a Kubernetes API server."""

COMMAND_TIMEOUT_S = 60.0
"""For a command in a container, where whoever runs it says nothing else."""

NAME_SERVER_TIMEOUT_S = 3
"""For one answer of the pods' name server."""

USAGE_TIMEOUT_S = 60
"""For measuring what all claims hold."""

DIAGNOSTICS_TIMEOUT_S = 20.0
"""How long evidence is collected at most."""

DIAGNOSTICS_LOOK_S = 8.0
"""How much of it one command in the node may take."""

CLAIMS_LOOK_S = 10
"""For the list of claims that a destroy would take: nobody waits long to be asked."""

LEASE_WATCH_S = 25.0
"""How long another node's lease is watched; its kubelet, if it lives, renews it every 10 s."""

LOCK_INTERVAL_S = 0.1
"""How often a gateway's lock is tried while another command holds it."""

STOP_GRACE_S = 60
"""From TERM to KILL when a node stops; its entrypoint needs at most about 45 s of it."""


@dataclass(frozen=True, slots=True)
class DockerSettings:
    """What the environment says of the Docker engine, in the ``docker`` command's own variables.

    Attributes:
        host: ``DOCKER_HOST``, an address such as ``unix:///var/run/docker.sock``; wins.
        context: ``DOCKER_CONTEXT``, a name in the Docker configuration.
        uses_tls: ``DOCKER_TLS`` is not empty.
        verifies_tls: ``DOCKER_TLS_VERIFY`` is not empty: TLS, and the engine must prove itself.
        cert_path: ``DOCKER_CERT_PATH``, a folder with ca.pem, cert.pem and key.pem.
        config: ``DOCKER_CONFIG``, the folder of the Docker configuration, its contexts and
            certificates.
    """

    host: str = ""
    context: str = ""
    uses_tls: bool = False
    verifies_tls: bool = False
    cert_path: Path | None = None
    config: Path = field(default_factory=lambda: Path.home() / ".docker")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Attributes:
        gateway: ``OPENSHELL_GATEWAY``: the gateway that commands mean, or None.
        node_image: ``OPENSHELL_NODE_IMAGE``: the node image of a new gateway, or None.
        is_ci: ``CI`` is set and not ``false`` or ``0``.
        proxies: Proxy variables for the node, by upper-case name, cluster ranges kept out.
        proxy_conflicts: Upper-case names of those whose lower-case twin says something else.
        proxies_loopback: Clients that follow the letter ask the proxy for this host's own ports.
        docker: Which engine is meant.
        kubeconfig: The user's own kubeconfig: the first path in ``KUBECONFIG``, or
            ``~/.kube/config``.
        sandbox_image: ``OPENSHELL_SANDBOX_IMAGE``: what a new sandbox runs, or None.
    """

    gateway: str | None
    node_image: str | None
    is_ci: bool
    proxies: Mapping[str, str]
    proxy_conflicts: tuple[str, ...] = ()
    proxies_loopback: bool = False
    docker: DockerSettings = field(default_factory=DockerSettings)
    kubeconfig: Path = Path(".kube/config")
    sandbox_image: str | None = None


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the environment once.

    Raises:
        ConfigError: A variable that goes into a record or to the engine is no UTF-8 text.
    """
    _check_text(environ)
    return Settings(
        gateway=environ.get("OPENSHELL_GATEWAY") or None,
        node_image=environ.get("OPENSHELL_NODE_IMAGE") or None,
        is_ci=environ.get("CI", "").lower() not in {"", "0", "false"},
        proxies=_proxies(environ),
        proxy_conflicts=tuple(_proxy_conflicts(environ)),
        proxies_loopback=_proxies_loopback(environ),
        docker=_docker(environ),
        kubeconfig=_kubeconfig(environ),
        sandbox_image=environ.get("OPENSHELL_SANDBOX_IMAGE") or None,
    )


def read_secret(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """The value of a variable that the user named.

    Raises:
        ConfigError: It is not set, or no UTF-8 text.
    """
    value = environ.get(name)
    if value is None:
        raise ConfigError(
            f"The variable {name} is not set in this environment",
            remedies=[f"Set and export {name}, or give a file: `--secret-env-file FILE`."],
        )
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ConfigError(
            f"The variable {name} is no UTF-8 text", remedies=[f"Set {name} anew, or leave it out."]
        )
    return value


def _check_text(environ: Mapping[str, str]) -> None:
    """Python gives a byte that is no UTF-8 as half of a surrogate pair, which nothing takes."""
    proxies = (spelling for name in PROXY_VARIABLES for spelling in (name, name.lower()))
    images = ("OPENSHELL_NODE_IMAGE", "OPENSHELL_SANDBOX_IMAGE")
    for name in (*images, "DOCKER_HOST", "DOCKER_CONTEXT", *proxies):
        if any("\ud800" <= letter <= "\udfff" for letter in environ.get(name, "")):
            raise ConfigError(
                f"The variable {name} is no UTF-8 text", remedies=[f"Set {name} anew, or unset it."]
            )


def _kubeconfig(environ: Mapping[str, str]) -> Path:
    named = [path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return Path(named[0]) if named else Path.home() / ".kube" / "config"


def _docker(environ: Mapping[str, str]) -> DockerSettings:
    cert_path, config = environ.get("DOCKER_CERT_PATH"), environ.get("DOCKER_CONFIG")
    return DockerSettings(
        host=environ.get("DOCKER_HOST", ""),
        context=environ.get("DOCKER_CONTEXT", ""),
        uses_tls=bool(environ.get("DOCKER_TLS")),
        verifies_tls=bool(environ.get("DOCKER_TLS_VERIFY")),
        cert_path=Path(cert_path) if cert_path else None,
        config=Path(config) if config else Path.home() / ".docker",
    )


def _proxies(environ: Mapping[str, str]) -> dict[str, str]:
    found = _given_proxies(environ)
    if not found.keys() & {"HTTP_PROXY", "HTTPS_PROXY"}:
        return {}
    given = _exceptions(found)
    found["NO_PROXY"] = ",".join(
        [*given, *(part for part in CLUSTER_NO_PROXY if part not in given)]
    )
    return found


def _given_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """By upper-case name; where both spellings are set the upper-case one counts."""
    return {
        name: value
        for name in PROXY_VARIABLES
        if (value := environ.get(name) or environ.get(name.lower()))
    }


def _exceptions(found: Mapping[str, str]) -> list[str]:
    return [part.strip() for part in found.get("NO_PROXY", "").split(",") if part.strip()]


def _proxy_conflicts(environ: Mapping[str, str]) -> Iterator[str]:
    for name in PROXY_VARIABLES:
        upper, lower = environ.get(name), environ.get(name.lower())
        if upper and lower and upper != lower:
            yield name


def _proxies_loopback(environ: Mapping[str, str]) -> bool:
    found = _given_proxies(environ)
    is_excepted = {"*", "127.0.0.1", "127.0.0.0/8"} & {*_exceptions(found)}
    return "HTTPS_PROXY" in found and not is_excepted
