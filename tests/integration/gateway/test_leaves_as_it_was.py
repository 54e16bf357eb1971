"""Whatever is wrong with engine or volume: all stays as it was, and works once it is right."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.faults.door import fault_door
from tests.integration.gateway.driver import Gateway, Ran, docker
from tests.integration.gateway.witness import Witness
from tests.until import until

ALL = "server openshell storage"
BESIDE_THE_STORE = "server/tls server/cred server/token openshell storage"
"""What a node that runs does not write to."""

STORE = "/d/server/db/state.db"
DAMAGED_WITHIN = (
    f"n=$(stat -c %s {STORE}); "
    f"dd if=/dev/urandom of={STORE} conv=notrunc bs=4096 seek=2 count=$((n / 4096 / 4))"
)
"""A quarter of the file, so that whatever k3s reads first is in it or depends on it."""

DAMAGED_HEADER = f"dd if=/dev/urandom of={STORE} conv=notrunc bs=512 count=1"

INSPECT = "GET /containers/ID/json"


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
        """Every file with its bytes, every path with its mode, owner and target.

        The store's index in shared memory is worth nothing, and so is an empty log; the journal
        tells that a start is not through.
        """
        is_kept = "! -name state.db-shm ! -name journal.json -size +0"
        is_listed = "! -name 'state.db-*' ! -name journal.json"
        return self.sh(
            f"find {folders} -type f {is_kept} -exec sha256sum {{}} + | sort -k2; "
            f"find {folders} ! -type s {is_listed} -printf '%p %m %U %l\\n' | sort"
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
    path, socket = tmp_path / "s", engine.connection.endpoint.url.removeprefix("unix://")
    with fault_door(path, socket, lambda _number, what: what == INSPECT, "500"):
        refused = refuse(kept, volume, *words, expect=5, DOCKER_HOST=f"unix://{path}")
    assert "It answered 500: the engine fails" in refused.err
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


def test_a_token_that_is_not_the_volume_s(kept, volume, tmp_path):
    """R14: with no token, and with its own in full, it starts."""
    given = tmp_path / "token"
    given.write_text("of-another-gateway\n")
    running = refuse(kept, volume, "--token-file", str(given))
    kept.gateway.run("stop")
    before = life(kept.gateway), volume.digest()
    stopped = kept.gateway.run("start", "--token-file", given, expect=4)
    now = life(kept.gateway), volume.digest()
    assert now == before
    for refused in (running, stopped):
        assert "The token is not the one" in refused.err
        assert "of-another-gateway" not in refused.err + refused.out
    given.write_text(volume.sh("cat server/token"))
    kept.gateway.run("start", "--token-file", given)
    start_and_check(kept)


@contextmanager
def spoilt(kept: Witness, volume: Volume, script: str) -> Iterator[str]:
    """The stopped gateway's volume after a script; gives its digest, and restores it afterwards."""
    kept.gateway.run("stop")
    before = volume.digest()
    volume.sh(f"mkdir aside; cp -a server aside/; {script}")
    try:
        yield volume.digest()
    finally:
        kept.gateway.run("stop")
        volume.sh("rm -rf server; mv aside/server .; rmdir aside")
        assert volume.digest() == before


def test_a_store_that_k3s_finds_damaged(kept, volume):
    """R82: told in bounded time; the node is not started again and again."""
    gateway = kept.gateway
    with spoilt(kept, volume, DAMAGED_WITHIN) as digest:
        refused = gateway.run("start", "--timeout", "60", expect=4)
        assert f"The datastore on {volume.name} is damaged; nothing was removed" in refused.err
        assert "Put `server/db` back from a copy" in refused.err
        assert not gateway.inspect()["State"]["Running"]
        assert volume.digest() == digest
    start_and_check(kept)


def test_a_node_that_refuses_a_damaged_store_does_not_loop(kept, volume):
    """R82: also where nobody but the engine starts it, as after a restart of its host."""
    gateway = kept.gateway
    with spoilt(kept, volume, DAMAGED_HEADER) as digest:
        docker("start", gateway.container)
        until(lambda: gateway.exec("cat", "/run/openshell/refused"), "the refusal")
        begun = life(gateway)
        told = gateway.run("status", expect=8)
        assert "store-damaged" in told.out
        assert life(gateway) == begun
        assert begun[2:] == (0, True)
        refused = gateway.run("start", expect=4)
        assert f"The datastore on {volume.name} is damaged; nothing was removed" in refused.err
        ended = gateway.inspect()["State"]
        assert (ended["Running"], ended["ExitCode"]) == (False, 78)
        assert volume.digest() == digest
    start_and_check(kept)


LOSSES = {
    "rm -r server/db": "datastore is gone from",
    f"rm {STORE}*; touch {STORE}": "datastore is gone from",
    "rm -r server": "datastore is gone from",
    "rm server/token server/cred/passwd": "has lost both files that hold its token",
}
CHANGED_CREDENTIAL = "echo >>server/cred/passwd; touch -d '1 hour' server/cred/passwd"


def test_what_a_volume_lost_is_not_made_anew_but_for_what_its_store_has(kept, volume):
    """R14, R15, R17: no empty store, no new authorities; the same ones come back.

    Of a file that differs from the store's k3s itself says so; it has opened the store by then.
    """
    for script, told in LOSSES.items():
        with spoilt(kept, volume, script) as digest:
            refused = kept.gateway.run("start", expect=4)
            assert told in refused.err
            assert volume.digest() == digest
    with spoilt(kept, volume, CHANGED_CREDENTIAL):
        digest = volume.digest(BESIDE_THE_STORE)
        refused = kept.gateway.run("start", "--timeout", "60", expect=4)
        assert "newer than its datastore" in refused.err
        assert volume.digest(BESIDE_THE_STORE) == digest
    volume.sh("rm -r server/tls")
    start_and_check(kept)
