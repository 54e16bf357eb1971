"""The JSON output is a contract: a changed key fails here."""

import json

import pytest
import yaml

from openshell_bootstrap import errors
from openshell_bootstrap.cli.errors import code_of

PLANNED = {"what", "why"}
CLEANED = {
    "removed_nodes",
    "rebound_volumes",
    "removed_pods",
    "uncontrolled_pods",
    "reported",
    "postponed",
}
KEYS = {
    "gateway start": {
        "name",
        "node_name",
        "endpoint",
        "kubeconfig",
        "image",
        "actions",
        "cleaned",
        "notices",
    },
    "gateway start --dry-run": {"name", "actions", "notices"},
    "gateway stop": {"name", "was_running", "exit_code", "notices"},
    "gateway destroy --yes": {"name", "removed", "kept"},
    "gateway status": {
        "name",
        "word",
        "cause",
        "next_step",
        "exit_code",
        "container",
        "container_name",
        "health",
        "node",
        "workloads",
        "claims",
        "dns",
        "endpoint",
        "volume",
        "volume_present",
        "network_present",
        "image",
        "drift",
        "notices",
    },
    "gateway select t1": {"name"},
    "gateway info": {
        "name",
        "node_name",
        "container",
        "volume",
        "network",
        "endpoint",
        "image",
        "kubeconfig",
        "data_mountpoint",
        "cluster_id",
        "k3s_version",
        "settings",
    },
    "gateway kubeconfig get": {"name", "content"},
    "gateway kubeconfig merge": {"path", "context", "changed"},
    "gateway kubeconfig remove": {"path", "context", "changed"},
    "doctor bundle": {"name", "path", "unread"},
    "doctor check": {"name", "checks", "exit_code"},
    "version": {"client", "gateway", "k3s"},
}
NODE = {"name", "ready", "version", "address", "detail", "foreign", "pressures"}
CHECK = {"check", "severity", "brief", "details", "remedies", "exit_code"}
ROW = {"name", "active", "container", "endpoint", "image", "managed"}


def command_of(words: str) -> str:
    return " ".join(word for word in words.split() if not word.startswith("-")).removesuffix(" t1")


@pytest.mark.parametrize("words", KEYS)
def test_keys_of_results(cli, words):
    result = cli(*words.split(), "-o", "json")
    envelope = json.loads(result.stdout)
    assert set(envelope) == {"schema", "command", "ok", "result"}
    assert (envelope["schema"], envelope["ok"]) == (1, True)
    assert envelope["command"] == command_of(words)
    assert set(envelope["result"]) == KEYS[words]


def test_keys_of_parts(cli):
    started = json.loads(cli("gateway", "start", "-o", "json").stdout)["result"]
    assert set(started["cleaned"]) == CLEANED
    assert set(started["actions"][0]) == PLANNED
    status = json.loads(cli("gateway", "status", "-o", "json").stdout)["result"]
    assert set(status["node"]) == NODE
    assert set(status["workloads"][0]) == {"name", "ready", "wanted"}
    checked = json.loads(cli("doctor", "check", "-o", "json").stdout)["result"]
    assert set(checked["checks"][0]) == CHECK
    rows = json.loads(cli("gateway", "list", "-o", "json").stdout)["result"]
    assert [set(row) for row in rows] == [ROW, ROW]


def leaves(kind: type[errors.BootstrapError]) -> list[type[errors.BootstrapError]]:
    own = [kind] if kind.__module__ == errors.__name__ else []
    return own + [leaf for child in kind.__subclasses__() for leaf in leaves(child)]


EXIT_CODES = {
    "bootstrap": 1,
    "config": 2,
    "engine": 5,
    "engine-unavailable": 5,
    "engine-too-old": 5,
    "no-such-container": 5,
    "no-such-image": 5,
    "no-such-network": 5,
    "no-such-volume": 5,
    "name-conflict": 5,
    "port-conflict": 5,
    "container-not-running": 5,
    "pull": 5,
    "cluster": 6,
    "cluster-unreachable": 6,
    "node-refused": 6,
    "resource-conflict": 6,
    "no-such-resource": 6,
    "cluster-timeout": 6,
    "other-resource": 6,
    "resource-exists": 6,
    "invalid-resource": 6,
    "access-denied": 6,
    "no-such-kind": 6,
    "sandbox-not-found": 3,
    "sandbox-exists": 4,
    "sandbox-state": 4,
    "sandbox-failed": 8,
    "invalid-sandbox": 2,
    "wait-timeout": 7,
    "wait-failed": 8,
    "gateway-not-found": 3,
    "gateway-exists": 4,
    "gateway-state": 4,
    "lost-volume": 4,
    "gateway-unhealthy": 8,
    "node-stopped": 8,
    "locked": 10,
    "unusable-lock": 10,
}


def test_every_error_class_has_its_exit_code_here():
    assert {code_of(kind("x")) for kind in leaves(errors.BootstrapError)} == set(EXIT_CODES)


