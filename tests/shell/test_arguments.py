"""What k3s is started with."""

import pytest

from tests.shell.conftest import Node

DISK = [
    "--kubelet-arg=eviction-hard=imagefs.available<1%,nodefs.available<1%",
    "--kubelet-arg=eviction-pressure-transition-period=10s",
    "--kubelet-arg=image-gc-high-threshold=100",
]
GATE = "--kube-apiserver-arg=feature-gates=MutablePVNodeAffinity=true"

SHOW = 'show() { printf "%s\\n" "$@"; }; run_k3s() { show "$@"; };'


def added(node: Node, function: str, *arguments: str) -> list[str]:
    return node.answer(f'{function} "$@"; printf %s "$extra_arguments"', *arguments).splitlines()


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ([], DISK),
        (["--kubelet-arg=eviction-hard=nodefs.available<9%"], DISK[1:]),
        (["--kubelet-arg", "eviction-hard=nodefs.available<9%"], DISK[1:]),
        (["--kubelet-arg=image-gc-high-threshold=90"], DISK[:2]),
        (["--kubelet-arg=eviction-hard-not=1", "eviction-hard=1"], DISK),
    ],
)
def test_disk_arguments_yield_to_the_user_s(
    node: Node, user: list[str], expected: list[str]
) -> None:
    """R102."""
    assert added(node, "set_disk_arguments", "server", *user) == expected


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("k3s version v1.35.3+k3s1 (0a1b2c3)\ngo version go1.25", "35"),
        ("k3s version v1.36.3+k3s1 (source)", "36"),
        ("k3s version v2.0.0", ""),
        ("k3s version v1.x.0", ""),
        ("", ""),
    ],
)
def test_the_minor_version_is_read(node: Node, version: str, minor: str) -> None:
    (node.bin / "k3s").write_text(f"#!/bin/sh\ncat <<'E'\n{version}\nE\n")
    done = node.call('read_k3s_minor; printf %s "$minor"')
    assert done.stdout == minor
    assert ("cannot be told" in done.stderr) is (minor == "")


@pytest.mark.parametrize(
    ("minor", "user", "expected"),
    [
        ("34", [], []),
        ("35", [], [GATE]),
        ("37", [], [GATE]),
        ("38", [], []),
        ("", [], []),
        ("36", ["--kube-apiserver-arg=v=2"], ["--kube-apiserver-arg=v=2", GATE]),
        (
            "36",
            ["--kube-apiserver-arg=feature-gates=A=true,B=false", "--tls-san=x y"],
            [
                "--kube-apiserver-arg=feature-gates=A=true,B=false,MutablePVNodeAffinity=true",
                "--tls-san=x y",
            ],
        ),
        (
            "36",
            ["--kube-apiserver-arg", "feature-gates=A=true"],
            ["--kube-apiserver-arg", "feature-gates=A=true,MutablePVNodeAffinity=true"],
        ),
        (
            "36",
            ["--kube-apiserver-arg=feature-gates=MutablePVNodeAffinity=false"],
            ["--kube-apiserver-arg=feature-gates=MutablePVNodeAffinity=false"],
        ),
        ("36", ["--kubelet-arg=feature-gates=A=true"],
         ["--kubelet-arg=feature-gates=A=true", GATE]),
        ("34", ["--kube-apiserver-arg=feature-gates=A=true"],
         ["--kube-apiserver-arg=feature-gates=A=true"]),
    ],
)  # fmt: skip
def test_the_affinity_gate_joins_the_user_s(
    node: Node, minor: str, user: list[str], expected: list[str]
) -> None:
    script = f'{SHOW} minor={minor}; supervise_k3s "$@"'
    assert node.answer(script, "server", *user).splitlines() == ["server", *expected]


def test_ours_follow_the_user_s_and_nothing_is_expanded(node: Node) -> None:
    script = f"""{SHOW} minor=34
        add_argument '--kubelet-arg=a=*'
        add_argument '--node-name=two words'
        supervise_k3s "$@" """
    assert node.answer(script, "server", "--x=*", "y  z").splitlines() == [
        "server", "--x=*", "y  z", "--kubelet-arg=a=*", "--node-name=two words",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variable", "argument", "line"),
    [
        ("openshell-t1", ["--node-name=openshell-t1"], "openshell-t1 (from OPENSHELL_NODE_NAME)"),
        ("", [], "Box (host name)"),
        (None, [], "Box (host name)"),
    ],
)
def test_the_node_s_name(node: Node, variable: str | None, argument: list[str], line: str) -> None:
    """R02: one argument, or none at all."""
    if variable is not None:
        node.environment["OPENSHELL_NODE_NAME"] = variable
    assert added(node, "name_node") == argument
    assert node.call("name_node").stderr == f"openshell: node name {line}\n"


def test_a_given_token_travels_in_a_file(node: Node) -> None:
    assert added(node, "give_token") == []
    node.write("opt/openshell/token", "secret")
    assert added(node, "give_token") == [f"--token-file={node.bundle}/token"]
