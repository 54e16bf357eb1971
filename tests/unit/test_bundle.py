"""The bundle: whole, in an order in which half of it cannot start, and told apart by its digest."""

import pytest

from openshell_bootstrap import bundle
from openshell_bootstrap.models import FileEntry


@pytest.fixture
def deploy(tmp_path, monkeypatch):
    """A deploy folder of our own; the shipped one is read anew afterwards."""
    docker, kube = tmp_path / "docker", tmp_path / "kube"
    for folder in (docker / "lib", docker / "source-node", kube):
        folder.mkdir(parents=True)
    (docker / "cluster-entrypoint.sh").write_text("entry\n")
    (docker / "cluster-healthcheck.sh").write_text("health\n")
    (docker / "lib" / "b.sh").write_text("b\n")
    (docker / "lib" / "a.sh").write_text("a\n")
    (docker / "source-node" / "x.sh").write_text("x\n")
    (kube / "class.yaml").write_text("kind: X\n")
    monkeypatch.setattr(bundle, "deploy_folder", lambda: tmp_path)
    bundle.shipped_files.cache_clear()
    yield tmp_path
    bundle.shipped_files.cache_clear()


def test_the_shipped_files_are_those_of_the_repository():
    deploy = bundle.deploy_folder()
    by_path = {file.path: file for file in bundle.shipped_files()}
    for folder, place in (("docker/lib", "lib"), ("kube", "manifests")):
        for path in (deploy / folder).iterdir():
            assert by_path.pop(f"/opt/openshell/{place}/{path.name}").content == path.read_bytes()
    entrypoint = (deploy / "docker/cluster-entrypoint.sh").read_bytes()
    assert by_path.pop(bundle.ENTRYPOINT) == FileEntry(bundle.ENTRYPOINT, entrypoint, 0o755)
    assert by_path.pop(bundle.HEALTH_CHECK).mode == 0o755
    assert by_path == {}


def test_the_entrypoint_comes_last_so_that_half_a_bundle_cannot_start(deploy):
    paths = [file.path.removeprefix("/opt/openshell/") for file in bundle.files(token=b"t")]
    assert paths == [
        "token",
        "lib/a.sh",
        "lib/b.sh",
        "manifests/class.yaml",
        "cluster-healthcheck.sh",
        "cluster-entrypoint.sh",
    ]


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({}, set()),
        ({"token": b"t"}, {bundle.TOKEN_FILE}),
        ({"registries": b""}, {bundle.REGISTRIES_FILE}),
        ({"token": b"t", "registries": b"r"}, {bundle.TOKEN_FILE, bundle.REGISTRIES_FILE}),
    ],
)
def test_secrets_are_there_only_if_given_and_for_root_alone(deploy, given, paths):
    extra = set(bundle.files(**given)) - set(bundle.shipped_files())
    assert {file.path for file in extra} == paths
    assert all(file.mode == 0o600 for file in extra)


@pytest.mark.parametrize(
    "change",
    [
        lambda deploy: (deploy / "docker/lib/a.sh").write_text("z\n"),
        lambda deploy: (deploy / "kube/class.yaml").rename(deploy / "kube/klass.yaml"),
        lambda deploy: (deploy / "docker/lib/c.sh").write_text(""),
    ],
    ids=["bytes", "name", "one more"],
)
def test_the_digest_follows_every_change(deploy, change):
    before = bundle.digest()
    assert bundle.digest() == before
    change(deploy)
    bundle.shipped_files.cache_clear()
    assert bundle.digest() != before


def test_the_digest_follows_modes_and_tells_borders_apart(monkeypatch):
    def digest_of(*files):
        monkeypatch.setattr(bundle, "shipped_files", lambda: files)
        return bundle.digest()

    digests = [
        digest_of(FileEntry("/a", b"x", 0o644)),
        digest_of(FileEntry("/a", b"x", 0o755)),
        digest_of(FileEntry("/a", b"", 0o644), FileEntry("/b", b"x", 0o644)),
        digest_of(FileEntry("/a", b"x", 0o644), FileEntry("/b", b"", 0o644)),
        digest_of(FileEntry("/a", None, 0o644)),
    ]
    assert len(set(digests)) == len(digests)


def test_an_installed_package_carries_its_own_deploy_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "__file__", str(tmp_path / "openshell_bootstrap" / "bundle.py"))
    inside = tmp_path / "openshell_bootstrap" / "deploy"
    assert bundle.deploy_folder() == tmp_path.parent / "deploy"
    inside.mkdir(parents=True)
    assert bundle.deploy_folder() == inside