@pytest.mark.parametrize("kind", leaves(errors.BootstrapError), ids=lambda kind: kind.__name__)
def test_every_error_as_text_and_as_an_envelope(cli, kind):
    error = kind("It broke", details="line one\nline two", remedies=["Mend it."])
    error.add_note("and the clean-up failed too")
    cli.answer(stop=error)
    told = cli("gateway", "stop")
    assert told.exit_code == EXIT_CODES[code_of(error)]
    assert told.stdout == ""
    assert told.stderr == (
        "Error: It broke\n  line one\n  line two\n  and the clean-up failed too\n-> Mend it.\n"
    )
    for output, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        result = cli("gateway", "stop", "-o", output)
        assert result.exit_code == EXIT_CODES[code_of(error)]
        assert result.stderr == ""
        assert read(result.stdout) == {
            "schema": 1,
            "command": "gateway stop",
            "ok": False,
            "error": {
                "code": code_of(error),
                "brief": "It broke",
                "details": "line one\nline two\nand the clean-up failed too",
                "remedies": ["Mend it."],
                "diagnostics": "",
            },
        }


def test_an_error_tells_where_its_evidence_is(cli):
    error = errors.WaitTimeoutError("No sign of it", remedies=["Look."])
    error.diagnostics = "/state/t1/x-start.tar.gz"
    cli.answer(stop=error)
    told = cli("gateway", "stop").stderr.splitlines()
    assert told[-2:] == ["-> Look.", "What could be seen is in /state/t1/x-start.tar.gz"]
    envelope = json.loads(cli("gateway", "stop", "-o", "json").stdout)
    assert envelope["error"]["diagnostics"] == "/state/t1/x-start.tar.gz"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["gateway", "stop", "--bad", "-o", "json"], "gateway stop"),
        (["gateway", "stop", "-ojson", "--bad"], "gateway stop"),
        (["gateway", "stop", "--output=json", "--grace", "x"], "gateway stop"),
        (["gateway", "stop", "--output", "json", "extra"], "gateway stop"),
        (["gateway", "start", "--api-port", "0", "-o", "json"], "gateway start"),
        (["gateway", "kubeconfig", "gett", "-o", "json"], "gateway kubeconfig"),
        (["gateway", "select", "-o", "json"], "gateway select"),
        (["nonsense", "-o", "json"], ""),
        (["--nonsense", "-o", "json"], ""),
    ],
)
def test_an_error_before_the_operation_began_is_an_envelope_too(cli, words, command):
    result = cli(*words)
    assert result.exit_code == 2
    assert cli.calls == []
    envelope = json.loads(result.stdout)
    assert set(envelope["error"]) == {"code", "brief", "details", "remedies", "diagnostics"}
    assert (envelope["ok"], envelope["command"], envelope["error"]["code"]) == (
        False,
        command,
        "config",
    )
    assert envelope["error"]["remedies"]


@pytest.mark.parametrize(
    "words",
    [
        ["gateway", "kubectl", "get", "nodes", "-o", "json"],
        ["gateway", "exec", "--", "ls", "-o", "json"],
        ["gateway", "stop", "--bad", "--", "-o", "json"],
        ["gateway", "stop", "-o"],
        ["gateway", "stop", "-o", "xml"],
    ],
)
def test_what_does_not_ask_us_for_json_gets_text(cli, words):
    error = errors.GatewayNotFoundError("none")
    cli.answer(kubectl=error, exec=error, stop=error)
    result = cli(*words)
    assert result.exit_code in {2, 3}
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")


def test_a_fault_of_ours_is_1_and_says_how_to_report_it(cli):
    cli.answer(stop=ZeroDivisionError("oh"))
    result = cli("gateway", "stop")
    assert result.exit_code == 1
    assert "ZeroDivisionError: oh" in result.stderr
    assert "openshell -v" in result.stderr
    assert "Traceback" not in result.stderr
    envelope = json.loads(cli("gateway", "stop", "-o", "json").stdout)
    assert envelope["error"]["code"] == "internal"


def test_verbose_tells_the_stack_with_its_cause(cli):
    error = errors.EngineError("It broke")
    error.__cause__ = ValueError("because")
    cli.answer(stop=error)
    result = cli("-v", "gateway", "stop")
    assert "Traceback" in result.stderr
    assert "ValueError: because" in result.stderr
    assert "Traceback" not in cli("gateway", "stop").stderr
    assert "Traceback" not in cli("gateway", "start", "-v", "/a:/b", "--gpus", "x").stderr


def test_ctrl_c_is_130_and_says_what_stands(cli):
    cli.answer(start=KeyboardInterrupt())
    result = cli("gateway", "start")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    envelope = json.loads(cli("gateway", "start", "-o", "json").stdout)
    assert envelope["error"]["code"] == "cancelled"


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_words_that_are_no_unicode_are_told_all_the_same(cli, output):
    for words in (["--b\udcff"], ["--grace", "\udcff"], ["\udcff"]):
        assert cli("gateway", "stop", "-o", output, *words).exit_code == 2


@pytest.mark.parametrize("option", ["--image", "--env", "-v", "--k3s-arg", "--registries"])
def test_values_that_are_no_unicode_are_refused_before_anything_is_made(cli, option):
    refused = cli("gateway", "start", "-o", "json", option, "A=/a\udcff:/b")
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["code"] == "config"
    assert cli.calls == []
