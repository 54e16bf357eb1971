"""Whatever is wrong with engine or volume: all stays as it was, and works once it is right."""

from collections.abc import Callable

import pytest

from tests.integration.engine.doors import failing_door
from tests.integration.gateway.driver import Gateway, Ran, docker, until
from tests.integration.gateway.witness import Witness

ALL = "server openshell storage"
BESIDE_THE_STORE = "server/tls server/cred server/token openshell storage"
"""What a node that runs does not write to."""

STORE = "/d/server/db/state.db"
DAMAGES = {
    # A quarter of the file, so that whatever k3s reads first is in it or depends on it.
    "middle": f"n=$(stat -c %s {STORE}); dd if=/dev/urandom of={STORE} conv=notrunc bs=4096 "
    "seek=2 count=$((n / 4096 / 4))",
    "header": f"dd if=/dev/urandom of={STORE} conv=notrunc bs=512 count=1",
}


@pytest.fixture(scope="module")
def kept(make_gateway: Callable[[], Gateway]) -> Witness:
    """A gateway whose file every test finds unchanged, and which runs whenever a test begins."""
    gateway = make_gateway()
    gateway.start()
    return Witness(gateway)


class Volume:
    """The data volume, past the product."""

    def __init__(self, gateway: Gateway, image: str) -> None:
        self.name, self.image = gateway.container, image

    def sh(self, script: str) -> str:
        mount = f"{self.name}:/d"
        shell = ("--network=none", "--entrypoint=/bin/sh", self.image, "-ec", f"cd /d; {script}")
        return docker("run", "--rm", "--volume", mount, *shell)

    def digest(self, folders: str = ALL) -> str:
        """Every file with its bytes, every path with its mode, owner and target."""
        return self.sh(
            f"find {folders} -type f -exec sha256sum {{}} + | sort -k2; "
            f"find {folders} ! -type s -printf '%p %m %U %l\\n' | sort"
        )


@pytest.fixture
def volume(kept: Witness, node_image: str) -> Volume:
    return Volume(kept.gateway, node_image)


def life(gateway: Gateway) -> tuple[str, str, int, bool]:
    seen = gateway.inspect()
    state = seen["State"]
    return seen["Id"], state["StartedAt"], seen["RestartCount"], state["Running"]


def refuse(kept: Witness, volume: Volume, *words: str, expect: int = 4, **changed: str) -> Ran:
    """``start`` on the running gateway refuses, and it runs on as it did."""
    before = life(kept.gateway), volume.digest(BESIDE_THE_STORE)
    refused = kept.gateway.run("start", *words, expect=expect, **changed)
    now = life(kept.gateway), volume.digest(BESIDE_THE_STORE)
    assert now == before
    assert "-> " in refused.err
    return refused


def start_and_check(kept: Witness) -> None:
    kept.gateway.start()
    kept.check()


@pytest.mark.parametrize("words", [(), ("--recreate",)])
def test_an_engine_that_fails_to_tell_of_a_container(kept, volume, engine, tmp_path, words):
    """What nobody could say is not taken for absent."""
    socket = engine.connection.endpoint.url.removeprefix("unix://")
    with failing_door(tmp_path / "s", socket, r"GET /v[\d.]+/containers/[^/]+/json") as door:
        refused = refuse(kept, volume, *words, expect=5, DOCKER_HOST=door)
    assert "It answered 500: the engine is out of order" in refused.err
    start_and_check(kept)


def test_another_container_that_writes_to_the_volume(kept, volume, tiny_image, unique_name):
    """R87."""
    name = unique_name("writer")
    mount = f"{volume.name}:/d"
    docker("run", "--detach", "--name", name, "--volume", mount, tiny_image, "sleep", "600")
    try:
        refused = refuse(kept, volume, "--recreate")
    finally:
        docker("rm", "--force", name)
    assert f"The container {name} uses the volume {volume.name}" in refused.err
    start_and_check(kept)


def test_a_record_that_belongs_to_another_cluster(kept, volume):
    """R26: known by the digest of its authority."""
    record = "openshell/gateway.json"
    digest = volume.sh("sha256sum <server/tls/server-ca.crt").split()[0]
    volume.sh(f"mkdir aside; cp -a {record} aside/; sed -i s/{digest}/{'0' * 64}/ {record}")
    try:
        refused = refuse(kept, volume, "--recreate")
    finally:
        volume.sh("mv aside/gateway.json openshell/; rmdir aside")
    assert digest in refused.err
    assert "0" * 64 in refused.err
    start_and_check(kept)


