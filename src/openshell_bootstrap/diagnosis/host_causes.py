"""What the engine's host lacks or gets wrong: cgroups, kernel modules, limits, time.

The words are those of Kubernetes' kubelet, of containerd, of flannel and of iptables.
"""

from openshell_bootstrap.diagnosis.cause import Cause, line

_START = "Then `openshell gateway start --name {gateway}`."
_CHECK = "`openshell doctor check` looks at the host as a whole."

HOST: tuple[Cause, ...] = (
    Cause(
        name="cgroup-not-empty",
        line=line(
            r"cannot enter cgroupv2 .* it is in an invalid state"
            r"|openshell: the container's cgroup still holds processes"
        ),
        brief="The kubelet cannot use its cgroup: the root cgroup of {container} still holds "
        "processes",
        remedies=(
            "`openshell gateway restart --name {gateway}`; if it stays, report it with what "
            "`openshell doctor bundle --name {gateway}` saves.",
        ),
    ),
    Cause(
        name="cgroup-v1-refused",
        line=line(r"kubelet is configured to not run on a host using cgroup v1"),
        brief="The kubelet refuses to run on cgroup v1",
        remedies=("Take `fail-cgroupv1` out of your own `--k3s-arg`: the node sets it by itself.",),
    ),
    Cause(
        name="cgroup-controller",
        line=line(
            r"failed to find \w+ cgroup|pids cgroup controller not found"
            r"|cgroup controllers? .*(?:missing|not found)"
            r"|failed to initialize top level QOS containers"
        ),
        brief="The host lacks a cgroup controller that a kubelet needs",
        remedies=(
            "Turn the controllers cpu, cpuset, memory and pids on at boot (`cgroup_enable=memory` "
            "for memory) and start the host anew.",
            _CHECK,
        ),
    ),
    Cause(
        name="cgroup-read-only",
        line=line(r"sys/fs/cgroup.*(?:read-only file system|permission denied)"),
        brief="The node {node} may not write to its cgroup: its container is not privileged",
        remedies=(
            "Run the engine where it can run privileged containers: not rootless, and not in a "
            "container that restricts it.",
            _CHECK,
        ),
    ),
    Cause(
        name="overlay",
        line=line(
            r"\"?overlayfs\"? snapshotter cannot be enabled|failed to mount overlay"
            r"|overlay.*(?:not supported|no such device|invalid argument)"
        ),
        brief="The kernel or the disk of the engine's host cannot mount overlay file systems",
        remedies=(
            "`modprobe overlay` as root on the engine's host. " + _START,
            "If the engine's own disk cannot carry it (ZFS, an overlay itself): put the engine's "
            "data folder on ext4 or xfs.",
            "Or do without: `openshell gateway start --name {gateway} --k3s-arg=--snapshotter="
            "native`; images are unpacked again, data stays.",
        ),
    ),
    Cause(
        name="br-netfilter",
        line=line(
            r"bridge-nf-call-ip6?tables: no such file|br_netfilter.*(?:not found|missing|fail)"
        ),
        brief="The kernel of the engine's host has no br_netfilter: pods cannot reach services",
        remedies=("`modprobe br_netfilter` as root on the engine's host. " + _START,),
    ),
    Cause(
        name="vxlan",
        line=line(r"vxlan.*(?:operation not supported|not supported|failed)|unknown device type"),
        brief="The kernel of the engine's host has no vxlan, which k3s's network uses",
        remedies=(
            "`modprobe vxlan` as root on the engine's host. " + _START,
            "Or do without: `openshell gateway start --name {gateway} --k3s-arg="
            "--flannel-backend=host-gw`.",
        ),
    ),
    Cause(
        name="iptables",
        line=line(
            r"can't initialize iptables table|failed to initialize nft|table does not exist.*insmod"
            r"|iptables.*(?:permission denied|not supported)"
        ),
        brief="The kernel of the engine's host has no iptables for the node {node}",
        remedies=(
            "`modprobe ip_tables iptable_nat iptable_filter` (or `nf_tables`) as root on the "
            "engine's host. " + _START,
            _CHECK,
        ),
    ),
    Cause(
        name="inotify",
        line=line(r"too many open files|inotify_init|inotify.*(?:limit|no space)"),
        brief="The node {node} ran out of file handles or inotify instances",
        remedies=(
            "`sysctl -w fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288` as "
            "root on the engine's host. " + _START,
        ),
    ),
    Cause(
        name="no-default-route",
        line=line(r"no default routes? (?:within|found)|unable to select an IP|no default route\b"),
        brief="The node {node} has no default route, so it cannot choose its address",
        remedies=(
            "`docker network inspect {network}`: an internal network has none.",
            "`openshell gateway start --name {gateway}` makes the network anew if it is gone.",
        ),
    ),
    Cause(
        name="clock",
        line=line(r"certificate has expired or is not yet valid"),
        brief="A certificate is not valid at the time that the node {node} has: a clock is wrong, "
        "or the certificate ran out",
        remedies=(
            "Compare `date -u` here with `openshell gateway exec --name {gateway} -- date -u`, and "
            "set a wrong clock: `timedatectl set-ntp true`.",
            "If the clocks are right: `openshell gateway restart --name {gateway}` renews what is "
            "about to run out.",
        ),
    ),
    Cause(
        name="name-resolution",
        line=line(
            r"lookup (?P<host>[\w.-]+)(?: on \S+)?: (?:no such host|server misbehaving"
            r"|.*i/o timeout|temporary failure)"
        ),
        brief="The node {node} cannot resolve {host}",
        remedies=(
            "See whether the host itself can: `getent hosts {host}`.",
            "Where only containers cannot: give the engine name servers that they reach, `dns` in "
            "its daemon.json, or open the firewall for the network {network}.",
        ),
    ),
)
