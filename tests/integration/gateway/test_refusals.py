"""What a start refuses before anything is touched: cause, evidence, remedy and exit code."""

import json
import os
import socket
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from pytest_docker.plugin import get_docker_services

from tests.integration.engine.doors import wrong_engine
from tests.integration.engine.machines import TOOL, Private, run
from tests.integration.gateway.driver import OPENSHELL, Gateway, docker, finish
from tests.integration.gateway.foreigners import COMPOSE, compose_file

pytestmark = pytest.mark.usefixtures("node_image")

ABSENT_IMAGE = "127.0.0.1:1/none:dev"
"""Of a registry that refuses the connection at once."""


@pytest.fixture
def gateway(make_gateway) -> Gateway:
    return make_gateway()


def traces(gateway: Gateway) -> str:
    """What the engine and this host hold of a gateway."""
    name = f"name={gateway.name}"
    found = docker("ps", "--all", "--quiet", "--filter", name)
    found += docker("volume", "ls", "--quiet", "--filter", name)
    found += docker("network", "ls", "--quiet", "--filter", name)
    return found + str([*gateway.command.home.rglob(gateway.name)] or "")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Blue", "blue"),
        ("my_gateway", "my-gateway"),
        ("a" * 54, "a" * 53),
        ("ends-", "ends"),
    ],
)
def test_an_illegal_name_is_refused_with_a_legal_one(command, name, suggestion):
    """R07."""
    refused = command("gateway", "start", "--name", name, expect=2)
    assert f"{name!r} cannot be a gateway's name" in refused.err
    assert f"-> Use a name such as {suggestion!r}." in refused.err
    assert not docker("volume", "ls", "--quiet", "--filter", f"name=openshell-cluster-{name}")


@pytest.mark.parametrize("name", ["../up", "a b", "", "ä"])
def test_a_name_that_no_release_ever_had_is_refused_before_the_engine_is_asked(command, name):
    """R07."""
    refused = command(
        "gateway", "start", f"--name={name}", expect=2, DOCKER_HOST="unix:///nonexistent"
    )
    assert "cannot be a gateway's name" in refused.err
    assert "-> Use a name such as" in refused.err


