"""What is wrong with a data volume: who may run on it, its datastore, its authorities.

The words are those of the node's entrypoint, of k3s (``pkg/cluster/bootstrap.go``,
``pkg/nodepassword``) and of SQLite.
"""

from openshell_bootstrap.diagnosis.cause import Cause, line

NODE_PASSWORD_REJECTED = "node-password-rejected"  # noqa: S105 - the name of a cause

_FROM_A_COPY = (
    "Put `server/db` back from a copy, all of its files together: `openshell gateway info --name "
    "{gateway}` tells where the volume lies."
)
_LOGS = "`openshell gateway logs --name {gateway}` tells more."

VOLUME: tuple[Cause, ...] = (
    Cause(
        name="volume-locked",
        line=line(r"openshell: refused: volume-locked"),
        exit_codes=frozenset({75}),
        brief="Another node runs on the data volume {volume}",
        remedies=(
            "`docker ps --filter volume={volume}` names the containers on the volume; stop the "
            "other one.",
        ),
        refused=True,
    ),
    Cause(
        name="token-differs",
        line=line(r"openshell: refused: token-differs"),
        brief="The token that was given is not the one that the cluster on {volume} was made with",
        remedies=("Start without `--token-file`: the volume keeps its own token.",),
        refused=True,
    ),
    Cause(
        name="token-files-lost",
        line=line(r"openshell: refused: token-files-lost"),
        brief="The cluster on {volume} has lost both files that hold its token",
        remedies=(
            "Put `server/token` of this cluster back on the volume, from a copy.",
            "Or start with `--token-file` and the token that the cluster was made with.",
        ),
        refused=True,
    ),
    Cause(
        name="store-lost",
        line=line(r"openshell: refused: store-lost"),
        brief="The cluster's datastore is gone from {volume}; nothing was started in its place",
        remedies=(
            _FROM_A_COPY,
            "Without a copy the cluster is lost, and only the files in `storage/` are left: save "
            "them before `openshell gateway destroy`, which takes all data of the volume.",
        ),
        refused=True,
    ),
    Cause(
        name="store-damaged",
        line=line(
            r"openshell: refused: store-damaged|database disk image is malformed"
            r"|file is not a database|database corruption"
        ),
        brief="The datastore on {volume} is damaged; nothing was removed",
        remedies=(_FROM_A_COPY,),
        refused=True,
    ),
    Cause(
        name="refused",
        line=line(r"openshell: refused: (?P<slug>[a-z0-9-]+)"),
        brief="The node of {gateway} refuses to start: {slug}",
        remedies=(_LOGS,),
        refused=True,
    ),
    Cause(
        name="datastore-of-another-token",
        line=line(r"bootstrap data already found and encrypted with different token"),
        brief="The datastore on {volume} belongs to another token",
        remedies=(
            "If the volume's own `server/token` was replaced: put back that of this cluster.",
            "If the volume has none: start with `--token-file` and the token that the cluster was "
            "made with.",
        ),
        refused=True,
    ),
    Cause(
        name="newer-than-datastore",
        line=line(r"newer than datastore and could cause a cluster outage"),
        brief="Files on {volume} are newer than its datastore, and k3s will not choose",
        remedies=(
            "`openshell gateway logs --name {gateway}` names the files: move them to another "
            "folder and keep them; k3s makes them anew from the datastore.",
        ),
        refused=True,
    ),
    Cause(
        name="authority-differs",
        line=line(
            r"token CA hash does not match the Cluster CA certificate hash|failed to get CA certs"
        ),
        brief="The token names another authority than the one of the cluster on {volume}",
        remedies=(
            "Start without `--token-file`: the volume keeps its own token.",
            "If the volume's own `server/token` was replaced: put back that of this cluster.",
        ),
    ),
    Cause(
        name=NODE_PASSWORD_REJECTED,
        line=line(r"Node password rejected, duplicate hostname"),
        brief="The cluster knows the node {node} by another password than the one on {volume}, and "
        "rejects it",
        remedies=(
            "`openshell gateway start --name {gateway}`: the hash of the other password goes from "
            "the cluster once its API answers, and k3s makes it anew. No data is touched.",
        ),
    ),
    Cause(
        name="node-password-differs",
        line=line(
            r"NodePasswordValidationFailed.*hash does not match|password hash does not match"
        ),
        brief="The cluster knows the node {node} by another password than the one on {volume}",
        remedies=(
            "`openshell gateway start --name {gateway}` mends it once the node is ready. No data "
            "is touched.",
        ),
    ),
    Cause(
        name="disk-full",
        line=line(r"no space left on device|database or disk is full|disk quota exceeded"),
        brief="The disk below the data volume {volume} is full",
        remedies=(
            "`docker system df` shows what the engine holds: free some of it, but no volume.",
            "Then `openshell gateway start --name {gateway}`: the datastore takes up where it was.",
        ),
    ),
    Cause(
        name="disk-failing",
        line=line(r"disk I/O error|input/output error|structure needs cleaning"),
        brief="The disk below the data volume {volume} cannot be read or written",
        remedies=(
            "`dmesg` on the engine's host tells what the disk says. Copy the volume elsewhere "
            "before anything else is done with it.",
        ),
    ),
    Cause(
        name="disk-read-only",
        line=line(r"attempt to write a readonly database|var/lib/rancher.*read-only file system"),
        brief="The disk below the data volume {volume} is mounted read-only",
        remedies=(
            "`dmesg` on the engine's host tells why: kernels do so when a disk fails.",
            "Mount it writable again, then `openshell gateway start --name {gateway}`.",
        ),
    ),
    Cause(
        name="image-store-damaged",
        line=line(
            r"panic: (?:page \d+ already freed|freepages|invalid freelist)|meta\.db.*invalid"
        ),
        brief="containerd's store of images on {volume} is damaged; it holds no data of yours",
        remedies=(
            "Move `agent/containerd` of the volume to another name with the gateway stopped: "
            "`openshell gateway info --name {gateway}` tells where the volume lies. Images that "
            "were loaded by hand must be loaded again.",
        ),
    ),
    Cause(
        name="database-locked",
        line=line(r"database (?:table )?is locked"),
        brief="The datastore on {volume} is locked: another process writes to it, or its disk is "
        "too slow",
        remedies=(
            "`docker ps --filter volume={volume}` names the containers on the volume: there must "
            "be one alone.",
            "If there is one alone, look what else keeps the disk busy, and start again.",
        ),
    ),
)
