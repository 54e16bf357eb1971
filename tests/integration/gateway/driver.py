"""A gateway as its user has it: the installed command, and kubectl and docker beside it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPENSHELL = Path(sys.executable).with_name("openshell")
COMMAND_S = 200


@dataclass(frozen=True)
class Ran:
    """A command that ran to its end."""

    exit_code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"exit code {self.exit_code}\n{self.out}\n{self.err}"


@dataclass(frozen=True)
class Command:
    """`openshell` for one user, whose home is a folder of the test.

    ``prefix`` is what it runs under, such as another network namespace.
    """

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()

    def __call__(self, *words: object, expect: int | None = None, **changed: str) -> Ran:
        ran = finish(self.begin(*words, **changed))
        assert expect is None or ran.exit_code == expect, f"{words}: {ran}"
        return ran

    def begin(
        self, *words: object, program: Sequence[object] = (OPENSHELL,), **changed: str
    ) -> subprocess.Popen[str]:
        """Start it and leave it running: in a session of its own, without a terminal."""
        return subprocess.Popen(
            [*self.prefix, *map(str, program), *map(str, words)],
            env=self.full_environment(**changed),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def docker(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        """`docker` of the same user."""
        return docker(*words, stdin=stdin, check=check, environment=self.full_environment())

    def full_environment(self, **changed: str) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if "OPENSHELL" not in key}
        own = {
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "KUBECONFIG": str(self.home / "kubeconfig"),
        }
        return {**inherited, **own, **self.environment, **changed}


@dataclass(frozen=True)
class Gateway:
    """One gateway by its name; all of Docker's names follow from it."""

    command: Command
    name: str

    @property
    def container(self) -> str:
        return f"openshell-cluster-{self.name}"

    @property
    def node(self) -> str:
        return f"openshell-{self.name}"

    @property
    def address(self) -> str:
        """On the gateway's own network."""
        return self.inspect()["NetworkSettings"]["Networks"][self.container]["IPAddress"]

    @property
    def kubeconfig(self) -> Path:
        return self.command.home / "config" / "openshell" / "gateways" / self.name / "kubeconfig"

    def run(self, verb: str, *words: object, expect: int | None = 0, **changed: str) -> Ran:
        """`openshell gateway VERB --name NAME …`."""
        return self.command("gateway", verb, "--name", self.name, *words, expect=expect, **changed)

    def start(self, *words: object, **changed: str) -> dict[str, Any]:
        """Bring it up; the result of the envelope."""
        return self.run("start", "-o", "json", *words, **changed).envelope["result"]

    def exec(self, *argv: str, stdin: str | None = None) -> str:
        """Run a command in the node, past the product."""
        options = [] if stdin is None else ["--interactive"]
        return self.command.docker("exec", *options, self.container, *argv, stdin=stdin)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.exec("kubectl", *arguments, stdin=stdin)

    def get(self, *arguments: str) -> dict[str, Any]:
        """Kubernetes objects."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *objects: dict[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def nodes(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.get("nodes")["items"]]

    def inspect(self) -> dict[str, Any]:
        told = self.command.docker("inspect", "--type", "container", self.container)
        return json.loads(told)[0]


def finish(process: subprocess.Popen[str]) -> Ran:
    """Wait for a command's end."""
    out, err = process.communicate(timeout=COMMAND_S)
    return Ran(process.returncode, out, err)


def docker(
    *words: str,
    stdin: str | None = None,
    check: bool = True,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the docker command prints; with ``check`` it must succeed."""
    done = subprocess.run(
        ["docker", *words],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, f"docker {words}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def inspect(container: str) -> dict[str, Any]:
    return json.loads(docker("inspect", "--type", "container", container))[0]
