"""The Go programs of the image. Go's own caches make an unchanged program cost a second or two."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from node_image.recipe import DEFAULT_KUBERNETES, SOURCES, Recipe, required_version
from node_image.shell import run

_KUBERNETES_VERSION = "k8s.io/component-base/version"
_CONTAINERD_VERSION = "github.com/containerd/containerd/v2/version"


@dataclass(frozen=True)
class Program:
    """One binary: the module folder it is built in, its package, and what is stamped into it."""

    name: str
    folder: str
    package: str
    stamps: tuple[str, ...] = ()
    cgo: bool = False
    module_file: Path | None = None


def programs(recipe: Recipe, digest: str) -> list[Program]:
    """Every Go program of the image."""
    kubernetes = _kubernetes_stamps(recipe, digest)
    module = None if recipe.kubernetes == DEFAULT_KUBERNETES else recipe.module_file
    containerd = "github.com/containerd/containerd/v2"
    runtime = (f"{_CONTAINERD_VERSION}.Version=v{required_version('containerd', containerd)}",)
    return [
        Program("k3s", "k3s", "./cmd/k3s", kubernetes, module_file=module),
        Program("kube", "k3s", "./cmd/kube", kubernetes, module_file=module),
        Program("sandbox-controller", "k3s", "./cmd/sandbox-controller", module_file=module),
        Program("kine", "kine", "github.com/k3s-io/kine", cgo=True),
        *(
            Program(name, "containerd", f"{containerd}/cmd/{name}", runtime)
            for name in ("containerd", "containerd-shim-runc-v2", "ctr")
        ),
        Program("coredns", "addons", "github.com/coredns/coredns"),
        Program("local-path-provisioner", "addons", "github.com/rancher/local-path-provisioner"),
    ]


def _kubernetes_stamps(recipe: Recipe, digest: str) -> tuple[str, ...]:
    major, minor, *_ = recipe.kubernetes_version.split(".")
    # A date that is the recipe's own: the day would make every day's build another one.
    built = datetime.fromtimestamp(0, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = {
        "gitVersion": recipe.k3s_version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": digest[:40],
        "gitTreeState": "clean",
        "buildDate": built,
    }
    return tuple(f"{_KUBERNETES_VERSION}.{key}={value}" for key, value in values.items())


def build(program: Program, target: Path) -> None:
    """Build one program to `target`."""
    flags = " ".join(["-s", "-w", *(f"-X {stamp}" for stamp in program.stamps)])
    argv = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(target)]
    if program.module_file:
        argv.append(f"-modfile={program.module_file}")
    run(
        [*argv, program.package],
        folder=SOURCES / program.folder,
        environment={"CGO_ENABLED": "1" if program.cgo else "0", "GOFLAGS": "-mod=readonly"},
    )


def build_pause(target: Path) -> None:
    """Build the process that holds a pod's namespaces, static."""
    run(
        [
            "gcc",
            "-static",
            "-O2",
            "-s",
            "-Wall",
            "-Werror",
            "-o",
            str(target),
            str(SOURCES / "pause.c"),
        ]
    )
