"""Putting the parts together into an image."""

import os
import shutil
import subprocess
from pathlib import Path

from node_image import pod_images
from node_image.recipe import DIGEST_LABEL, NodeImageError, Recipe

_LINKS = ("kubectl", "ctr", "containerd", "k3s-server", "k3s-agent")
_COMPONENTS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
)
_LIBEXEC = ("kube", "kine", "containerd", "ctr")
_CONFIG = (
    'ENTRYPOINT ["/bin/k3s"]',
    'CMD ["agent"]',
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/bin/aux",
    "ENV CRI_CONFIG_FILE=/var/lib/rancher/k3s/agent/etc/crictl.yaml",
    "VOLUME /var/lib/kubelet",
    "VOLUME /var/lib/rancher/k3s",
    "VOLUME /var/lib/cni",
    "VOLUME /var/log",
)


def stage(binaries: Path, userland: Path, work: Path) -> Path:
    """Lay the image's files out below `work`; the folder that becomes the image."""
    root = work / "root"
    # Links instead of copies: the parts stay in the cache, the stage is thrown away.
    shutil.copytree(userland, root, symlinks=True, copy_function=os.link)
    libexec = root / "usr/libexec/k3s"
    libexec.mkdir(parents=True)
    for name in _LIBEXEC:
        os.link(binaries / name, libexec / name)
    for name in _COMPONENTS:
        (libexec / name).symlink_to("kube")
    for name in ("k3s", "containerd-shim-runc-v2"):
        os.link(binaries / name, root / "bin" / name)
    for name in _LINKS:
        (root / "bin" / name).symlink_to("k3s")
    archives = root / "usr/share/k3s/images"
    archives.mkdir(parents=True)
    pod_images.build(binaries, userland, work, archives / "bundled.tar")
    return root


def load(root: Path, recipe: Recipe, digest: str, tag: str) -> None:
    """Hand the staged folder to the engine as one image.

    Raises:
        NodeImageError: The engine did not take it.
    """
    changes = [
        *_CONFIG,
        f"LABEL {DIGEST_LABEL}={digest}",
        f"LABEL openshell.ai/k3s-version={recipe.k3s_version}",
    ]
    options = [part for change in changes for part in ("--change", change)]
    with subprocess.Popen(
        [
            "tar",
            "-C",
            str(root),
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "-cf",
            "-",
            ".",
        ],
        stdout=subprocess.PIPE,
    ) as packed:
        done = subprocess.run(
            ["docker", "import", *options, "-", tag],
            stdin=packed.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0 or packed.returncode != 0:
        raise NodeImageError(f"docker import failed: {done.stderr.strip()}")


def built_digest(tag: str) -> str | None:
    """The recipe digest of the image that bears the tag now; None if there is none."""
    form = f'{{{{index .Config.Labels "{DIGEST_LABEL}"}}}}'
    done = subprocess.run(
        ["docker", "image", "inspect", "--format", form, tag],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None
