"""A node that runs: what its users, and scripts inside it, rely on."""

import http.client
import json
import re
import socket
import ssl
from typing import Any

from tests.integration.node.nodes import DATA, Node, claim, pod
from tests.until import until

NAME = "shared-node"
MANIFESTS = f"{DATA}/server/manifests"


def test_listens_before_it_is_ready_and_asks_for_credentials(node: Node) -> None:
    status = until(lambda: _status(node, "/readyz"), "something answers on 6443")
    assert status == 401
    node.await_ready(NAME)
    assert _status(node, "/readyz") == 401
    assert node.kubectl("get", "--raw=/readyz") == "ok"


def test_tells_its_progress_in_the_words_of_k3s(node: Node) -> None:
    node.await_ready(NAME)
    log = node.log()
    lines = [
        "Starting k3s v1.",
        "Kube API server is now running",
        "Wrote kubeconfig /etc/rancher/k3s/k3s.yaml",
        "Node token is available at /var/lib/rancher/k3s/server/token",
        "k3s is up and running",
    ]
    places = [log.find(line) for line in lines]
    assert -1 not in places
    assert places == sorted(places)


def test_node_is_named_addressed_and_schedulable(node: Node) -> None:
    seen = node.await_ready(NAME)
    assert seen["metadata"]["labels"]["kubernetes.io/hostname"] == NAME
    assert seen["metadata"]["finalizers"] == ["wrangler.cattle.io/node"]
    assert seen["spec"]["providerID"] == f"k3s://{NAME}"
    version = seen["status"]["nodeInfo"]["kubeletVersion"]
    assert re.fullmatch(r"v1\.\d+\.\d+\+k3s1", version)
    assert version in node.kubectl("version")
    address = _address(node)
    assert {"type": "InternalIP", "address": address} in seen["status"]["addresses"]


def test_shows_its_arguments_without_the_token(node: Node) -> None:
    annotations = node.await_ready(NAME)["metadata"]["annotations"]
    assert '"--token","********"' in annotations["k3s.io/node-args"]
    assert "only-for-tests" not in str(annotations)


def test_kubeconfig_is_private_and_local(node: Node) -> None:
    node.await_ready(NAME)
    text = node.sh("cat /etc/rancher/k3s/k3s.yaml")
    assert node.sh("stat -c %a /etc/rancher/k3s/k3s.yaml").strip() == "600"
    assert "server: https://127.0.0.1:6443" in text
    assert "current-context: default" in text


def test_serving_certificate_covers_what_was_asked(node: Node) -> None:
    node.await_ready(NAME)
    authority = node.sh(f"cat {DATA}/server/tls/server-ca.crt")
    context = ssl.create_default_context(cadata=authority)
    for host in ("127.0.0.1", "localhost", "example.test", NAME, _address(node), "10.43.0.1"):
        port = _port(node)
        with (
            socket.create_connection(("127.0.0.1", port)) as raw,
            context.wrap_socket(raw, server_hostname=host),
        ):
            pass


def test_files_lie_where_k3s_has_them(node: Node) -> None:
    node.await_ready(NAME)
    for path in (
        "server/db/state.db",
        "server/token",
        "server/node-token",
        "server/cred/passwd",
        "server/tls/client-ca.key",
        "server/tls/request-header-ca.crt",
        "server/tls/service.key",
        "server/manifests/coredns.yaml",
        "agent/containerd/containerd.log",
        "agent/etc/kubelet.conf.d/00-k3s-defaults.conf",
        "agent/images",
        "storage",
    ):
        node.sh(f"[ -e {DATA}/{path} ]")
    assert re.fullmatch(
        r"K10[0-9a-f]{64}::server:only-for-tests\n", node.sh(f"cat {DATA}/server/token")
    )


def test_password_hash_is_kept_and_owned_by_the_node(node: Node) -> None:
    seen = node.await_ready(NAME)
    assert re.fullmatch(r"[0-9a-f]{32}\n", node.sh("cat /etc/rancher/node/password"))
    secret = f"{NAME}.node-password.k3s"
    until(lambda: node.can("get", "secret", "-n", "kube-system", secret), secret)
    owner = node.get("secret", "-n", "kube-system", secret)["metadata"]["ownerReferences"][0]
    assert owner["uid"] == seen["metadata"]["uid"]


def test_pods_get_a_claim_names_and_services(node: Node) -> None:
    """The real provisioner, CoreDNS and kube-proxy at work in one pod."""
    node.await_ready(NAME)
    script = (
        "until nslookup kubernetes.default.svc.cluster.local >/work/names; do sleep 1; done; "
        # Not -T: it crashes Debian's busybox.
        "until timeout 2 wget -O /work/service http://10.43.0.10:9153/metrics; do sleep 1; done; "
        "touch /work/done; sleep 600"
    )
    node.apply(claim("work"), pod("probe", script, claim_name="work"))
    volume = until(lambda: _volume(node), "the claim is bound")
    folder = f"{DATA}/storage/{volume['metadata']['name']}_default_work"
    assert volume["spec"]["local"]["path"] == folder
    assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}
            ]
        }
    ]
    assert volume["metadata"]["annotations"]["local.path.provisioner/selected-node"] == NAME
    node.sh(f"timeout 60 sh -c 'until [ -e {folder}/done ]; do sleep 0.2; done'")
    assert node.sh(f"stat -c %a {folder}").strip() == "777"
    assert "10.43.0.1" in node.sh(f"cat {folder}/names")
    node.kubectl("delete", "pod/probe", "pvc/work", "--wait=false")
    until(lambda: node.sh(f"ls {DATA}/storage") == "", "the volume's folder is removed")


