"""Options to the call's arguments, and results to text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
import typer

from openshell_bootstrap.cli.main import app
from openshell_bootstrap.cli.wiring import Wiring
from openshell_bootstrap.gateway import results
from openshell_bootstrap.models import Unknown
from openshell_bootstrap.settings import Settings
from tests.cli.noted import INFO, LOSSES, ROWS, STARTED


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("gateway stop -g t1", ("stop", "t1", None)),
        ("gateway stop --name t1 --grace 7", ("stop", "t1", 7)),
        ("gateway status -g t1", ("status", "t1", False)),
        ("gateway status -g t1 --usage", ("status", "t1", True)),
        ("gateway list", ("list",)),
        ("gateway select t1", ("select", "t1")),
        ("gateway info -g t1", ("info", "t1")),
        ("gateway logs -g t1", ("logs", "t1", None, False, None)),
        ("gateway logs -g t1 -f --tail 5 --since 10m", ("logs", "t1", 5, True, "10m")),
        ("gateway kubeconfig get -g t1", ("kubeconfig", "t1", False)),
        ("gateway kubeconfig get -g t1 --internal", ("kubeconfig", "t1", True)),
        ("gateway kubeconfig merge -g t1", ("merge", "t1", False)),
        ("gateway kubeconfig merge -g t1 --use", ("merge", "t1", True)),
        ("gateway kubeconfig remove -g t1", ("remove", "t1")),
        ("doctor bundle -g t1", ("bundle", "t1", None)),
        ("doctor bundle --file x.tar.gz", ("bundle", "openshell", Path("x.tar.gz"))),
        ("version", ("versions", None)),
        ("version -g t1", ("versions", "t1")),
    ],
)
def test_options_to_arguments(cli, words, call):
    result = cli(*words.split())
    assert result.exit_code == 0, result.output
    assert cli.calls == [call]


@pytest.mark.parametrize(
    ("words", "gateway", "passed_on"),
    [
        ("exec -g t1 -- ls -l /", "t1", "ls -l /"),
        ("exec -g t1 ls --color", "t1", "ls --color"),
        ("kubectl get nodes -o wide", "openshell", "get nodes -o wide"),
        ("kubectl -g t1 -- get pods -o json", "t1", "get pods -o json"),
        ("kubectl -g t1 get -g x --name y", "t1", "get -g x --name y"),
        ("kubectl --raw=/readyz get", "openshell", "--raw=/readyz get"),
        ("kubectl exec p -- ls -- x", "openshell", "exec p -- ls -- x"),
        ("kubectl -- --help", "openshell", "--help"),
    ],
)
def test_the_words_of_another_program_go_through_untouched(cli, words, gateway, passed_on):
    result = cli("gateway", *words.split())
    assert result.exit_code == 0, result.output
    assert cli.calls == [(words.split()[0], gateway, passed_on.split(), False)]


def test_the_lock_is_told_which_command_it_is(cli):
    cli("gateway", "stop")
    assert cli.wiring.command == "openshell gateway stop"


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "destroy"])
def test_every_command_that_takes_the_lock_can_wait_for_it(cli, verb):
    yes = ["--yes"] if verb == "destroy" else []
    assert cli("gateway", verb, *yes).exit_code == 0
    assert cli.wiring.wait_lock_s == 0
    assert cli("gateway", verb, *yes, "--wait-lock", "1.5").exit_code == 0
    assert cli.wiring.wait_lock_s == 1.5
    assert cli("gateway", verb, *yes, "--wait-lock", "-1").exit_code == 2


def test_the_patience_reaches_the_store(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    wiring = Wiring()
    wiring.wait_lock_s = 7
    assert wiring.store.wait_lock_s == 7


def test_a_yes_can_be_given_in_advance_to_destroy_alone():
    """R69: a yes that was meant for something else takes no gateway."""

    def walk(command: click.Command, path: str) -> Iterator[str]:
        for parameter in command.params:
            if "--yes" in parameter.opts:
                yield path
        for name, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{path} {name}".strip())

    assert list(walk(typer.main.get_command(app), "")) == ["gateway destroy"]


@pytest.mark.parametrize(
    ("flag", "environment", "active", "wanted"),
    [
        (["-g", "flag"], "env", "active", "flag"),
        ([], "env", "active", "env"),
        ([], None, "active", "active"),
        ([], None, None, "openshell"),
    ],
)
def test_which_gateway_is_meant(cli, flag, environment, active, wanted):
    cli.wiring.settings = Settings(gateway=environment, node_image=None, is_ci=False, proxies={})
    if active:
        cli.wiring.store.active.select(active)
    cli("gateway", "status", *flag)
    assert cli.calls == [("status", wanted, False)]


def test_nothing_is_done_when_nobody_can_say_which_gateway_is_meant(cli):
    path = cli.wiring.store.config / "active_gateway"
    path.parent.mkdir()
    path.write_text("../../etc")
    assert isinstance(cli.wiring.store.active.find(), Unknown)
    result = cli("gateway", "destroy", "--yes")
    assert result.exit_code == 2
    assert cli.calls == []
    assert "gateway select" in result.stderr
    assert cli("gateway", "status", "-g", "t1").exit_code == 0


@pytest.mark.parametrize("words", ["", "gateway", "gateway kubeconfig"])
def test_a_group_alone_shows_its_help(cli, words):
    result = cli(*words.split())
    assert result.exit_code == 0
    assert "Commands:" in result.stdout


def test_versions(cli):
    assert cli("--version").stdout.startswith("openshell ")
    assert cli("version").stdout == "openshell 0.1.0\n"
    assert cli("version", "-g", "t1").stdout == "openshell 0.1.0\ngateway t1: k3s v1\n"
    cli.answer(versions=results.Versions(client="1", gateway="t1"))
    assert "k3s unknown" in cli("version", "-g", "t1").stdout


def test_stop_of_what_does_not_run_says_so(cli):
    cli.answer(stop=results.Stopped(name="t1", was_running=False, exit_code=0))
    result = cli("gateway", "stop")
    assert (result.exit_code, result.stdout) == (0, "Gateway t1 did not run; its data is kept.\n")


def test_stop_tells_its_notices(cli):
    cli.answer(
        stop=results.Stopped(name="t1", was_running=True, exit_code=137, notices=("was killed",))
    )
    result = cli("gateway", "stop")
    assert result.stdout == "Gateway t1 is stopped; its data is kept.\n"
    assert result.stderr == "Note: was killed\n"


def test_list(cli):
    assert cli("gateway", "list").stdout.splitlines() == [
        "   NAME      CONTAINER  API                      IMAGE                     MADE BY",
        "*  t1        running    https://127.0.0.1:16443  rancher/k3s:v1.35.3-k3s1  openshell",
        f"   nemoclaw  absent     -{' ' * 24}-{' ' * 25}retired release",
    ]
    assert cli("gateway", "list", "-o", "name").stdout == "t1\nnemoclaw\n"


def test_list_of_nothing(cli):
    cli.answer(list=())
    assert "gateway start" in cli("gateway", "list").stdout
    assert cli("gateway", "list", "-o", "name").stdout == ""


def test_info_shows_settings_that_say_something(cli):
    lines = cli("gateway", "info").stdout.splitlines()
    assert lines[0] == "Gateway t1"
    assert "  cluster     ab" in lines
    assert lines[-2:] == ["  settings", "    image  x"]
    cli.answer(info=replace(INFO, settings={}))
    assert "settings" not in cli("gateway", "info").stdout


def test_logs_come_as_they_are(cli):
    assert cli("gateway", "logs").stdout_bytes == b"one\nt\xffwo\n"


@pytest.mark.parametrize("command", ["exec", "kubectl"])
def test_the_childs_status_is_passed_on(cli, command):
    cli.answer(**{command: 42})
    assert cli("gateway", command, "--", "false").exit_code == 42


def test_kubeconfigs(cli):
    assert cli("gateway", "kubeconfig", "get").stdout == "apiVersion: v1\n"
    assert (
        "is changed: context openshell-t1"
        in cli("gateway", "kubeconfig", "merge", "-g", "t1").stdout
    )
    assert "nothing had to be changed" in cli("gateway", "kubeconfig", "remove").stdout


def test_select(cli):
    assert cli("gateway", "select", "t1").stdout == "Gateway t1 is the active one.\n"


def test_a_clean_up_is_told(cli):
    cleaned = results.CleanedNodes(
        removed_nodes=("0f3a9c1b2d4e",),
        rebound_volumes=("pvc-1", "pvc-2"),
        removed_pods=("default/web-0",),
        uncontrolled_pods=("default/lone",),
        reported=("volume pvc-3 was left alone: its folder is missing",),
        postponed="kubectl did not answer",
    )
    cli.answer(start=replace(STARTED, cleaned=cleaned))
    text = cli("gateway", "start").stdout
    for word in (
        "0f3a9c1b2d4e",
        "pvc-1, pvc-2",
        "default/web-0",
        "default/lone",
        "pvc-3",
        "answer",
    ):
        assert word in text


def test_an_empty_plan(cli):
    cli.answer(plan_start=results.Planned(name="t1", actions=()))
    assert "nothing would be done" in cli("gateway", "start", "--dry-run").stdout


def test_what_comes_from_elsewhere_does_not_steer_the_terminal(cli):
    cli.answer(list=(replace(ROWS[0], image="\x1b[2J\x9bevil"),))
    text = cli("gateway", "list").stdout
    assert "\x1b" not in text
    assert "\x9b" not in text


def test_destroy_with_yes_asks_nobody(cli):
    result = cli("gateway", "destroy", "-g", "t1", "--yes")
    assert result.exit_code == 0
    assert cli.calls == [("losses", "t1"), ("destroy", "t1")]
    assert "removed  volume openshell-cluster-t1" in result.stdout


def test_destroy_without_a_terminal_and_without_yes_removes_nothing(cli):
    result = cli("gateway", "destroy", "-g", "t1", stdin="y\n")
    assert result.exit_code == 2
    assert cli.calls == [("losses", "t1")]
    for word in ("openshell-cluster-t1", "default/data-1", "2026-01-02T03:04:05Z", "--yes"):
        assert word in result.stderr


def test_destroy_of_nothing_asks_nobody_and_says_so(cli):
    cli.answer(
        losses=results.Losses(name="t1", container="", volume="", network="", claims=None),
        destroy=results.Destroyed(name="t1", removed=()),
    )
    result = cli("gateway", "destroy", "-g", "t1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "nothing had to be removed" in result.stdout


def test_destroy_says_what_it_left_and_that_claims_are_unknown(cli):
    cli.answer(
        losses=replace(LOSSES, claims=None, container="", network=""),
        destroy=results.Destroyed(name="t1", removed=("volume v",), kept=("network n: in use",)),
    )
    assert "cannot be listed" in cli("gateway", "destroy").stderr
    cli.answer(losses=replace(LOSSES, claims=("default/data",)))
    assert "with 1 claim\n" in cli("gateway", "destroy").stderr
    assert "left     network n: in use" in cli("gateway", "destroy", "-y").stdout


def test_a_bundle_tells_where_it_is_and_what_is_not_in_it(cli):
    saved = results.DiagnosticsSaved(name="t1", path="/d/x.tar.gz", unread=("cluster: no answer",))
    cli.answer(bundle=saved)
    assert cli("doctor", "bundle").stdout.splitlines() == [
        "What can be seen of the gateway t1 is in /d/x.tar.gz",
        "  not read  cluster: no answer",
    ]
