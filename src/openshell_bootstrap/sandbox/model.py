"""What a sandbox is to its users, and the names of what belongs to it. No I/O."""

from dataclasses import dataclass, field
from typing import Literal

from openshell_bootstrap.cluster.api import JsonObject
from openshell_bootstrap.models import Unknown

NAMESPACE = "openshell"
CONTAINER = "agent"
"""The container of a sandbox's pod that runs its command."""

WORKSPACE = "workspace"
"""The claim template that is given to a sandbox without any; its claim is ``workspace-NAME``."""

WORKSPACE_PATH = "/home/user"

LABEL_ID = "openshell.ai/sandbox-id"
"""On the resource, its pod (through the template) and its dependents."""
LABEL_NAME = "openshell.ai/sandbox-name"
LABEL_ROLE = "openshell.ai/role"
"""On dependents: ``supervisor`` or ``environment``."""

ANNOTATION_SPEC_DIGEST = "openshell.ai/spec-digest"
"""SHA-256 of what was asked for at create: the same request again finds its own sandbox."""
ANNOTATION_GENERATION = "openshell.ai/generation"
"""How often it was started, from 1: part of the names of that start's Secrets."""
ANNOTATION_PREVIOUS_IMAGE = "openshell.ai/previous-image"
ANNOTATION_DELETING = "openshell.ai/deleting"
"""A delete was begun: ``{"keep_workspace": …, "volumes": {NAME: UID}}``, for whoever finishes."""

Phase = Literal[
    "Provisioning", "Ready", "Stopping", "Stopped", "Deleting", "Finished", "Error", "Unknown"
]
Desired = Literal["running", "stopped"]


def secret_name(sandbox_id: str, generation: int) -> str:
    """The Secret with one start's secret environment."""
    return f"os-sandbox-{sandbox_id}-{generation}"


def supervisor_name(sandbox_id: str) -> str:
    """The supervisor pod, the same over all starts."""
    return f"os-supervisor-{sandbox_id}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that was seen of one sandbox at one moment.

    Attributes:
        sandbox: The resource, read first.
        pods: Pods in its namespace that it controls, that bear its name, or that bear its id,
            terminating ones too; in any order.
        claims: Claims in its namespace that its pod's volumes name.
        events: Core events about its pods and claims.
        volumes: The volumes that its claims are bound to.
    """

    sandbox: JsonObject
    pods: tuple[JsonObject, ...] | Unknown = ()
    claims: tuple[JsonObject, ...] | Unknown = ()
    events: tuple[JsonObject, ...] | Unknown = ()
    volumes: tuple[JsonObject, ...] | Unknown = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a sandbox, by the name that its pod's volume has."""

    name: str
    uid: str
    phase: str
    size: str
    volume: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """One sandbox as it was seen.

    Attributes:
        id: Value of its label ``openshell.ai/sandbox-id``; empty where others made it.
        phase: What it is doing.
        reason: A word of Kubernetes for why, such as ``ImagePullBackOff``; may be empty.
        message: The evidence in its source's own words; may be empty.
        pod_uid: Of its own pod that is not terminating; empty while there is none.
        created_at: RFC 3339.
        api_version: The version it was read in.
    """

    name: str
    namespace: str
    id: str
    uid: str
    desired: Desired
    phase: Phase
    reason: str = ""
    message: str = ""
    image: str = ""
    previous_image: str = ""
    pod: str = ""
    pod_uid: str = ""
    node: str = ""
    created_at: str = ""
    generation: int = 1
    api_version: str = ""
    claims: tuple[Claim, ...] = field(default=())
