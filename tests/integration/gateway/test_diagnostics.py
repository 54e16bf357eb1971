"""What can be seen of a real gateway is saved, without any of its real secrets."""

import base64
import json
import stat
import tarfile
from pathlib import Path

import pytest

from tests.integration.gateway.driver import Gateway
from tests.until import until

REGISTRY_PASSWORD = "reg1stry-pass-0f-a-user"
VARIABLE = "v4riable-0f-a-user"
REGISTRIES = f"""\
configs:
  registry.invalid:
    auth:
      username: somebody
      password: "{REGISTRY_PASSWORD}"
"""
ILL = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "ill", "namespace": "default"},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "registry.invalid/nothing:1",
                "imagePullPolicy": "Never",
                "env": [{"name": "X", "value": VARIABLE}],
            }
        ]
    },
}


def archive(path: str) -> dict[str, str]:
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    with tarfile.open(path) as opened:
        read = {member.name.partition("/")[2]: opened.extractfile(member) for member in opened}
        return {name: file.read().decode() for name, file in read.items() if file is not None}


def node_log(found: dict[str, str]) -> str:
    """Of the present life and the one before: the engine may have started it again just now."""
    return found.get("node/log-before.txt", "") + found["node/log.txt"]


def secrets_of(gateway: Gateway) -> list[str]:
    """As they lie in the node now."""
    files = ("server/token", "server/cred/passwd", "openshell/node/password")
    folder = "/var/lib/rancher/k3s"
    token, passwords, node = (gateway.exec("cat", f"{folder}/{file}").strip() for file in files)
    told = [token, token.rpartition(":")[2], node, REGISTRY_PASSWORD, VARIABLE]
    told += [line.partition(",")[0] for line in passwords.splitlines()]
    key = gateway.exec("kubectl", "config", "view", "--raw", "-o", CLIENT_KEY).strip()
    return [*told, key, *base64.b64decode(key).decode().splitlines()[1:-1]]


CLIENT_KEY = "jsonpath={.users[0].user.client-key-data}"


def say(gateway: Gateway, *lines: str) -> None:
    """Let the node's log tell them."""
    gateway.exec("sh", "-c", 'printf "%s\\n" "$@" >/proc/1/fd/2', "sh", *lines)


def is_stuck(gateway: Gateway) -> bool:
    states = gateway.get("pod", "ill")["status"].get("containerStatuses") or [{}]
    return "waiting" in states[0].get("state", {})


@pytest.fixture(scope="module")
def gateway(make_gateway, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    folder = tmp_path_factory.mktemp("given")
    token, registries = folder / "token", folder / "registries.yaml"
    token.write_text("t0ken-0f-this-very-cluster")
    registries.write_text(REGISTRIES)
    token.chmod(0o600)
    made = make_gateway()
    made.start("--token-file", token, "--registries", registries, "--env", f"MY_SECRET={VARIABLE}")
    return made


def test_a_bundle_of_a_running_gateway_tells_all_but_its_secrets(gateway: Gateway) -> None:
    """The actual token, passwords and keys are looked for, and the log has told them all."""
    gateway.apply(ILL)
    until(lambda: is_stuck(gateway), "the pod that cannot run")
    secrets = secrets_of(gateway)
    say(gateway, *secrets, *(base64.b64encode(secret.encode()).decode() for secret in secrets))
    told = gateway.command("doctor", "bundle", "--name", gateway.name, "-o", "json", expect=0)
    result = told.envelope["result"]
    found = archive(result["path"])

    text = "\n".join(found.values())
    assert [secret for secret in secrets if secret in text] == []
    assert text.count("***") > len(secrets)
    assert result["unread"] == []
    assert "k3s is up and running" in found["node/log.txt"]
    assert "ErrImageNeverPull" in found["cluster/pods-unwell.json"]
    assert "default/ill" in found["cluster/events.json"]
    assert "df -h" in found["node/system.txt"]
    assert "containerd: " in found["node/component-logs.txt"]
    assert json.loads(found["containers.json"])[0]["name"] == gateway.container
    assert json.loads(found["engine.json"])["api_version"]


def test_a_start_that_fails_tells_the_cause_and_keeps_the_evidence(gateway: Gateway) -> None:
    """R95: the node's last words are saved, and the volume stays."""
    claim = gateway.command.docker("volume", "inspect", gateway.container)
    broken = ("--recreate", "--k3s-arg=--no-such-flag", "-o", "json")
    error = gateway.run("start", *broken, expect=8).envelope["error"]
    assert "does not know an argument it was given" in error["brief"]
    assert "no-such-flag" in error["brief"]
    found = archive(error["diagnostics"])
    assert "no-such-flag" in node_log(found)
    assert json.loads(found["summary.json"])["brief"] == error["brief"]
    assert json.loads(found["containers.json"])[0]["restart_count"] >= 0
    assert gateway.command.docker("volume", "inspect", gateway.container) == claim

    gateway.run("stop")
    stopped = gateway.command("doctor", "bundle", "--name", gateway.name, "-o", "json", expect=0)
    found = archive(stopped.envelope["result"]["path"])
    assert "containerd" in found["node/containerd.txt"]
    assert "no-such-flag" in node_log(found)


def test_a_gateway_that_is_not_there_gives_the_engines_facts(make_gateway, tmp_path: Path) -> None:
    absent = make_gateway()
    file = tmp_path / "mine.tar.gz"
    told = absent.command("doctor", "bundle", "--name", absent.name, "--file", file, expect=0)
    assert str(file) in told.out
    assert json.loads(archive(str(file))["containers.json"]) == []
