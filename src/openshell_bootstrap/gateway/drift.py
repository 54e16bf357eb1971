"""How a container differs from the one that would be made now. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from openshell_bootstrap import bundle
from openshell_bootstrap.gateway.node_container import describe_changes, find_api_port, spec_of_own
from openshell_bootstrap.gateway.record import spec_digest
from openshell_bootstrap.gateway.starting.settle import Settled
from openshell_bootstrap.models import Container, GatewaySpec
from openshell_bootstrap.names import LABEL_BUNDLE_DIGEST, LABEL_SPEC_DIGEST


def describe_drift(
    settled: Settled, container: Container, bundle_changes: Sequence[str]
) -> tuple[str, ...]:
    """How the container differs, one line each, ``WHAT: OLD -> NEW``.

    Args:
        settled: What would be made.
        container: What is there, of a release that labels its containers.
        bundle_changes: Shipped files that differ.
    """
    labels = container.labels
    lines: list[str] = []
    if labels.get(LABEL_SPEC_DIGEST) != spec_digest(settled.spec):
        made_of = _made_of(settled, container)
        lines += describe_changes(made_of, settled.spec) or ["it was made with other settings"]
    if labels.get(LABEL_BUNDLE_DIGEST) != bundle.digest():
        lines += bundle_changes or ["the files that were put into it are of another release"]
    return tuple(lines)


def _made_of(settled: Settled, container: Container) -> GatewaySpec:
    """The settings that made the container: the recorded ones, unless its label says otherwise.

    Then it is read from the container itself, of which GPUs and its network's range cannot be seen.
    """
    base = settled.base or settled.spec
    if container.labels.get(LABEL_SPEC_DIGEST) == spec_digest(base):
        return base
    api_port = find_api_port(container) or base.api_port
    made = spec_of_own(base.name, container, api_port)
    return replace(made, gpus=base.gpus, subnet=base.subnet)
