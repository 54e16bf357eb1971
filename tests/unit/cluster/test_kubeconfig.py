import pytest
import yaml

from openshell_bootstrap.cluster.kubeconfig import (
    build_kubeconfig,
    entry_name,
    merge,
    remove,
    server_url,
)
from openshell_bootstrap.errors import ClusterError, ConfigError

NODE = b"""apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: QUJDRA==
    server: https://127.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
preferences: {}
users:
- name: default
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
"""

USERS = b"""# a comment
apiVersion: v1
kind: Config
clusters:
- name: work
  cluster:
    server: https://work.example
    insecure-skip-tls-verify: true
    later-field: {a: 0123, "b": 'yes'}
contexts:
- name: work
  context: {cluster: work, user: work, namespace: "0123", extensions: [{name: x, extension: null}]}
- name: other
  context: {cluster: work, user: other}
current-context: work
preferences: {}
users:
- name: work
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      env: null
- name: other
  user:
    auth-provider:
      name: oidc
      config: {expiry: 2026-01-02T03:04:05Z, token: 1e3, flag: on}
"""


def built(name: str = "t1", port: int = 16443) -> bytes:
    return build_kubeconfig(NODE, name=name, server=server_url("127.0.0.1", port))


def test_all_names_are_the_gateways_and_the_server_is_as_seen_from_outside():
    assert yaml.safe_load(built()) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "openshell-t1",
                "cluster": {
                    "certificate-authority-data": "QUJDRA==",
                    "server": "https://127.0.0.1:16443",
                },
            }
        ],
        "contexts": [
            {
                "name": "openshell-t1",
                "context": {"cluster": "openshell-t1", "user": "openshell-t1"},
            }
        ],
        "users": [
            {
                "name": "openshell-t1",
                "user": {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"},
            }
        ],
        "current-context": "openshell-t1",
    }


def test_it_is_the_same_bytes_every_time():
    assert built() == built()


@pytest.mark.parametrize(
    ("address", "port", "url"),
    [
        ("127.0.0.1", 16443, "https://127.0.0.1:16443"),
        ("::1", 6443, "https://[::1]:6443"),
        ("openshell-cluster-t1", 6443, "https://openshell-cluster-t1:6443"),
    ],
)
def test_the_servers_url(address, port, url):
    assert server_url(address, port) == url


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"clusters: []\nusers: []", b"clusters: [x]\nusers: [y]", b"\xff\xfe\xfd"],
)
def test_a_node_kubeconfig_that_cannot_be_read_is_an_error(broken):
    with pytest.raises(ClusterError, match="cannot be read"):
        build_kubeconfig(broken, name="t1", server="https://127.0.0.1:1")


@pytest.mark.parametrize("empty", [b"", b"\n", b"---\n", b"null\n", b"# nothing\n"])
def test_merge_into_nothing(empty):
    merged = yaml.safe_load(merge(empty, built(), name="t1", use=False))
    assert (merged["apiVersion"], merged["kind"]) == ("v1", "Config")
    assert [cluster["name"] for cluster in merged["clusters"]] == ["openshell-t1"]
    assert "current-context" not in merged


def test_merge_into_empty_lists():
    text = b"apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\nusers:\n"
    merged = yaml.safe_load(merge(text, built(), name="t1", use=True))
    for plural in ("clusters", "contexts", "users"):
        assert [entry["name"] for entry in merged[plural]] == ["openshell-t1"]
    assert merged["current-context"] == "openshell-t1"


def test_merge_keeps_every_foreign_entry_and_every_scalar_as_it_was_written():
    merged = merge(USERS, built(), name="t1", use=False)
    before = yaml.load(USERS, Loader=yaml.BaseLoader)
    after = yaml.load(merged, Loader=yaml.BaseLoader)
    for plural in ("clusters", "contexts", "users"):
        assert after[plural][: len(before[plural])] == before[plural]
        assert after[plural][-1]["name"] == "openshell-t1"
    assert after["current-context"] == "work"
    for scalar in (b"'yes'", b'"0123"', b"2026-01-02T03:04:05Z", b"1e3", b"flag: on", b": 0123"):
        assert scalar in merged


def test_merge_switches_the_context_only_when_asked():
    merged = yaml.safe_load(merge(USERS, built(), name="t1", use=True))
    assert merged["current-context"] == "openshell-t1"


def test_merge_replaces_its_own_entry_in_place():
    first = merge(USERS, built(), name="t1", use=False)
    second = yaml.safe_load(merge(first, built(port=2), name="t1", use=False))
    names = [cluster["name"] for cluster in second["clusters"]]
    assert names == ["work", "openshell-t1"]
    assert second["clusters"][1]["cluster"]["server"].endswith(":2")


def test_merge_twice_changes_nothing():
    once = merge(USERS, built(), name="t1", use=True)
    assert merge(once, built(), name="t1", use=True) == once


def test_what_is_merged_as_json_stays_json():
    text = b'{"apiVersion": "v1", "kind": "Config", "clusters": [], "x": {"y": [1, "1"]}}'
    merged = merge(text, built(), name="t1", use=False)
    assert yaml.safe_load(merged)["x"] == {"y": [1, "1"]}


def test_remove_takes_exactly_the_gateways_entries():
    two = merge(merge(USERS, built(), name="t1", use=False), built("t1-old"), name="t1-old", use=0)
    left = remove(two, name="t1")
    names = [entry["name"] for entry in yaml.safe_load(left)["users"]]
    assert names == ["work", "other", "openshell-t1-old"]
    assert b"openshell-t1\n" not in left


def test_remove_of_the_current_context_leaves_none():
    merged = merge(USERS, built(), name="t1", use=True)
    assert yaml.safe_load(remove(merged, name="t1"))["current-context"] == ""
    other = merge(USERS, built(), name="t1", use=False)
    assert yaml.safe_load(remove(other, name="t1"))["current-context"] == "work"


@pytest.mark.parametrize("text", [USERS, b"{}", b"clusters: null\n"])
def test_remove_of_nothing_returns_the_very_bytes(text):
    assert remove(text, name="t1") == text


@pytest.mark.timeout(30)  # the parser takes its time over 5000 brackets on a busy machine
@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"- a\n- b\n",
        b"just text",
        b"clusters: text\n",
        b"clusters: {a: b}\n",
        b"a: 1\n---\nb: 2\n",
        b"\x00",
        b"\xff\xfe\xfd",
        b"a: &a [*b]\n",
        b"[" * 5000,
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused(broken):
    with pytest.raises(ConfigError) as caught:
        merge(broken, built(), name="t1", use=False)
    assert caught.value.remedies


def test_merge_refuses_a_gateway_kubeconfig_of_another_name():
    with pytest.raises(ConfigError, match="no clusters entry"):
        merge(b"", built("t2"), name="t1", use=False)


def test_aliases_in_the_users_file_are_followed():
    text = b"""
x: &shared {server: https://a}
clusters:
- {name: a, cluster: *shared}
- {name: b, cluster: *shared}
"""
    merged = yaml.safe_load(merge(text, built(), name="t1", use=False))
    assert merged["clusters"][1] == {"name": "b", "cluster": {"server": "https://a"}}


def test_names_of_entries():
    assert entry_name("t1") == "openshell-t1"
