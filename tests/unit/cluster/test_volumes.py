"""Volumes and claims as they are read, the shapes of affinity, and what rebinding changes."""

import msgspec
import pytest

from openshell_bootstrap.cluster.kubectl import Kubectl
from openshell_bootstrap.cluster.nodes import HOSTNAME_LABEL, Node
from openshell_bootstrap.cluster.objects import Resource
from openshell_bootstrap.cluster.volumes import (
    NAME_FIELD,
    SELECTED_NODE,
    Affinity,
    build_rebound,
    is_below_data,
    observe_folders,
    parse_claims,
    parse_volumes,
    rebind_volumes,
)
from openshell_bootstrap.errors import ClusterError
from openshell_bootstrap.models import Completed
from tests.fakes import kube_objects as objects
from tests.fakes.kube import FakeKube
from tests.fakes.kube_objects import (
    affinity,
    hostname_in,
    name_field_in,
    requirement,
    term,
)

OWN = Node(name="own", uid="u", resource_version="1", hostname="own-label")
ZONE = "topology.kubernetes.io/zone"


def read(manifest):
    (volume,) = parse_volumes([Resource(manifest["kind"], msgspec.json.encode(manifest))])
    return volume


def host(operator: str, *values: str):
    return requirement(HOSTNAME_LABEL, operator, *values)


def fields(*requirements):
    return {"matchFields": list(requirements)}


PINNED = [
    pytest.param(hostname_in("a"), {"a"}, id="label"),
    pytest.param(hostname_in("a", "b"), {"a", "b"}, id="label-of-several"),
    pytest.param(name_field_in("a"), {"a"}, id="name-field"),
    pytest.param(affinity(term(host("In", "a")), term(host("In", "b"))), {"a", "b"}, id="terms"),
    pytest.param(
        affinity(term(host("In", "a")), fields(requirement(NAME_FIELD, "In", "b"))),
        {"a", "b"},
        id="label-or-name",
    ),
    pytest.param(
        affinity(term(requirement("kubernetes.io/arch", "In", "amd64"), host("In", "a"))),
        {"a"},
        id="label-and-more",
    ),
    pytest.param(
        affinity({**term(host("In", "a")), **fields(requirement(NAME_FIELD, "In", "a"))}),
        {"a"},
        id="label-and-name",
    ),
]

UNKNOWN = [
    pytest.param(affinity(term(host("NotIn", "a"))), {"a"}, id="not-in"),
    pytest.param(affinity(term(host("Exists"))), set(), id="exists"),
    pytest.param(affinity(term(host("In"))), set(), id="in-nothing"),
    pytest.param(affinity(term(host("In", "a"), host("In", "b"))), {"a", "b"}, id="disagree"),
    pytest.param(
        affinity(term(host("In", "a")), term(requirement(ZONE, "Exists"))), {"a"}, id="or"
    ),
    pytest.param(affinity(fields(requirement("metadata.uid", "In", "a"))), {"a"}, id="field"),
    pytest.param(affinity({}), set(), id="empty-term"),
    pytest.param(affinity(), set(), id="no-terms"),
    pytest.param(affinity({"matchExpressions": None}), set(), id="null"),
]

FREE = [
    pytest.param(None, id="none"),
    pytest.param({"required": None}, id="nothing-required"),
    pytest.param(affinity(term(requirement(ZONE, "In", "z1"))), id="zone"),
    pytest.param(affinity(term(requirement("topology.csi.example/node", "In", "a"))), id="csi"),
]


@pytest.mark.parametrize(("node_affinity", "names"), PINNED)
def test_an_affinity_that_comes_down_to_names(node_affinity, names):
    seen = read(objects.volume("pv", node_affinity=node_affinity)).affinity
    assert seen == Affinity("pinned", frozenset(names))


@pytest.mark.parametrize(("node_affinity", "names"), UNKNOWN)
def test_an_affinity_that_is_not_understood_still_tells_whom_it_mentions(node_affinity, names):
    seen = read(objects.volume("pv", node_affinity=node_affinity)).affinity
    assert seen == Affinity("unknown", frozenset(names))


@pytest.mark.parametrize("node_affinity", FREE)
def test_an_affinity_that_names_no_node(node_affinity):
    assert read(objects.volume("pv", node_affinity=node_affinity)).affinity == Affinity("free")


@pytest.mark.parametrize(("node_affinity", "_names"), PINNED)
def test_a_rebound_volume_is_pinned_to_the_node_and_nothing_else_changes(node_affinity, _names):
    manifest = objects.volume("pv", "a", node_affinity=node_affinity, claim_uid="c")
    manifest["metadata"].update(uid="u", resourceVersion="9", finalizers=["kubernetes.io/pv"])
    changed = msgspec.json.decode(build_rebound(read(manifest), OWN))
    again = read(changed).affinity
    assert again == Affinity("pinned", frozenset({"own-label"}))
    assert changed["metadata"]["annotations"][SELECTED_NODE] == "own"
    terms = changed["spec"].pop("nodeAffinity")["required"]["nodeSelectorTerms"]
    assert len(terms) == 1
    manifest["spec"].pop("nodeAffinity")
    manifest["metadata"]["annotations"][SELECTED_NODE] = "own"
    assert changed == manifest


