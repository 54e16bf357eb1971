from dataclasses import replace

import pytest
import yaml

from openshell_bootstrap.errors import LostVolumeError
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.models import PublishedPort
from openshell_bootstrap.settings import READY_PATIENCE, STOP_GRACE_S, Settings
from tests.cli.noted import STARTED


def request_of(cli, *words):
    result = cli("gateway", "start", *words)
    assert result.exit_code == 0, result.output
    return cli.calls[-1][1]


def test_without_options_nothing_is_said_and_the_record_decides(cli):
    assert request_of(cli) == StartRequest(name="openshell")


LOST = LostVolumeError("The data volume is gone", remedies=["Look.", "`--start-empty` it."])


def test_without_a_terminal_a_lost_volume_is_an_error_and_no_question(cli):
    """R52."""
    cli.answer(start=LOST)
    result = cli("gateway", "start", stdin="y\n")
    assert result.exit_code == 4
    assert len(cli.calls) == 1
    assert "--start-empty" in result.stderr


def test_a_yes_to_start_empty_can_be_given_in_advance(cli):
    """R52."""
    assert request_of(cli, "--start-empty").start_empty


def test_every_option_reaches_the_request(cli, tmp_path):
    token, registries = tmp_path / "token", tmp_path / "registries.yaml"
    token.write_text("secret\n")
    token.chmod(0o600)
    registries.write_text("mirrors: {}\n")
    request = request_of(
        cli,
        *("--name", "t1", "--image", "k3s:1", "--api-port", "16443", "--gpus", "all"),
        *("--subnet", "10.99.0.0/24"),
        *("-p", "8080:30080", "-p", "[::]:9090:30090", "-v", "/a:/b:ro", "-v", "named:/c"),
        *("--env", "A=b=c", "--env", "EMPTY=", "--k3s-arg", "--kubelet-arg=v=2"),
        *("--tls-san", "gw.example", "--tls-san", "10.0.0.1", "--token-file", str(token)),
        *("--registries", str(registries), "--pull", "never", "--recreate"),
        *("--grace", "0", "--timeout", "5.5"),
    )
    assert request == StartRequest(
        name="t1",
        image="k3s:1",
        image_is_explicit=True,
        api_port=PublishedPort("127.0.0.1", 16443, 6443),
        ports=(PublishedPort("127.0.0.1", 8080, 30080), PublishedPort("::", 9090, 30090)),
        volumes=("/a:/b:ro", "named:/c"),
        environment={"A": "b=c", "EMPTY": ""},
        k3s_args=("--kubelet-arg=v=2",),
        tls_sans=("gw.example", "10.0.0.1"),
        gpus="all",
        subnet="10.99.0.0/24",
        token=b"secret",
        registries=b"mirrors: {}\n",
        pull="never",
        recreate=True,
        grace_s=0,
        timeout_s=5.5,
    )


def test_the_image_of_the_environment_is_not_explicit(cli):
    cli.wiring.settings = Settings(
        gateway=None, node_image="env:1", is_ci=False, proxies={"HTTP_PROXY": "p"}
    )
    request = request_of(cli)
    assert (request.image, request.image_is_explicit) == ("env:1", False)
    assert request.proxies == {"HTTP_PROXY": "p"}
    explicit = request_of(cli, "--image", "flag:1")
    assert (explicit.image, explicit.image_is_explicit) == ("flag:1", True)


def test_an_empty_value_says_none_at_all(cli):
    request = request_of(cli, "-p", "", "-v", "", "--env", "", "--k3s-arg", "", "--tls-san", "")
    assert (request.ports, request.volumes, request.environment) == ((), (), {})
    assert (request.k3s_args, request.tls_sans) == ((), ())
    assert request_of(cli, "--gpus", "").gpus == ""
    assert request_of(cli, "--subnet", "").subnet == ""