def test_a_port_that_a_process_has_is_refused_and_the_process_named(gateway):
    """R54."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        refused = gateway.run("start", "--api-port", port, expect=5)
    assert f"The host port 127.0.0.1:{port} cannot be had" in refused.err
    assert f"process {os.getpid()} (" in refused.err
    assert "--api-port" in refused.err
    assert not traces(gateway)


def test_a_port_that_a_container_has_is_refused_and_the_container_named(
    gateway, tiny_image, unique_name, tmp_path
):
    """R54."""
    holder = unique_name("holder")
    services = {"holder": {"container_name": holder, "ports": ["127.0.0.1::80"]}}
    file = compose_file(tmp_path, tiny_image, services)
    with get_docker_services(COMPOSE, file, unique_name("compose"), "up -d", "down -t 0") as up:
        port = up.port_for("holder", 80)
        refused = gateway.run("start", "-p", f"{port}:30080", expect=5)
    assert f"The host port 127.0.0.1:{port} cannot be had: the container {holder}" in refused.err
    assert not traces(gateway)


def test_an_image_that_is_absent_and_not_to_be_had_leaves_nothing_and_names_the_ways(gateway):
    refused = gateway.run("start", "-o", "json", expect=5, OPENSHELL_NODE_IMAGE=ABSENT_IMAGE)
    error = refused.envelope["error"]
    assert error["code"] == "pull"
    assert ABSENT_IMAGE in error["brief"]
    assert "connection refused" in error["details"]
    told = "\n".join(error["remedies"])
    assert all(way in told for way in ("make node-image", "--image", "docker load"))
    never = gateway.run("start", "--pull=never", expect=5, OPENSHELL_NODE_IMAGE=ABSENT_IMAGE)
    assert "`--pull never`" in never.err
    assert not traces(gateway)


def test_an_engine_that_is_not_there_is_told_with_its_address(gateway, tmp_path):
    where = f"unix://{tmp_path}/dead.sock"
    refused = gateway.run("start", expect=5, DOCKER_HOST=where)
    assert "The Docker engine does not answer" in refused.err
    assert where in refused.err
    assert "DOCKER_HOST" in refused.err
    assert "docker version" in refused.err
    assert gateway.run("status", expect=5, DOCKER_HOST=where).out


@pytest.fixture
def answers(docker_client) -> dict[str, tuple[int, bytes]]:
    """An engine that has nothing, and is otherwise the one under test."""
    return {
        "/version": (200, json.dumps(docker_client.version()).encode()),
        "/info": (200, json.dumps(docker_client.info()).encode()),
        "/containers/json": (200, b"[]"),
        "/networks": (200, b"[]"),
        "/images/json": (200, b"[]"),
        "*": (404, b'{"message": "no such thing"}'),
    }


def changed(answer: tuple[int, bytes], **fields: object) -> tuple[int, bytes]:
    return 200, json.dumps(json.loads(answer[1]) | fields).encode()


def test_an_engine_that_is_too_old_is_told_with_both_versions(gateway, answers, tmp_path):
    answers["/version"] = changed(answers["/version"], Version="19.03", ApiVersion="1.40")
    with wrong_engine(tmp_path / "old.sock", answers):
        refused = gateway.run("start", expect=5, DOCKER_HOST=f"unix://{tmp_path}/old.sock")
    assert "too old" in refused.err
    assert "19.03" in refused.err
    assert "1.41" in refused.err
    assert "-> Update Docker" in refused.err


def test_a_rootless_engine_is_refused(gateway, answers, tmp_path):
    answers["/info"] = changed(answers["/info"], SecurityOptions=["name=seccomp", "name=rootless"])
    with wrong_engine(tmp_path / "rootless.sock", answers):
        refused = gateway.run("start", expect=5, DOCKER_HOST=f"unix://{tmp_path}/rootless.sock")
    assert "runs rootless, and a node needs a privileged container" in refused.err
    assert "-> Use the system's own engine" in refused.err


@pytest.mark.parametrize("where", ["/info", "/containers/json", "/networks", "*"])
def test_an_engine_that_fails_is_not_one_that_has_nothing(gateway, answers, tmp_path, where):
    answers[where] = (500, b'{"message": "the store is broken"}')
    with wrong_engine(tmp_path / "500.sock", answers):
        refused = gateway.run("start", expect=5, DOCKER_HOST=f"unix://{tmp_path}/500.sock")
        if where == "*":
            gateway.run("status", expect=5, DOCKER_HOST=f"unix://{tmp_path}/500.sock")
            gateway.run("destroy", "--yes", expect=5, DOCKER_HOST=f"unix://{tmp_path}/500.sock")
    assert "It answered 500: the store is broken" in refused.err
    assert "-> Look at the engine's own log" in refused.err


@pytest.mark.parametrize(
    ("limit", "value"), [("max_user_instances", 32), ("max_user_watches", 1024)]
)
def test_low_inotify_limits_are_refused_with_the_command_that_raises_them(
    gateway, tmp_path, limit, value
):
    """In a mount namespace of its own: the real limit is everybody's on this host."""
    (tmp_path / "limit").write_text(f"{value}\n")
    over = f"mount --bind {tmp_path}/limit /proc/sys/fs/inotify/{limit}"
    program = ["unshare", "--mount", "sh", "-c", f'{over} && exec "$@"', "sh", OPENSHELL]
    started = gateway.command.begin("gateway", "start", "--name", gateway.name, program=program)
    refused = finish(started)
    assert refused.exit_code == 5, refused
    assert f"fs.inotify.{limit} is too low" in refused.err
    assert f"fs.inotify.{limit} = {value}" in refused.err
    assert f"sysctl -w fs.inotify.{limit}=" in refused.err
    assert not traces(gateway)


def test_a_disk_that_is_too_small_is_refused_before_anything_is_pulled(gateway):
    """R102."""
    engine = Private(Path(tempfile.mkdtemp(prefix="openshell-test-disk-")) / "e")
    try:
        engine.up("--size", "1G")
        where = engine.environment["DOCKER_HOST"]
        refused = gateway.run("start", expect=5, DOCKER_HOST=where)
        assert engine.run("docker", "volume", "ls", "--quiet").stdout == ""
    finally:
        run(TOOL, "down", "--private", engine.folder)
        engine.folder.parent.rmdir()
    assert f"Not enough disk space below {engine.folder}" in refused.err
    assert "MiB are free, 2048 MiB are needed" in refused.err
    assert "docker system df" in refused.err


def test_every_problem_is_told_at_once(gateway):
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        refused = gateway.run(*("start", "--api-port", port, "-v", "/nonexistent:/data"), expect=2)
    assert "The host has no /nonexistent" in refused.err
    assert f"also: The host port 127.0.0.1:{port} cannot be had" in refused.err
    assert not traces(gateway)