@pytest.mark.parametrize("runs", [True, False])
def test_a_token_that_is_not_the_volume_s(kept, volume, tmp_path, runs):
    """R14: with no token, and with its own in whatever form, it starts."""
    given = tmp_path / "token"
    given.write_text("of-another-gateway\n")
    if runs:
        refused = refuse(kept, volume, "--token-file", str(given))
    else:
        kept.gateway.run("stop")
        before = life(kept.gateway), volume.digest()
        refused = kept.gateway.run("start", "--token-file", given, expect=4)
        now = life(kept.gateway), volume.digest()
        assert now == before
    assert "The token is not the one" in refused.err
    assert "of-another-gateway" not in refused.err + refused.out
    given.write_text(volume.sh("cat server/token") if runs else "")
    if runs:
        kept.gateway.run("start", "--recreate", "--token-file", given)
    start_and_check(kept)


def stop_and_spoil(kept: Witness, volume: Volume, script: str) -> tuple[str, str]:
    """What the volume was, and what it is now; ``restore`` brings it back."""
    kept.gateway.run("stop")
    before = volume.digest()
    volume.sh(f"mkdir aside; cp -a server aside/; {script}")
    return before, volume.digest()


def restore(volume: Volume, before: str) -> None:
    volume.sh("rm -r server; mv aside/server .; rmdir aside")
    assert volume.digest() == before


@pytest.mark.parametrize("where", list(DAMAGES))
def test_a_damaged_store_is_named_and_nothing_made_in_its_place(kept, volume, where):
    """R82: told in bounded time; the node is not started again and again."""
    gateway = kept.gateway
    before, spoilt = stop_and_spoil(kept, volume, DAMAGES[where])
    refused = gateway.run("start", "--timeout", "60", expect=4)
    assert "The datastore on the volume is damaged; nothing was removed" in refused.err
    assert "Put `server/db` back from a copy" in refused.err
    assert not gateway.inspect()["State"]["Running"]
    assert volume.digest() == spoilt
    restore(volume, before)
    start_and_check(kept)


LOSSES = {
    "store": ("rm -r server/db", "datastore is gone from the volume"),
    "emptied store": (f"rm {STORE}*; touch {STORE}", "datastore is gone from the volume"),
    "server": ("rm -r server", "datastore is gone from the volume"),
    "token": ("rm server/token server/cred/passwd", "lost both files that hold its token"),
}


def test_what_is_lost_from_a_volume_is_not_made_anew(kept, volume):
    """R14, R15: k3s would make an empty store, or new authorities over a full one."""
    gateway = kept.gateway
    gateway.run("stop")
    before = volume.digest()
    for script, told in LOSSES.values():
        volume.sh(f"mkdir aside; cp -a server aside/; {script}")
        spoilt = volume.digest()
        refused = gateway.run("start", expect=4)
        assert told in refused.err
        assert volume.digest() == spoilt
        volume.sh("rm -rf server; mv aside/server .; rmdir aside")
        assert volume.digest() == before
    start_and_check(kept)


def test_authorities_that_are_lost_come_back_from_the_store(kept, volume):
    """R17: the same ones, so that every kubeconfig goes on to fit."""
    kept.gateway.run("stop")
    volume.sh("rm -r server/tls")
    start_and_check(kept)


def test_a_credential_that_disagrees_with_the_store_is_told(kept, volume):
    """R15: k3s will not choose between the two, and both are left as they are."""
    file = "server/cred/passwd"
    script = f"echo more >>{file}; touch -d '1 hour' {file}"
    before, _ = stop_and_spoil(kept, volume, script)
    spoilt = volume.digest(BESIDE_THE_STORE)
    refused = kept.gateway.run("start", "--timeout", "60", expect=4)
    assert "Files on the volume are newer than its datastore" in refused.err
    assert "cred/passwd newer than datastore" in refused.err
    assert volume.digest(BESIDE_THE_STORE) == spoilt
    restore(volume, before)
    start_and_check(kept)


def test_a_refusing_node_does_not_loop_and_its_status_says_why(kept, volume):
    """As an engine that was restarted starts it, without this command."""
    gateway = kept.gateway
    before, spoilt = stop_and_spoil(kept, volume, DAMAGES["header"])
    docker("start", gateway.container)
    until(lambda: gateway.exec("cat", "/run/openshell/refused"), "the refusal")
    begun = life(gateway)
    told = gateway.run("status", expect=8)
    assert "store-damaged" in told.out
    assert volume.digest() == spoilt
    docker("exec", gateway.container, "/bin/sh", "-c", "sleep 2")
    assert life(gateway) == begun
    assert begun[2:] == (0, True)
    gateway.run("stop")
    assert gateway.inspect()["State"]["ExitCode"] == 78
    restore(volume, before)
    start_and_check(kept)