def test_other_requirements_of_a_term_stay():
    arch = requirement("kubernetes.io/arch", "In", "amd64")
    manifest = objects.volume("pv", node_affinity=affinity(term(arch, host("In", "a"))))
    changed = msgspec.json.decode(build_rebound(read(manifest), OWN))
    (only,) = changed["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert only == term(arch, host("In", "own-label"))


@pytest.mark.parametrize("annotations", [None, {}, {"mine": "x"}])
def test_a_volume_of_another_maker_gets_no_annotation_of_the_provisioner(annotations):
    manifest = objects.volume("pv", "a")
    manifest["metadata"]["annotations"] = annotations
    changed = msgspec.json.decode(build_rebound(read(manifest), OWN))
    assert changed["metadata"]["annotations"] == annotations


@pytest.mark.parametrize("kind", ["local", "hostPath"])
def test_a_volume_that_is_a_folder(kind):
    seen = read(objects.volume("pv", "a", kind=kind, claim_uid="c", policy="Retain"))
    assert (seen.kind, seen.path) == (kind, f"{objects.STORAGE}/pv")
    assert (seen.claim, seen.claim_uid) == ("default/claim-pv", "c")
    assert seen.reclaim_policy == "Retain"
    assert not seen.is_terminating


def test_a_volume_that_is_none_and_is_being_deleted():
    manifest = objects.volume("pv", kind="csi")
    manifest["metadata"]["deletionTimestamp"] = objects.rfc3339(0)
    seen = read(manifest)
    assert (seen.kind, seen.path, seen.claim) == ("other", "", "")
    assert seen.is_terminating


def test_claims_as_they_are_read():
    ending = objects.claim("pv-2", uid="u2")
    ending["metadata"]["deletionTimestamp"] = objects.rfc3339(0)
    told = [objects.claim("pv-1", uid="u1"), ending, objects.volume("pv-1")]
    claims = parse_claims([Resource(each["kind"], msgspec.json.encode(each)) for each in told])
    assert [(str(each), each.uid, each.volume, each.is_terminating) for each in claims] == [
        ("default/claim-pv-1", "u1", "pv-1", False),
        ("default/claim-pv-2", "u2", "pv-2", True),
    ]


@pytest.mark.parametrize(
    ("path", "is_below"),
    [
        ("/var/lib/rancher/k3s/storage/x", True),
        ("/var/lib/rancher/k3s/storage/x/", True),
        ("/var/lib/rancher/k3s/storage/naïve name", True),
        ("/var/lib/rancher/k3s", False),
        ("/var/lib/rancher/k3s/", False),
        ("/var/lib/rancher/k3s/.", False),
        ("/var/lib/rancher/k3s/..", False),
        ("/var/lib/rancher/k3s/../other", False),
        ("/var/lib/rancher/k3s/storage//x", False),
        ("/var/lib/rancher/k3s-other/x", False),
        ("var/lib/rancher/k3s/x", False),
        ("/var/lib/rancher/k3s/a\nb", False),
        ("", False),
    ],
)
def test_what_lies_below_the_data_volume(path, is_below):
    assert is_below_data(path) is is_below


def test_folders_are_looked_at_in_one_command():
    kube = FakeKube(folders={"/a": "/a", "/link": "/b"})
    assert observe_folders(kube, ["/a", "/gone", "/link"]) == {
        "/a": "/a",
        "/gone": None,
        "/link": "/b",
    }
    assert len(kube.runs) == 1


@pytest.mark.parametrize(("status", "stdout"), [(1, b"/a\n"), (0, b""), (0, b"/a\n/b\n")])
def test_a_look_at_folders_that_cannot_be_read_is_an_error(status, stdout):
    class Node:
        def run(self, argv, *, stdin=b"", timeout_s=60):
            return Completed(tuple(argv), status, stdout, b"sh: not found")

    with pytest.raises(ClusterError, match="folders") as caught:
        observe_folders(Node(), ["/a"])
    assert caught.value.details == "sh: not found"


def test_volumes_are_rebound_in_one_command():
    kube = FakeKube()
    kube.add(objects.volume("pv-1", "a"), objects.volume("pv-2", "a"))
    kube_volumes = parse_volumes(Kubectl(kube).get_json("pv"))
    kube.runs.clear()
    kube.touch("PersistentVolume", "pv-2")
    outcomes = rebind_volumes(Kubectl(kube), kube_volumes, OWN)
    assert {name: outcome.kind for name, outcome in outcomes.items()} == {
        "pv-1": "done",
        "pv-2": "conflict",
    }
    assert len(kube.runs) == 1
