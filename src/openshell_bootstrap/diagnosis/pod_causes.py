"""Why pods do not come up: images, resources, volumes.

The words are those of the kubelet's and the scheduler's events and of container states.
"""

from openshell_bootstrap.diagnosis.cause import Cause, line

_IMAGE = r"(?:image|manifest for) \\?\"?(?P<pulled>[\w./:@-]+?)\\?\"?(?::? |,|$)"

PODS: tuple[Cause, ...] = (
    Cause(
        name="registry-limit",
        line=line(r"toomanyrequests|pull rate limit"),
        brief="The image registry lets the node {node} pull no more for now",
        remedies=(
            "Give it a mirror or credentials: `openshell gateway start --name {gateway} "
            "--registries FILE`, or wait some hours.",
        ),
    ),
    Cause(
        name="registry-untrusted",
        line=line(r"pull.*x509: certificate signed by unknown authority"),
        brief="The node {node} does not trust the certificate of an image registry",
        remedies=(
            "Name its authority (`configs`, `tls`, `ca_file`) in a registries file: `openshell "
            "gateway start --name {gateway} --registries FILE`.",
        ),
    ),
    Cause(
        name="registry-denied",
        line=line(r"pull.*(?:unauthorized|authentication required|access denied|403 forbidden)"),
        brief="An image registry wants credentials from the node {node}, or others than it has",
        remedies=(
            "Give them in a registries file (`configs`, `auth`): `openshell gateway start --name "
            "{gateway} --registries FILE`.",
        ),
    ),
    Cause(
        name="image-pull",
        line=line(
            r"(?:ImagePullBackOff|ErrImagePull|failed to pull|back-off pulling)"
            r"(?=.*?" + _IMAGE + r").*"
        ),
        brief="The node {node} cannot pull the image {pulled}",
        remedies=(
            "See that the registry can be reached from the engine's host; behind a proxy set "
            "HTTPS_PROXY and start again.",
            "Or name a mirror: `openshell gateway start --name {gateway} --registries FILE`.",
            "Without a registry: `docker save {pulled}` where it is present, as the input of "
            "`openshell gateway exec --name {gateway} -- ctr -n k8s.io images import -`.",
        ),
    ),
    Cause(
        name="evicted",
        line=line(r"node was low on resource: [\w-]+|DiskPressure|disk-pressure"),
        brief="The node {node} gave up pods because its disk or memory ran short",
        remedies=(
            "`docker system df` shows what the engine holds: free some of it, but no volume.",
            "`openshell gateway kubectl --name {gateway} describe node {node}` tells what it is "
            "short of.",
        ),
    ),
    Cause(
        name="volume-elsewhere",
        line=line(r"volume node affinity conflict|didn't match PersistentVolume's node affinity"),
        brief="A volume of the cluster names a node that is not {node}, so a pod waits for ever",
        remedies=(
            "`openshell gateway start --name {gateway}` rebinds volumes whose files are here; no "
            "data is touched.",
        ),
    ),
    Cause(
        name="no-room",
        line=line(r"\d+ Insufficient (?P<resource>[\w./-]+)"),
        brief="The node {node} has not enough {resource} for a pod",
        remedies=("Ask for less in the pod's `resources`, or give the engine's host more.",),
    ),
    Cause(
        name="sandbox-failed",
        line=line(r"failed to create pod sandbox: .*?(?P<said>failed to .*|plugin type.*)"),
        brief="The node {node} cannot set up pods: {said}",
        remedies=(
            "`openshell gateway restart --name {gateway}` makes the pods' network anew.",
            "`openshell doctor bundle --name {gateway}` saves what a report needs.",
        ),
    ),
    Cause(
        name="authority-unknown",
        line=line(r"x509: certificate signed by unknown authority"),
        brief="A part of the cluster on {volume} does not trust another: a certificate is of "
        "another authority",
        remedies=(
            "If files below `server/tls` of the volume were replaced: put back those of this "
            "cluster, all together.",
        ),
    ),
)
