"""What k3s, its parts and the engine really say, and the cause that it is a sign of."""

SIGNS = [
    ("openshell: refused: volume-locked: another node runs", "volume-locked"),
    ("openshell: refused: token-differs: the given token", "token-differs"),
    ("openshell: refused: token-files-lost: server/token", "token-files-lost"),
    ("openshell: refused: store-damaged: /x/state.db is no SQLite database", "store-damaged"),
    ("openshell: refused: store-lost: /x/server/db does not", "store-lost"),
    ("openshell: refused: something-new: whatever", "refused"),
    (
        'time="2026-01-01T00:00:00Z" level=fatal msg="starting kubernetes: preparing server: '
        "failed to bootstrap cluster data: bootstrap data already found and encrypted with "
        'different token"',
        "datastore-of-another-token",
    ),
    (
        "/var/lib/rancher/k3s/server/tls/client-ca.crt newer than datastore and could cause a "
        "cluster outage. Remove the file(s) from disk and restart to be recreated from datastore.",
        "newer-than-datastore",
    ),
    ("token CA hash does not match the Cluster CA certificate hash: a != b", "authority-differs"),
    (
        "Waiting to retrieve agent configuration; server is not ready: Node password rejected, "
        "duplicate hostname or contents of '/etc/rancher/node/password' may not match server "
        "node-passwd entry, try enabling a unique node name with the --with-node-id flag",
        "node-password-rejected",
    ),
    (
        "Node/openshell-g1: NodePasswordValidationFailed: Deferred node password secret "
        "validation failed: unable to verify hash for node: hash does not match",
        "node-password-differs",
    ),
    ("kine: database disk image is malformed", "store-damaged"),
    ("creating storage endpoint: building kine: file is not a database", "store-damaged"),
    ("write /var/lib/x: no space left on device", "disk-full"),
    ("kine: database or disk is full", "disk-full"),
    ("kine: disk I/O error", "disk-failing"),
    ("attempt to write a readonly database", "disk-read-only"),
    ("open /var/lib/rancher/k3s/server/token: read-only file system", "disk-read-only"),
    ("panic: page 43 already freed", "image-store-damaged"),
    ('level=error msg="error in txn" error="database is locked"', "database-locked"),
    (
        "driver failed programming external connectivity on endpoint openshell-cluster-g1 (ab): "
        "Bind for 127.0.0.1:27761 failed: port is already allocated",
        "port-taken",
    ),
    (
        "Error starting userland proxy: listen tcp4 127.0.0.1:27761: bind: address already in use",
        "port-taken",
    ),
    ("listen tcp :6443: bind: address already in use", "port-taken"),
    (
        "could not find an available, non-overlapping IPv4 address pool among the defaults to "
        "assign to the network",
        "no-address-pool",
    ),
    ("all predefined address pools have been fully subnetted", "no-address-pool"),
    ("network 2f1c77 not found", "network-gone"),
    (
        "OCI runtime create failed: runc create failed: unable to start container process: unable "
        "to apply caps: operation not permitted: unknown",
        "capabilities",
    ),
    (
        "AppArmor enabled on system but the docker-default profile could not be loaded",
        "apparmor",
    ),
    ("exec /opt/openshell/cluster-entrypoint.sh: exec format error", "other-architecture"),
    (
        'exec: "/opt/openshell/cluster-entrypoint.sh": stat /opt/x: no such file or directory',
        "not-a-node-image",
    ),
    ("runtime: failed to create new OS thread (have 9 already; errno=11)", "threads"),
    ("Memory cgroup out of memory: Killed process 12 (k3s)", "memory"),
    ('Error: invalid argument "no" for "--feature-gates" flag: missing bool value', "k3s-argument"),
    ("Error: unknown flag: --nope", "k3s-argument"),
    ("flag provided but not defined: -nope", "k3s-argument"),
    (
        'Failed to start ContainerManager: cannot enter cgroupv2 "/sys/fs/cgroup/kubepods" with '
        "domain controllers -- it is in an invalid state",
        "cgroup-not-empty",
    ),
    ("openshell: the container's cgroup still holds processes: 1 7", "cgroup-not-empty"),
    ("kubelet is configured to not run on a host using cgroup v1", "cgroup-v1-refused"),
    ('level=fatal msg="failed to find cpuset cgroup (v2)"', "cgroup-controller"),
    ("failed to find memory cgroup, you may need to add cgroup_memory=1", "cgroup-controller"),
    ("pids cgroup controller not found", "cgroup-controller"),
    ("mkdir /sys/fs/cgroup/memory/kubepods: read-only file system", "cgroup-read-only"),
    (
        '"overlayfs" snapshotter cannot be enabled for "/var/lib/rancher/k3s/agent/containerd", '
        'try using "fuse-overlayfs" or "native": failed to mount overlay: invalid argument',
        "overlay",
    ),
    (
        "Failed to set sysctl: open /proc/sys/net/bridge/bridge-nf-call-iptables: no such file or "
        "directory",
        "br-netfilter",
    ),
    ("flannel exited: failed to create vxlan interface: operation not supported", "vxlan"),
    ("iptables v1.8.8 (legacy): can't initialize iptables table `nat'", "iptables"),
    ("inotify_init: too many open files", "inotify"),
    ("openshell: no default route within 30 s: is the network internal", "no-default-route"),
    ("unable to select an IP from default routes.", "no-default-route"),
    (
        "x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is "
        "before 2026-01-01T00:00:00Z",
        "clock",
    ),
    (
        'Failed to pull image "rancher/mirrored-pause:3.6": toomanyrequests: You have reached your '
        "pull rate limit",
        "registry-limit",
    ),
    (
        'failed to pull image "r.example/x:1": x509: certificate signed by unknown authority',
        "registry-untrusted",
    ),
    ('failed to pull and unpack image "r.example/x:1": 401 unauthorized', "registry-denied"),
    (
        "dial tcp: lookup registry.example on 127.0.0.11:53: server misbehaving",
        "name-resolution",
    ),
    (
        "kube-system/coredns-1: coredns: ImagePullBackOff: Back-off pulling image "
        '"rancher/mirrored-coredns-coredns:1.14.2"',
        "image-pull",
    ),
    ("default/s1: Evicted: The node was low on resource: ephemeral-storage.", "evicted"),
    ("Node openshell-g1 status is now: NodeHasDiskPressure", "evicted"),
    (
        "Pod/default/s1: FailedScheduling: 0/1 nodes are available: 1 node(s) had volume node "
        "affinity conflict.",
        "volume-elsewhere",
    ),
    (
        "Pod/default/s1: FailedScheduling: 0/1 nodes are available: 1 Insufficient memory.",
        "no-room",
    ),
    (
        "Pod/kube-system/coredns-1: FailedCreatePodSandBox: Failed to create pod sandbox: rpc "
        'error: code = Unknown desc = failed to setup network for sandbox "ab": plugin type='
        '"flannel" failed (add)',
        "sandbox-failed",
    ),
    ("tls: failed to verify certificate: x509: certificate signed by unknown authority",
     "authority-unknown"),
]  # fmt: skip


ENDINGS = [
    (75, False, "volume-locked"),
    (64, False, "no-route-end"),
    (70, False, "k3s-keeps-ending"),
    (71, False, "cgroup-end"),
    (78, False, "refused-end"),
    (127, False, "not-a-node-image"),
    (137, True, "memory"),
    (137, False, "killed"),
]


SPECIFIC_FIRST = [
    ("openshell: refused: volume-locked: x", "no space left on device"),
    ("openshell: refused: store-damaged: x", "openshell: refused: something-new: x"),
    ("kine: database or disk is full", "database is locked"),
    ("kine: database disk image is malformed", "database is locked"),
    (
        'failed to pull image "r.example/x:1": x509: certificate signed by unknown authority',
        "x509: certificate signed by unknown authority",
    ),
    (
        'Failed to pull image "a/b:1": toomanyrequests',
        'ImagePullBackOff: Back-off pulling image "a/b:1"',
    ),
    (
        "lookup registry.example: no such host",
        'ErrImagePull: failed to pull image "registry.example/b:1"',
    ),
]
