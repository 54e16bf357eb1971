"""What the Docker engine refuses, and what the end of a node's container says.

The words are those of Docker 20.10 to 28, of runc and of the node's entrypoint.
"""

from openshell_bootstrap.diagnosis.cause import Cause, line

_LOGS = "`openshell gateway logs --name {gateway}` tells what it said last."
_START = "`openshell gateway start --name {gateway}` starts it again; its data is kept."

ENGINE: tuple[Cause, ...] = (
    Cause(
        name="port-taken",
        line=line(
            r"(?:for|bind|listen tcp\d?) (?P<where>(?:[\d.]+|\[[\da-f:]*\])?:(?P<taken>\d+))"
            r"(?=.*(?:port is already allocated|address already in use)).*"
        ),
        brief="The port {where} is taken",
        remedies=(
            "`docker ps --filter publish={taken}` names a container that has it, `ss -ltnp 'sport "
            "= :{taken}'` as root another program: stop that.",
            "Or give the gateway another one: `openshell gateway start --name {gateway} "
            "--api-port PORT` for the API, `-p` for further ports. Its data stays.",
            "If nothing has it, the engine holds it by mistake: start the engine anew.",
        ),
    ),
    Cause(
        name="no-address-pool",
        line=line(
            r"could not find an available, non-overlapping IPv4 address pool"
            r"|all predefined address pools have been fully subnetted"
        ),
        brief="The engine has no addresses left for the network {network}",
        remedies=(
            "`docker network ls` shows the networks: remove those that nobody uses with `docker "
            "network rm NAME`; networks hold no data.",
            "Or give this one a range that is free: `openshell gateway start --name {gateway} "
            "--subnet CIDR`.",
            "Or give the engine more of them: `default-address-pools` in its daemon.json.",
        ),
    ),
    Cause(
        name="network-gone",
        line=line(r"network [\w.-]+ not found|could not find network|no such network"),
        brief="The network that the container {container} was attached to is gone",
        remedies=(
            "`openshell gateway start --name {gateway}` makes the network {network} and the "
            "container anew; the data stays.",
        ),
    ),
    Cause(
        name="capabilities",
        line=line(r"unable to apply caps|operation not permitted.*capab|capset.*not permitted"),
        brief="The host does not let the engine grant all capabilities, which a node needs",
        remedies=(
            "Run the engine outside of the container or the sandbox that restricts it; in an "
            "unprivileged container there can be no gateway.",
        ),
    ),
    Cause(
        name="apparmor",
        line=line(r"apparmor (?:failed|enabled on system but)|unable to apply apparmor profile"),
        brief="The host's AppArmor keeps the container {container} from starting",
        remedies=(
            "Install the package apparmor on the engine's host, or load its profiles again: "
            "`systemctl restart apparmor docker`.",
        ),
    ),
    Cause(
        name="other-architecture",
        line=line(r"exec format error|does not match the (?:specified|detected host) platform"),
        brief="The node image {image} is for another processor than the engine's host has",
        remedies=("Name another: `openshell gateway start --name {gateway} --image IMAGE`.",),
    ),
    Cause(
        name="not-a-node-image",
        line=line(
            r"exec: \"?[\w./-]+\"?: (?:executable file not found|stat .*no such file)"
            r"|k3s: (?:not found|command not found)"
        ),
        exit_codes=frozenset({126, 127}),
        brief="The image {image} is no node image: it lacks a program that a node needs",
        remedies=("Name a k3s image: `openshell gateway start --name {gateway} --image IMAGE`.",),
    ),
    Cause(
        name="threads",
        line=line(
            r"failed to create new OS thread|pthread_create failed"
            r"|fork.*resource temporarily unavailable"
        ),
        brief="The node {node} may not have more processes or threads",
        remedies=(
            "Raise the limit of the engine's service: `systemctl edit docker` with "
            "TasksMax=infinity, or `default-ulimits` (nproc) in its daemon.json.",
        ),
    ),
    Cause(
        name="memory",
        line=line(r"out of memory: killed process|oom-kill|memory cgroup out of memory"),
        oom=True,
        brief="The kernel killed processes of the node {node} because there was no memory left",
        remedies=(
            "Give the engine's host more memory, or end what needs it: `docker stats` shows who "
            "has how much.",
            _START,
        ),
    ),
    Cause(
        name="k3s-argument",
        line=line(
            r"(?P<said>flag provided but not defined: \S+|unknown flag: \S+"
            r"|unknown shorthand flag.*|unrecognized feature gate: \S+"
            r"|invalid argument \"[^\"]*\" for .*)"
        ),
        brief="k3s or one of its parts does not know an argument it was given: {said}",
        remedies=(
            "Correct or leave out the `--k3s-arg` in question: `openshell gateway start --name "
            "{gateway} --k3s-arg ARGUMENT` gives all of them anew.",
        ),
    ),
)

ENDS: tuple[Cause, ...] = (
    Cause(
        name="no-route-end",
        exit_codes=frozenset({64}),
        brief="The node {node} ended because it has no default route",
        remedies=(
            "`docker network inspect {network}`: an internal network has none.",
            "`openshell gateway start --name {gateway}` makes the network anew if it is gone.",
        ),
    ),
    Cause(
        name="k3s-keeps-ending",
        exit_codes=frozenset({70}),
        brief="k3s ended by itself again and again in the node {node}",
        remedies=(_LOGS, _START),
    ),
    Cause(
        name="cgroup-end",
        exit_codes=frozenset({71}),
        brief="The cgroup of the container {container} could not be prepared",
        remedies=(
            "`openshell doctor check` looks at the host's cgroups.",
            _START,
        ),
    ),
    Cause(
        name="refused-end",
        exit_codes=frozenset({78}),
        brief="The node of {gateway} refused to start on the volume {volume}",
        remedies=(_LOGS,),
        refused=True,
    ),
    Cause(
        name="killed",
        exit_codes=frozenset({137}),
        brief="The container {container} was killed from outside",
        remedies=(
            "`docker events --since 1h --until 0s --filter container={container}` shows what the "
            "engine did with it.",
            _START,
        ),
    ),
)
