"""The lock, the guards of store and token, and the node's identity on the data volume."""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.shell.conftest import Life, Node, unshare, wait_for

FULL = f"K10{'0a' * 32}::server:"
REFUSING = 'await_stop() { exit "$1"; }; '
"""So that a refusal ends: how it stays is tested with a whole life."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_held_volume_is_refused_before_anything_else(node: Node) -> None:
    """R06, R87."""
    with held(node.data / "openshell/lock"):
        done = node.call(REFUSING + 'main "$@"', "server")
    assert done.returncode == 75
    assert done.stderr == (
        "openshell: refused: volume-locked: another node runs on this data volume: stop it first\n"
    )
    assert sorted(p.name for p in node.data.iterdir()) == ["openshell"]


def test_a_failing_flock_is_not_taken_for_a_held_lock(node: Node) -> None:
    (node.bin / "flock").write_text("#!/bin/sh\nexit 64\n")
    (node.bin / "flock").chmod(0o755)
    done = node.call("lock_volume")
    assert done.returncode == 64
    assert "volume-locked" not in done.stderr


def test_the_lock_is_pid_1_s_alone_and_dies_with_it(life: Callable[..., Life], node: Node) -> None:
    node.environment["BEHAVIOUR"] = "pods"
    run = life()
    run.await_line("started")
    lock = node.data / "openshell/lock"
    assert run.holders(lock) == {run.pid}
    assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 1
    run.send(signal.SIGKILL)
    run.end()
    assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 0


def test_the_lock_dies_with_its_holder_though_its_children_live(node: Node) -> None:
    """No PID namespace ends the children here: they live on and must not hold the lock."""
    script = 'lock_volume; keep() { sleep 60 & echo "$! $(sleep 0.2; echo up)"; wait; }; keep 9>&-'
    holder = subprocess.Popen(
        node.argv(script), env=node.variables, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    child = int(holder.stdout.readline().split()[0])
    lock = node.data / "openshell/lock"
    try:
        assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 1
        holder.kill()
        holder.wait()
        assert Path(f"/proc/{child}").exists()
        assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 0
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()


def test_the_last_start_is_forgotten_even_where_the_volume_is_held(node: Node) -> None:
    started = node.write("run/openshell/k3s-started", "1\n")
    with held(node.data / "openshell/lock"):
        node.call(REFUSING + 'main "$@"', "server")
    assert not started.exists()


def test_a_refusal_stays_until_it_is_stopped(node: Node, life: Callable[..., Life]) -> None:
    """A container that ended would be started for ever; the next start forgets the refusal."""
    refused = node.root / "run/openshell/refused"
    store = node.write("var/lib/rancher/k3s/server/db/state.db", "scrambled")
    run = life()
    wait_for(refused.exists, "the refusal")
    assert refused.read_text().startswith("store-damaged: ")
    time.sleep(0.3)
    assert not run.has_ended()
    assert run.log.count("openshell: refused: store-damaged: ") == 1
    assert run.lines() == []
    run.send(signal.SIGTERM)
    assert run.end() == 78
    store.unlink()
    again = life()
    again.await_line("started")
    assert not refused.exists()


SENTENCES = {
    "token-differs": "the given token is not the one this data volume was made with: start without "
    "a token or with the volume's own",
    "token-files-lost": "server/token and server/cred/passwd are gone from a data volume in use, "
    "and k3s would write new authorities over it: give its token or restore a file",
}
USED = "SQLite format 3\0...\0/registry/namespaces/kube-system\0"
CUT_SHORT = "SQLite format 3\0...\0/bootstrap/e3b0c44298fc\0"
KEPT = f"{FULL}secret\n"
PASSWD = "agent-secret,node,node,k3s:agent\nsecret,server,server,k3s:server\n"


@pytest.mark.parametrize(
    ("volume", "given", "reason"),
    [
        pytest.param((None, None, None), None, None, id="empty volume"),
        pytest.param((None, None, None), "secret", None, id="empty volume, a token"),
        pytest.param((CUT_SHORT, None, None), None, None, id="first start cut short"),
        pytest.param((USED, KEPT, PASSWD), None, None, id="as k3s leaves it"),
        pytest.param((USED, KEPT, PASSWD), "secret", None, id="same token"),
        pytest.param((USED, KEPT, PASSWD), KEPT, None, id="same token in full"),
        pytest.param((USED, KEPT, PASSWD), "server:secret\n", None, id="same token with its user"),
        pytest.param((USED, KEPT, PASSWD), "other", "token-differs", id="another token"),
        pytest.param((USED, None, PASSWD), None, None, id="token file lost"),
        pytest.param((USED, None, PASSWD), "secret", None, id="token file lost, same token"),
        pytest.param((USED, None, PASSWD), "agent-secret", "token-differs", id="not the server's"),
        pytest.param((USED, KEPT, None), None, None, id="passwd lost"),
        pytest.param((USED, None, None), None, "token-files-lost", id="both lost"),
        pytest.param((USED, "", ""), None, "token-files-lost", id="both empty"),
        pytest.param((USED, None, None), "secret", None, id="both lost, a token restores them"),
    ],
)
def test_guard(
    node: Node,
    volume: tuple[str | None, str | None, str | None],
    given: str | None,
    reason: str | None,
) -> None:
    """R14."""
    store, token, passwd = volume
    server = "var/lib/rancher/k3s/server"
    for path, content in (
        (f"{server}/db/state.db", store),
        (f"{server}/token", token),
        (f"{server}/cred/passwd", passwd),
        ("opt/openshell/token", given),
    ):
        if content is not None:
            node.write(path, content)
    before = snapshot(node.data)
    done = node.call(REFUSING + "guard_token")
    assert snapshot(node.data) == before
    if reason is None:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 78
        assert done.stderr == f"openshell: refused: {reason}: {SENTENCES[reason]}\n"
        assert "secret" not in done.stderr


def test_what_only_the_write_ahead_log_holds_counts_as_used(node: Node) -> None:
    node.write("var/lib/rancher/k3s/server/db/state.db", CUT_SHORT)
    node.write("var/lib/rancher/k3s/server/db/state.db-wal", USED)
    assert node.call(REFUSING + "guard_token").returncode == 78


RECORDED = '{\n  "cluster_id": "0a0b",\n  "name": "t1"\n}\n'
UNRECORDED = '{\n  "cluster_id": "",\n  "name": "t1"\n}\n'
DB = "server/db/state.db"
AUTHORITY = "server/tls/server-ca.crt"
RECORD = "openshell/gateway.json"


@pytest.mark.parametrize(
    ("files", "arguments", "reason"),
    [
        pytest.param({}, "", None, id="empty volume"),
        pytest.param({RECORD: UNRECORDED}, "", None, id="a gateway that never ran"),
        pytest.param({RECORD: UNRECORDED, DB: CUT_SHORT}, "", None, id="first start cut short"),
        pytest.param(
            {RECORD: UNRECORDED, DB: CUT_SHORT, AUTHORITY: "x"}, "", None, id="cut short later"
        ),
        pytest.param({RECORD: UNRECORDED, DB: ""}, "", None, id="cut short first of all"),
        pytest.param({RECORD: RECORDED, DB: USED, AUTHORITY: "x"}, "", None, id="in use"),
        pytest.param({RECORD: RECORDED, DB: USED}, "", None, id="authorities come back from it"),
        pytest.param(
            {RECORD: RECORDED, DB: CUT_SHORT, f"{DB}-wal": USED}, "", None, id="in the log alone"
        ),
        pytest.param({AUTHORITY: "x", DB: USED}, "", None, id="a retired release's"),
        pytest.param({AUTHORITY: "x"}, "", "store-lost", id="a retired release's, store gone"),
        pytest.param({AUTHORITY: "x", DB: ""}, "", "store-lost", id="the same, emptied"),
        pytest.param({AUTHORITY: "x", "server/db/etcd/member/snap/db": "y"}, "", None, id="etcd"),
        pytest.param({RECORD: RECORDED, AUTHORITY: "x"}, "", "store-lost", id="store gone"),
        pytest.param({RECORD: RECORDED}, "", "store-lost", id="the server's folder gone"),
        pytest.param({RECORD: RECORDED, DB: CUT_SHORT}, "", "store-lost", id="another's store"),
        pytest.param({RECORD: RECORDED, DB: "SQLite 3"}, "", "store-damaged", id="cut off"),
        pytest.param({RECORD: RECORDED, DB: "\0" * 4096}, "", "store-damaged", id="zeroes"),
        pytest.param({DB: "scrambled " * 500}, "", "store-damaged", id="scrambled, no record"),
        pytest.param({RECORD: RECORDED}, "--datastore-endpoint=x", None, id="a store elsewhere"),
        pytest.param({RECORD: RECORDED}, "--datastore-endpoint x", None, id="elsewhere, two words"),
    ],
)
def test_store_guard(node: Node, files: dict[str, str], arguments: str, reason: str | None) -> None:
    """R82: named, before k3s sees it; nothing is changed and nothing started in its place."""
    for path, content in files.items():
        node.write(f"var/lib/rancher/k3s/{path}", content)
    before = snapshot(node.data)
    done = node.call(REFUSING + 'guard_store "$@"', "server", *arguments.split())
    assert snapshot(node.data) == before
    if reason is None:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 78
    assert done.stderr.startswith(f"openshell: refused: {reason}: ")
    assert "/server/db" in done.stderr
    assert "from a copy" in done.stderr


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_store_elsewhere_is_seen_in_k3s_s_own_settings_too(node: Node, where: str) -> None:
    node.write(f"var/lib/rancher/k3s/{RECORD}", RECORDED)
    if where == "file":
        node.write("etc/rancher/k3s/config.yaml.d/own.yaml", "datastore-endpoint: mysql://x\n")
    else:
        node.environment["K3S_DATASTORE_ENDPOINT"] = "mysql://x"
    done = node.call(REFUSING + "guard_store server")
    assert (done.returncode, done.stderr) == (0, "")


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every path with its mode and bytes, or a link's target."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = (0, str(path.readlink()))
        elif path.is_file():
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


@pytest.fixture
def identity(node: Node) -> Path:
    return node.root / "etc/rancher/node"


@pytest.fixture
def kept(node: Node) -> Path:
    return node.data / "openshell/node"


def test_a_first_start_leads_to_the_volume(node: Node, identity: Path, kept: Path) -> None:
    """R12."""
    node.answer("keep_node_identity; keep_node_identity")
    assert identity.readlink() == kept
    assert kept.stat().st_mode & 0o777 == 0o700


def test_an_existing_password_moves_to_the_volume(node: Node, identity: Path, kept: Path) -> None:
    """R12."""
    node.write("etc/rancher/node/password", "p1")
    node.write("etc/rancher/node/id", "i1")
    node.answer("keep_node_identity")
    assert (kept / "password").read_text() == "p1"
    assert (kept / "password").stat().st_mode & 0o777 == 0o600
    assert (kept / "id").read_text() == "i1"
    assert identity.readlink() == kept
    assert [p.name for p in identity.parent.iterdir()] == ["node"]


def test_the_volume_s_password_wins_and_another_is_kept(
    node: Node, identity: Path, kept: Path
) -> None:
    node.write("etc/rancher/node/password", "stranger")
    node.write("var/lib/rancher/k3s/openshell/node/password", "p1")
    assert "another node password was found" in node.call("keep_node_identity").stderr
    assert (identity / "password").read_text() == "p1"
    [aside] = identity.parent.glob("node.*")
    assert (aside / "password").read_text() == "stranger"


def test_a_link_to_elsewhere_is_replaced(node: Node, identity: Path, kept: Path) -> None:
    elsewhere = node.write("elsewhere/password", "p1").parent
    identity.parent.mkdir(parents=True)
    identity.symlink_to(elsewhere)
    node.answer("keep_node_identity")
    assert identity.readlink() == kept
    assert (kept / "password").read_text() == "p1"
    assert (elsewhere / "password").read_text() == "p1"


def test_a_mount_is_left_where_it_is(node: Node, identity: Path) -> None:
    node.write("etc/rancher/node/password", "p1")
    script = 'mount --bind "$root/etc/rancher/node" "$root/etc/rancher/node"; keep_node_identity'
    done = subprocess.run(
        [*unshare("--mount"), *node.argv(script)],
        env=node.variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "is a mount of its own" in done.stderr
    assert (identity / "password").read_text() == "p1"


STEPS = ["cp", "chmod", "sync", "mv", "rm", "ln"]


@pytest.mark.parametrize("step", STEPS)
def test_a_password_survives_a_start_cut_short_at(
    node: Node, identity: Path, kept: Path, step: str
) -> None:
    """R12: the step's program ends the shell as kill -9 does: before its work, then after it."""
    node.write("etc/rancher/node/password", "p1")
    for killer in ("kill -9 $$", f'command {step} "$@"; kill -9 $$'):
        died = node.call(f"{step}() {{ {killer}; }}; keep_node_identity")
        assert died.returncode == -signal.SIGKILL or identity.is_symlink()
        survivors = [f for f in (identity / "password", kept / "password") if f.exists()]
        assert survivors
        assert all(f.read_text() == "p1" for f in survivors)
    node.answer("keep_node_identity")
    assert identity.readlink() == kept
    assert (identity / "password").read_text() == "p1"


def test_a_start_waits_for_no_lock_of_its_own(node: Node, life: Callable[..., Life]) -> None:
    """kill -9 and start again at once: the second life gets the volume."""
    for times in (1, 2):
        run = life()
        run.await_line("started", times=times)
        run.send(signal.SIGKILL)
        wait_for(run.has_ended, "the end")
