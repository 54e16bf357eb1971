"""The built wheel carries ``deploy/`` as it is, and nothing of it that only builds test nodes."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from openshell_bootstrap import bundle

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
SHIPPED = [
    DEPLOY / "docker" / "cluster-entrypoint.sh",
    DEPLOY / "docker" / "cluster-healthcheck.sh",
    *sorted((DEPLOY / "docker" / "lib").iterdir()),
    *sorted((DEPLOY / "kube").iterdir()),
]


def run(*argv: str | Path) -> str:
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel, installed without its dependencies into an environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel)
    return python


@pytest.fixture(scope="module")
def package(installed):
    code = "import openshell_bootstrap as package; print(package.__path__[0])"
    return Path(run(installed, "-I", "-c", code).strip())


def test_the_package_is_the_installed_one(package):
    assert not package.is_relative_to(REPOSITORY)


def test_every_shipped_file_is_there_byte_by_byte(package):
    inside = package / "deploy"
    found = {path.relative_to(inside) for path in inside.rglob("*") if path.is_file()}
    assert found == {path.relative_to(DEPLOY) for path in SHIPPED}
    for path in SHIPPED:
        copy = inside / path.relative_to(DEPLOY)
        assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_can_be_run_can_be_run_there(package, path):
    copy = package / "deploy" / path.relative_to(DEPLOY)
    assert copy.stat().st_mode & 0o111 == path.stat().st_mode & 0o111


def test_the_entrypoint_can_be_run():
    assert SHIPPED[0].stat().st_mode & 0o111 == 0o111


def test_the_bundle_is_read_from_the_package_and_is_the_same_one(installed, package):
    code = "from openshell_bootstrap import bundle; print(bundle.deploy_folder(), bundle.digest())"
    folder, digest = run(installed, "-I", "-c", code).split()
    assert Path(folder) == package / "deploy"
    assert digest == bundle.digest()


def test_no_recipe_of_a_test_node_is_in_it(package):
    assert not list(package.rglob("*source-node*"))


def test_the_types_are_told(package):
    assert (package / "py.typed").is_file()


def test_the_command_is_there(installed):
    assert (installed.parent / "openshell").is_file()
