"""Claims in trouble, and what their folders hold."""

import pytest

from openshell_bootstrap.cluster.nodes import Node, Pod
from openshell_bootstrap.cluster.volumes import Affinity, Claim, Volume
from openshell_bootstrap.gateway.inside.claims import Storage, describe_claims, show_bytes
from openshell_bootstrap.models import DATA_PATH

OWN = Node(name="n", uid="1", resource_version="1", hostname="n.example")
GIB = 1 << 30


def claim(name="c", volume="pvc-1", **changes):
    given = {"namespace": "default", "name": name, "uid": f"u-{name}", "requested": GIB}
    return Claim(volume=volume, **{**given, **changes})


def volume(name="pvc-1", *, pinned=("n",), shape="pinned", uid="u-c", path=None):
    return Volume(
        name=name,
        uid="v",
        kind="local",
        path=f"{DATA_PATH}/storage/{name}" if path is None else path,
        affinity=Affinity(shape, frozenset(pinned)),
        claim="default/c",
        claim_uid=uid,
    )


def told(*, used=None, claims=None, volumes=None, pods=(), own=OWN, mountpoint="/docker/v/_data"):
    storage = Storage(
        claims=(claim(),) if claims is None else claims,
        volumes=(volume(),) if volumes is None else volumes,
        pods=pods,
        own=own,
        used=used,
    )
    return describe_claims(storage, name="t1", mountpoint=mountpoint)


def test_a_claim_whose_volume_is_elsewhere_is_told_with_all_that_is_needed():
    """R22: the sandbox, its claim, the missing node and the next step."""
    pods = (
        Pod(namespace="default", name="s-0", uid="1", node_name="", has_controller=True,
            claims=("c", "x")),
        Pod(namespace="other", name="s-0", uid="2", node_name="", has_controller=True,
            claims=("c",)),
        Pod(namespace="default", name="no", uid="3", node_name="", has_controller=True),
    )  # fmt: skip
    (one,) = told(volumes=(volume(pinned=("old", "older")),), pods=pods)
    assert (one.claim, one.volume, one.node) == ("default/c", "pvc-1", "old, older")
    assert one.pods == ("default/s-0",)
    assert one.problem == "its volume pvc-1 is on node old, older, which is not in the cluster"
    assert one.next_step == "`openshell gateway start --name t1` rebinds it; the data stays"
    assert (one.folder, one.reclaim_policy) == ("/docker/v/_data/storage/pvc-1", "Delete")
    assert (one.requested_bytes, one.used_bytes) == (GIB, None)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"volumes": (volume(pinned=("n.example",)),)},
        {"volumes": (volume(pinned=("old", "n")),)},
        {"volumes": (volume(pinned=(), shape="free"),)},
        {"volumes": (volume(pinned=("old",), shape="unknown"),)},
        {"volumes": (volume(pinned=("old",), uid="another claim's"),)},
        {"volumes": (volume(pinned=("old",)),), "own": None},
        {"volumes": (volume(pinned=("old",)),), "claims": ()},
        {"volumes": (), "claims": (claim(), claim("d", ""))},
    ],
)
def test_no_other_claim_is_called_stranded(changes):
    assert told(**changes) == ()


@pytest.mark.parametrize(
    ("used", "problem"),
    [
        (GIB, ""),
        (GIB + 1024, "it holds 1 GiB and asked for 1 GiB"),
        (3 * GIB, "it holds 3 GiB and asked for 1 GiB"),
        (0, ""),
        (None, ""),
    ],
)
def test_a_claim_that_holds_more_than_it_asked_for_is_told(used, problem):
    """R29: a size is a wish, and nothing holds a pod to it."""
    (one,) = told(used={f"{DATA_PATH}/storage/pvc-1": used})
    assert (one.used_bytes, one.problem) == (used, problem)
    assert bool(one.next_step) is bool(problem)
    assert "delete" not in one.next_step


def test_where_somebody_measured_all_claims_are_told_in_order():
    claims = (claim("z"), claim("a", "pvc-2"), claim("m", ""))
    found = told(used={}, claims=claims, volumes=(volume(),))
    assert [one.claim for one in found] == ["default/a", "default/m", "default/z"]


def test_a_size_that_cannot_be_read_is_nothing_to_exceed():
    (one,) = told(used={f"{DATA_PATH}/storage/pvc-1": 5}, claims=(claim(requested=0),))
    assert one.problem == ""


@pytest.mark.parametrize("path", ["", "/elsewhere/x", f"{DATA_PATH}/../x", f"{DATA_PATH}"])
def test_a_folder_that_is_not_on_the_volume_has_no_place_there(path):
    (one,) = told(used={}, volumes=(volume(path=path),))
    assert one.folder == ""


def test_where_the_engine_tells_no_place_of_the_volume_no_folder_is_told():
    (one,) = told(used={}, mountpoint="")
    assert one.folder == ""


def test_folders_are_those_behind_claims_and_can_be_written_in_a_line():
    volumes = (volume(), volume("free"), volume("pvc-2", path="/a\nb"), volume("pvc-3", path=""))
    claims = (claim(), claim("d"), claim("e", "pvc-2"), claim("f", "pvc-3"))
    storage = Storage(claims=claims, volumes=volumes)
    assert storage.folders == (f"{DATA_PATH}/storage/pvc-1",)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (3 * GIB, "3 GiB"),
        (5000 << 40, "5000 TiB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit_that_fits(number, text):
    assert show_bytes(number) == text