def test_a_path_of_the_host_becomes_absolute(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/u")
    request = request_of(cli, "-v", "./data:/d", "-v", "../x:/x:ro", "-v", "~/y:/y")
    assert request.volumes == (
        f"{tmp_path}/data:/d",
        f"{tmp_path.parent}/x:/x:ro",
        "/home/u/y:/y",
    )


def test_a_dry_run_only_plans(cli):
    result = cli("gateway", "start", "-g", "t1", "--dry-run")
    assert [call[0] for call in cli.calls] == ["plan_start"]
    assert "1. make the container (there is none)" in result.stdout


@pytest.mark.parametrize(
    ("words", "evidence"),
    [
        (["--api-port", "0"], "between 1 and 65535"),
        (["--api-port", "65536"], "between 1 and 65535"),
        (["--api-port", "99999999999999999999"], "between 1 and 65535"),
        (["--api-port", "x"], "[ADDRESS:]PORT"),
        (["--api-port", "-1"], "[ADDRESS:]PORT"),
        (["--api-port", "1:2"], "is not an IPv4 address"),
        (["--api-port", "localhost:16443"], "localhost"),
        (["--api-port", "::1:16443"], "[ADDRESS:]PORT"),
        (["--api-port", "[127.0.0.1]:16443"], "127.0.0.1"),
        (["--api-port", ""], "[ADDRESS:]PORT"),
        (["-p", "8080"], "HOSTPORT:NODEPORT"),
        (["-p", "8080:30080/udp"], "HOSTPORT:NODEPORT"),
        (["-p", "300.0.0.1:8080:30080"], "300.0.0.1"),
        (["-p", "8080:6443"], "--api-port"),
        (["-p", "8080:1", "-p", "8080:2"], "asked for twice"),
        (["--api-port", "8080", "-p", "8080:2"], "asked for twice"),
        (["-v", "/only"], "SOURCE:TARGET"),
        (["-v", "/a:relative"], "SOURCE:TARGET"),
        (["-v", "/a:/var/lib/rancher/k3s"], "hide"),
        (["--env", "NOVALUE"], "NAME=VALUE"),
        (["--env", "1A=x"], "NAME=VALUE"),
        (["--env", "K3S_TOKEN=s3cret"], "--token-file"),
        (["--env", "K3S_NODE_NAME=x"], "gateway's name"),
        (["--env", "K3S_DATA_DIR=/x"], "volume"),
        (["--env", "OPENSHELL_NODE_NAME=x"], "gateway's name"),
        (["--k3s-arg", "--node-name=x"], "gateway's name"),
        (["--k3s-arg", "--node-name"], "gateway's name"),
        (["--k3s-arg", "--node-name x"], "gateway's name"),
        (["--k3s-arg", "-node-name=x"], "gateway's name"),
        (["--k3s-arg", "--data-dir=/x"], "volume"),
        (["--k3s-arg", "-d"], "volume"),
        (["--k3s-arg", "--token=s3cret"], "--token-file"),
        (["--k3s-arg", "-t"], "--token-file"),
        (["--k3s-arg", "--token-file=/x"], "--token-file"),
        (["--tls-san", "a b"], "certificate"),
        (["--tls-san", "-x"], "certificate"),
        (["--gpus", "0"], "GPUs"),
        (["--gpus", "some"], "GPUs"),
        (["--subnet", "10.42.0.0/24"], "--subnet"),
        (["--image", ""], "image"),
        (["--image", "a b"], "image"),
        (["--token-file", "/nonexistent"], "cannot be read"),
        (["--token-file", "/"], "cannot be read"),
        (["--registries", "/nonexistent"], "cannot be read"),
        (["--grace", "-1"], "--grace"),
        (["--timeout", "0"], "--timeout"),
        (["--pull", "always"], "--pull"),
        (["-o", "xml"], "--output"),
        (["extra"], "extra"),
    ],
)
def test_bad_input_ends_with_2_before_anything_is_touched(cli, words, evidence):
    """R02: the node's name too is nobody's to give but the gateway's."""
    result = cli("gateway", "start", "--name", "t1", *words)
    assert result.exit_code == 2
    assert cli.calls == []
    assert evidence in result.stderr
    assert "-> " in result.stderr
    assert "s3cret" not in result.output


def test_harmless_arguments_that_look_alike_pass(cli):
    words = ("--node-label=token=x", "--kubelet-arg=node-name=x", "--disable=data-dir", "node-name")
    request = request_of(cli, *[word for arg in words for word in ("--k3s-arg", arg)])
    assert request.k3s_args == words


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"a\0b", b"\xff", b"x" * 5000])
def test_a_file_that_holds_no_token(cli, tmp_path, content):
    path = tmp_path / "token"
    path.write_bytes(content)
    result = cli("gateway", "start", "--token-file", str(path))
    assert result.exit_code == 2
    assert cli.calls == []


def test_a_token_that_others_may_read_is_noted_and_taken(cli, tmp_path):
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(0o644)
    result = cli("gateway", "start", "--token-file", str(path))
    assert result.exit_code == 0
    assert "chmod 600" in result.stderr
    assert "secret" not in result.output


@pytest.mark.parametrize("content", ["{", "- a\n", "text", "", "a: &a [*b]"])
def test_a_file_that_is_no_registries_file(cli, tmp_path, content):
    path = tmp_path / "registries.yaml"
    path.write_text(content)
    result = cli("gateway", "start", "--registries", str(path))
    assert result.exit_code == 2
    assert str(path) in result.stderr


def test_started_says_how_to_use_it_and_notices_go_to_stderr(cli):
    result = cli("gateway", "start", "-g", "t1")
    assert result.stdout.splitlines()[0] == "Gateway t1 is ready."
    assert "https://127.0.0.1:16443" in result.stdout
    assert "openshell gateway kubectl --name t1 get nodes" in result.stdout
    assert result.stderr == "Note: the inotify limit is low\n"


def test_a_gateway_that_stood_already(cli):
    cli.answer(start=replace(STARTED, actions=(), notices=()))
    result = cli("gateway", "start")
    assert result.stdout.startswith("Gateway t1 is ready; nothing had to be done.")
    assert result.stderr == ""


def test_restart_takes_the_gateway_as_it_is(cli):
    result = cli("gateway", "restart", "-g", "t1", "--grace", "5")
    assert cli.calls == [("restart", StartRequest(name="t1", grace_s=5))]
    assert result.exit_code == 0


def test_yaml_is_the_same_envelope(cli):
    result = cli("gateway", "start", "-o", "yaml")
    envelope = yaml.safe_load(result.stdout)
    assert (envelope["schema"], envelope["command"], envelope["ok"]) == (1, "gateway start", True)
    assert envelope["result"]["node_name"] == "openshell-t1"


def test_name_is_one_word(cli):
    assert cli("gateway", "start", "-o", "name").stdout == "t1\n"


def test_the_help_tells_the_real_defaults(cli):
    text = " ".join(cli("gateway", "start", "--help").stdout.split())
    assert f"KILL. [default: {STOP_GRACE_S}]" in text
    assert f"take. [default: {READY_PATIENCE.timeout_s:g}]" in text