def test_manifests_are_applied_each_by_itself(node: Node) -> None:
    node.await_ready(NAME)
    node.put(
        MANIFESTS,
        {
            "broken.yaml": "kind: [",
            "skipped.yaml": _config_map("skipped"),
            "skipped.yaml.skip": "",
            "whole.yaml": _config_map("first") + "---\n" + _config_map("second"),
        },
    )
    until(lambda: node.try_kubectl("get", "configmap", "first", "second"), "whole.yaml")
    assert node.try_kubectl("get", "configmap", "skipped") is None
    assert "failed to process /var/lib/rancher/k3s/server/manifests/broken.yaml" in node.log()
    node.sh(f"rm {MANIFESTS}/whole.yaml {MANIFESTS}/broken.yaml {MANIFESTS}/skipped.*")
    _await_pass(node, "removed")
    assert node.try_kubectl("get", "configmap", "first", "second"), "a removed file's objects stay"


def test_what_leaves_a_manifest_is_deleted_and_nothing_else(node: Node) -> None:
    node.await_ready(NAME)
    node.put(MANIFESTS, {"pruned.yaml": _config_map("kept") + "---\n" + _config_map("leaver")})
    until(lambda: node.can("get", "configmap", "kept", "leaver"), "pruned.yaml")
    node.kubectl("create", "configmap", "by-hand")
    before = node.get("configmap", "kept")["metadata"]["uid"]
    checksum = _addon(node, "pruned")["checksum"]
    node.put(MANIFESTS, {"pruned.yaml": _config_map("kept", "changed")})
    until(lambda: not node.can("get", "configmap", "leaver"), "what left the file is deleted")
    kept = until(lambda: _with_value(node, "kept", "changed"), "the change")
    assert kept["metadata"]["uid"] == before
    assert node.can("get", "configmap", "by-hand")
    until(
        lambda: _addon(node, "pruned")["checksum"] != checksum, "the Addon tells the new checksum"
    )
    node.sh(f"rm {MANIFESTS}/pruned.yaml")


def test_each_manifest_has_an_addon_with_its_events(node: Node) -> None:
    node.await_ready(NAME)
    path = f"{MANIFESTS}/coredns.yaml"
    until(lambda: _addon(node, "coredns")["checksum"], "coredns is applied")
    told = _addon(node, "coredns")
    assert told == {"source": path, "checksum": node.sh(f"sha256sum {path}").split()[0]}
    events = node.get("events", "-n", "kube-system")["items"]
    reasons = {event["reason"] for event in events if event["involvedObject"]["name"] == "coredns"}
    assert reasons >= {"ApplyingManifest", "AppliedManifest"}
    labels = node.get("deployment", "-n", "kube-system", "coredns")["metadata"]["labels"]
    # As on the objects of real k3s clusters.
    assert labels["objectset.rio.cattle.io/hash"] == "bce283298811743a0386ab510f2f67ef74240c57"


def test_first_process_reaps(node: Node) -> None:
    node.await_ready(NAME)
    node.sh("for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; sleep 1")
    states = node.sh("cat /proc/[0-9]*/stat 2>/dev/null || true").splitlines()
    assert [line for line in states if line.rpartition(")")[2].split()[0] == "Z"] == []


def test_ctr_speaks_to_the_node_and_finds_pinned_images(node: Node) -> None:
    node.await_ready(NAME)
    listed = node.sh("ctr images list -q")
    for name in ("pause:1", "sandbox:latest", "busybox:1"):
        assert f"docker.io/openshell/{name}" in listed
    assert "io.cri-containerd.pinned=pinned" in node.sh("k3s ctr images list name~=sandbox")


def test_foreign_node_stays_until_it_is_deleted(node: Node) -> None:
    """Nothing in k3s removes a node by itself; its finalizer does not hold a deletion up."""
    node.await_ready(NAME)
    node.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "foreign"}})
    until(lambda: node.get("node", "foreign")["metadata"].get("finalizers"), "k3s's finalizer")
    node.kubectl("delete", "node", "foreign", "--timeout=20s")
    assert node.try_kubectl("get", "node", "foreign") is None


def _addon(node: Node, name: str) -> dict[str, Any]:
    told = node.try_kubectl("get", "addon", "-n", "kube-system", name, "-o", "json")
    return json.loads(told)["spec"] if told else {"source": None, "checksum": None}


def _with_value(node: Node, name: str, value: str) -> dict[str, Any] | None:
    found = node.get("configmap", name)
    return found if found["data"] == {"value": value} else None


def _await_pass(node: Node, name: str) -> None:
    """The folder was walked since: a file that is put there now is applied."""
    node.put(MANIFESTS, {f"{name}.yaml": _config_map(name)})
    until(lambda: node.can("get", "configmap", name), f"{name}.yaml")
    node.sh(f"rm {MANIFESTS}/{name}.yaml")


def _config_map(name: str, value: str = "first") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n"


def _volume(node: Node) -> dict[str, Any] | None:
    bound = [one for one in node.get("pv")["items"] if one["status"]["phase"] == "Bound"]
    return bound[0] if bound else None


def _port(node: Node) -> int:
    node.container.reload()
    return int(node.container.attrs["NetworkSettings"]["Ports"]["6443/tcp"][0]["HostPort"])


def _address(node: Node) -> str:
    node.container.reload()
    networks = node.container.attrs["NetworkSettings"]["Networks"]
    return str(next(iter(networks.values()))["IPAddress"])


def _status(node: Node, path: str) -> int | None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", _port(node), timeout=5, context=context)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
