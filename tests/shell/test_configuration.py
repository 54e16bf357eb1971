"""Registries, manifests and /run as k3s finds them."""

from pathlib import Path

import pytest

from tests.shell.conftest import Node


@pytest.fixture
def manifests(node: Node) -> Path:
    return node.data / "server/manifests"


def ship(node: Node, **files: str) -> None:
    folder = node.bundle / "manifests"
    if folder.exists():
        for old in folder.iterdir():
            old.unlink()
    for name, content in files.items():
        node.write(f"opt/openshell/manifests/{name}.yaml", content)


def test_manifests_are_put_in_place_replaced_and_pruned(node: Node, manifests: Path) -> None:
    """R27, R28."""
    ship(node, one="1", two="2")
    node.answer("install_manifests")
    assert (manifests / "one.yaml").read_text() == "1"
    assert (manifests / "one.yaml").stat().st_mode & 0o777 == 0o600
    assert manifests.stat().st_mode & 0o777 == 0o700
    ship(node, two="new", three="3")
    node.answer("install_manifests")
    assert {p.name: p.read_text() for p in manifests.iterdir()} == {
        "two.yaml": "new", "three.yaml": "3",
    }  # fmt: skip
    ship(node)
    node.answer("install_manifests")
    assert list(manifests.iterdir()) == []


def test_files_that_are_not_ours_are_never_touched(node: Node, manifests: Path) -> None:
    mine = node.write("var/lib/rancher/k3s/server/manifests/mine.yaml", "mine")
    taken = node.write("var/lib/rancher/k3s/server/manifests/taken.yaml", "mine too")
    ship(node, taken="ours")
    assert (
        "manifest taken.yaml on the data volume is not ours"
        in node.call("install_manifests").stderr
    )
    ship(node)
    node.answer("install_manifests")
    assert (mine.read_text(), taken.read_text()) == ("mine", "mine too")
    assert sorted(p.name for p in manifests.iterdir()) == ["mine.yaml", "taken.yaml"]


@pytest.mark.parametrize("step", ["cp", "chmod", "mv"])
def test_cut_short_a_file_of_ours_stays_ours(node: Node, manifests: Path, step: str) -> None:
    ship(node, one="1", two="2")
    node.call(f'{step}() {{ command {step} "$@"; kill -9 $$; }}; install_manifests')
    ship(node, two="new")
    node.answer("install_manifests")
    assert [p.name for p in manifests.iterdir()] == ["two.yaml"]
    assert (manifests / "two.yaml").read_text() == "new"


def test_a_start_with_the_same_manifests_writes_nothing(node: Node, manifests: Path) -> None:
    ship(node, one="1", two="2")
    node.answer("install_manifests")
    before = {
        path: path.stat() for path in [*manifests.iterdir(), node.data / "openshell/manifests"]
    }
    no_writes = 'cp() { exit 1; }; mv() { exit 1; }; printf() { exit 1; }; rm() { [ "$1" = -f ]; }'
    node.answer(f"{no_writes}; install_manifests")
    for path, stat in before.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)


def test_what_a_life_cut_short_left_half_written_goes(node: Node) -> None:
    ship(node, one="1")
    node.answer("install_manifests")
    for name in ("manifest.new", "manifests.new"):
        node.write(f"var/lib/rancher/k3s/openshell/{name}", "half")
    node.answer("install_manifests")
    assert [path.name for path in (node.data / "openshell").iterdir()] == ["manifests"]


def test_registries_come_and_go_with_the_bundle(node: Node) -> None:
    installed = node.root / "etc/rancher/k3s/registries.yaml"
    shipped = node.write("opt/openshell/registries.yaml", "mirrors: {}\n")
    node.answer("install_registries; install_registries")
    assert installed.read_text() == "mirrors: {}\n"
    shipped.unlink()
    node.answer("install_registries; install_registries")
    assert not installed.is_symlink()


def test_the_user_s_own_registries_stay(node: Node) -> None:
    own = node.write("etc/rancher/k3s/registries.yaml", "own")
    node.answer("install_registries")
    node.write("opt/openshell/registries.yaml", "ours")
    assert "is not ours: it is kept" in node.call("install_registries").stderr
    assert own.read_text() == "own"


def test_the_last_life_s_sockets_and_tasks_are_gone(node: Node) -> None:
    for path in ("run/k3s/containerd/a/b", "run/containerd/s/c", "run/other"):
        node.write(path, "")
    node.answer("clear_runtime_state; clear_runtime_state")
    assert sorted(p.name for p in (node.root / "run").iterdir()) == ["k3s", "other"]
    assert list((node.root / "run/k3s").iterdir()) == []
