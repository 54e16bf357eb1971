"""Which claims of a gateway are in trouble, and what their folders hold."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from openshell_bootstrap.cluster.nodes import Node, Pod
from openshell_bootstrap.cluster.volumes import Claim, Volume
from openshell_bootstrap.gateway.results import ClaimStatus
from openshell_bootstrap.models import DATA_PATH

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What a cluster has of claims, and what lies behind them.

    Attributes:
        own: The gateway's node, where it is ready: claims wait for no other.
        used: Bytes by folder; None where nobody measured.
    """

    claims: tuple[Claim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    pods: tuple[Pod, ...] = ()
    own: Node | None = None
    used: Mapping[str, int | None] | None = None

    @property
    def stranded(self) -> dict[str, str]:
        """Claims whose pods wait, and the nodes, not in this cluster, that their volume names."""
        return {
            str(claim): ", ".join(sorted(volume.affinity.names))
            for claim in self.claims
            for volume in self.volumes
            if volume.name == claim.volume and self._is_elsewhere(claim, volume)
        }

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of the node that lie behind claims."""
        bound = {claim.volume for claim in self.claims}
        paths = (volume.path for volume in self.volumes if volume.name in bound)
        return tuple(dict.fromkeys(path for path in paths if path and path.isprintable()))

    def users(self, claim: Claim) -> tuple[str, ...]:
        """Pods that mount a claim."""
        return tuple(
            sorted(
                str(pod)
                for pod in self.pods
                if pod.namespace == claim.namespace and claim.name in pod.claims
            )
        )

    def _is_elsewhere(self, claim: Claim, volume: Volume) -> bool:
        if self.own is None or volume.affinity.shape != "pinned" or volume.claim_uid != claim.uid:
            return False
        return not volume.affinity.names & {self.own.name, self.own.hostname}


def describe_claims(storage: Storage, *, name: str, mountpoint: str) -> tuple[ClaimStatus, ...]:
    """Claims in words: those that wait for a node, and all of them where somebody measured.

    Args:
        storage: What was seen.
        name: The gateway, for the commands that are advised.
        mountpoint: Of the gateway's volume, on the engine's host.
    """
    volumes = {volume.name: volume for volume in storage.volumes}
    stranded = storage.stranded
    told = []
    for claim in sorted(storage.claims, key=str):
        node = stranded.get(str(claim), "")
        if storage.used is None and not node:
            continue
        volume = volumes.get(claim.volume)
        path = volume.path if volume else ""
        held = (storage.used or {}).get(path)
        problem, next_step = _problem(claim, node, held, name)
        told.append(
            ClaimStatus(
                claim=str(claim),
                volume=claim.volume,
                pods=storage.users(claim),
                node=node,
                folder=_on_host(path, mountpoint),
                reclaim_policy=volume.reclaim_policy if volume else "",
                requested_bytes=claim.requested,
                used_bytes=held,
                problem=problem,
                next_step=next_step,
            )
        )
    return tuple(told)


def _problem(claim: Claim, node: str, used: int | None, name: str) -> tuple[str, str]:
    if node:
        waits = f"its volume {claim.volume} is on node {node}, which is not in the cluster"
        return waits, f"`openshell gateway start --name {name}` rebinds it; the data stays"
    if used is not None and 0 < claim.requested < used:
        over = f"it holds {show_bytes(used)} and asked for {show_bytes(claim.requested)}"
        return over, "Move files out of it, or mind the disk: nothing holds it to its size"
    return "", ""


def _on_host(path: str, mountpoint: str) -> str:
    plain = posixpath.normpath(path)
    if not mountpoint or not plain.startswith(f"{DATA_PATH}/"):
        return ""
    return mountpoint + plain.removeprefix(DATA_PATH)


def show_bytes(number: float) -> str:
    """Bytes as a person reads them."""
    unit = 0
    while number >= _STEP and unit < len(_UNITS) - 1:
        number, unit = number / _STEP, unit + 1
    return f"{number:.1f}".removesuffix(".0") + f" {_UNITS[unit]}"
