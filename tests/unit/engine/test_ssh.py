"""The command that leads to an engine behind ssh."""

import shlex

import pytest

from openshell_bootstrap.engine.ssh import ssh_command

HOW = ["-o", "ConnectTimeout=30", "-T", "--"]


@pytest.mark.parametrize(
    ("url", "before", "host", "there"),
    [
        ("ssh://h", [], "h", "docker system dial-stdio"),
        ("ssh://u@h:22", ["-l", "u", "-p", "22"], "h", "docker system dial-stdio"),
        ("ssh://h/", [], "h", "docker system dial-stdio"),
        ("ssh://h/run/x", [], "h", "docker --host unix:///run/x system dial-stdio"),
        (
            "ssh://h/a;b c",
            [],
            "h",
            f"docker --host {shlex.quote('unix:///a;b c')} system dial-stdio",
        ),
    ],
)
def test_it_is_the_docker_commands_own(url: str, before: list[str], host: str, there: str) -> None:
    """R103."""
    assert ssh_command(url) == ["ssh", *before, *HOW, host, there]
