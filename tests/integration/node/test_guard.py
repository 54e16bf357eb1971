"""The entrypoint's guard before the real thing: what k3s would do to a volume never begins."""

import time
from collections.abc import Callable

import docker
import pytest

from openshell_bootstrap import bundle
from openshell_bootstrap.engine import archive
from openshell_bootstrap.models import FileEntry
from tests.integration.node.nodes import DATA, Node, run_once
from tests.plugins.engine import NODE_IMAGE
from tests.until import until

COMPLETE = "/opt/openshell/complete"
AWAIT_BUNDLE = f'until [ -e {COMPLETE} ]; do sleep 0.1; done; exec {bundle.ENTRYPOINT} "$@"'
ALL = "find . -type f -exec sha256sum {} + | sort -k2; find . -printf '%p %m %l\\n' | sort"


@pytest.fixture
def guarded(run_node: Callable[..., Node], volume: str) -> Callable[..., Node]:
    """Runs a node on the volume with the bundle in it, as a gateway has it."""

    def run(name: str, token: str = "") -> Node:
        entrypoint = ["/bin/sh", "-c", AWAIT_BUNDLE, "sh", "server"]
        node = run_node(name, volume=volume, entrypoint=entrypoint)
        files = [*bundle.files(token=token.encode() or None), FileEntry(COMPLETE, b"")]
        assert node.container.put_archive("/", archive.pack(files, time.time()))
        return node

    return run


@pytest.fixture
def on_volume(docker_client: docker.DockerClient, volume: str) -> Callable[[str], str]:
    """Runs a script in the volume."""

    def run(script: str) -> str:
        status, output = run_once(
            docker_client,
            NODE_IMAGE,
            *("-ec", f"cd /d; {script}"),
            entrypoint="/bin/sh",
            volumes={volume: {"bind": "/d", "mode": "rw"}},
        )
        assert status == 0, output
        return output

    return run


def check_refusal(node: Node, slug: str) -> None:
    """It stays, tells why in both places, and ends at once when it is stopped."""
    told = until(lambda: node.log() if "refused: " in node.log() else "", "a refusal", 20)
    assert f"openshell: refused: {slug}: " in told
    assert "Starting k3s" not in told
    assert node.sh("cat /run/openshell/refused").startswith(f"{slug}: ")
    status, health = node.container.exec_run([bundle.HEALTH_CHECK])
    assert (status, health.decode()[:29]) == (1, "unhealthy: k3s is not started")
    begun = time.monotonic()
    node.container.stop(timeout=30)
    assert time.monotonic() - begun < 10
    assert node.await_exit() == 78
    node.container.remove(v=True)


def test_what_would_harm_the_volume_is_refused_and_the_volume_unchanged(
    run_node: Callable[..., Node],
    guarded: Callable[..., Node],
    on_volume: Callable[[str], str],
    volume: str,
    fresh_name: Callable[[str], str],
) -> None:
    """R14, R15, R17: each is what k3s makes worse or ends from, which the tests beside show."""
    name = fresh_name("guard")
    first = run_node(name, "--token=right", volume=volume)
    first.await_log("k3s is up and running")
    authority = first.sh(f"cat {DATA}/server/tls/server-ca.crt")
    first.container.remove(force=True, v=True)
    on_volume("mkdir -p openshell aside; touch openshell/lock; cp -a server aside/")
    for spoil, token, slug in (
        (":", "wrong", "token-differs"),
        ("rm server/token server/cred/passwd", "", "token-files-lost"),
        ("rm -r server/tls server/cred server/token", "", "token-files-lost"),
        ("rm -r server/db", "", "store-lost"),
        ("rm server/db/*; touch server/db/state.db", "right", "store-lost"),
        ("echo no database >server/db/state.db", "", "store-damaged"),
    ):
        before = on_volume(f"{spoil}; {ALL}")
        check_refusal(guarded(name, token), slug)
        assert on_volume(ALL) == before, slug
        on_volume("rm -r server; cp -a aside/server .")
    # What k3s itself makes good is not refused.
    on_volume("rm -r server/tls server/cred server/token")
    again = guarded(name, "right")
    again.await_log("k3s is up and running")
    assert again.sh(f"cat {DATA}/server/tls/server-ca.crt") == authority
    assert again.sh(f"cat {DATA}/server/token").endswith("::server:right\n")
    again.container.remove(force=True, v=True)
