"""The runtime wrapper: which file it trims, what it cuts from it, and that runc gets the rest."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WRAPPER = Path(__file__).resolve().parents[2] / "tools" / "runc-bounded"

_loader = importlib.machinery.SourceFileLoader("runc_bounded", str(WRAPPER))
runtime = importlib.util.module_from_spec(importlib.util.spec_from_loader(_loader.name, _loader))
_loader.exec_module(runtime)

ALL = (1 << len(runtime.CAPABILITIES)) - 1
NO_RESOURCE = ALL & ~(1 << runtime.CAPABILITIES.index("CAP_SYS_RESOURCE"))


def test_the_capability_table_has_the_kernels_numbers():
    numbers = {name: bit for bit, name in enumerate(runtime.CAPABILITIES)}
    assert numbers["CAP_CHOWN"] == 0
    assert numbers["CAP_SYS_ADMIN"] == 21
    assert numbers["CAP_SYS_RESOURCE"] == 24
    assert numbers["CAP_BPF"] == 39
    assert numbers["CAP_CHECKPOINT_RESTORE"] == 40


def test_the_bounding_set_is_read_from_the_process_status():
    assert runtime.bounding_set("Name:\tx\nCapBnd:\t000001fffeffffff\n") == NO_RESOURCE
    with pytest.raises(ValueError, match="CapBnd"):
        runtime.bounding_set("Name:\tx\n")


@pytest.mark.parametrize(
    ("mask", "last", "lacking"),
    [
        (ALL, 40, []),
        (NO_RESOURCE, 40, ["CAP_SYS_RESOURCE"]),
        (NO_RESOURCE & 0x3FFFFFFFFF, 37, ["CAP_SYS_RESOURCE"]),
        (ALL, 42, ["41", "42"]),
        (0, 1, ["CAP_CHOWN", "CAP_DAC_OVERRIDE"]),
    ],
    ids=["complete", "one", "older kernel", "kernel newer than the table", "none"],
)
def test_lacking_capabilities_are_those_the_kernel_knows_and_the_machine_does_not_grant(
    mask, last, lacking
):
    assert runtime.missing_capabilities(mask, last) == lacking


def test_every_set_is_trimmed_and_unknown_names_stay():
    sets = {
        "bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_OF_THE_FUTURE"],
        "effective": ["CAP_SYS_RESOURCE"],
        "inheritable": None,
        "permitted": ["CAP_KILL", "CAP_SYS_RESOURCE"],
        "ambient": [],
    }
    assert runtime.trim(sets, NO_RESOURCE)
    assert sets == {
        "bounding": ["CAP_CHOWN", "CAP_OF_THE_FUTURE"],
        "effective": [],
        "inheritable": [],
        "permitted": ["CAP_KILL"],
        "ambient": [],
    }
    assert not runtime.trim(sets, NO_RESOURCE)


@pytest.mark.parametrize(
    ("call", "path"),
    [
        ("create --bundle /b ID", "/b/config.json"),
        (
            "--root /r --log /l --log-format json create --bundle /b --pid-file /p ID",
            "/b/config.json",
        ),
        ("--root=/r --systemd-cgroup run -b /b ID", "/b/config.json"),
        ("restore --bundle=/b ID", "/b/config.json"),
        ("create ID", "./config.json"),
        ("--root /r exec --process /p.json --detach ID", "/p.json"),
        ("exec -process=/p.json ID", "/p.json"),
        ("exec -p /p.json ID", "/p.json"),
        ("exec ID sh", None),
        ("--root create delete ID", None),
        ("state exec", None),
        ("--version", None),
        ("", None),
    ],
)
def test_the_file_that_runc_will_read_is_found_in_its_arguments(call, path):
    assert runtime.file_to_trim(call.split()) == path


@pytest.mark.parametrize("shape", ["config", "process"])
def test_a_file_is_trimmed_in_place_and_keeps_its_mode(tmp_path, shape):
    path = tmp_path / "file.json"
    process_part = {"args": ["sh"], "capabilities": {"bounding": ["CAP_SYS_RESOURCE", "CAP_KILL"]}}
    path.write_text(json.dumps({"process": process_part} if shape == "config" else process_part))
    path.chmod(0o640)
    runtime.trim_file(str(path), NO_RESOURCE)
    document = json.loads(path.read_text())
    trimmed = document["process"] if shape == "config" else document
    assert trimmed == {"args": ["sh"], "capabilities": {"bounding": ["CAP_KILL"]}}
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("document", [{"process": {"args": ["sh"]}}, {"capabilities": None}])
def test_a_file_without_capabilities_is_left_as_it_is(tmp_path, document):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document))
    before = path.stat().st_ino
    runtime.trim_file(str(path), 0)
    assert path.stat().st_ino == before


def test_the_wrapper_hands_everything_to_runc_and_refuses_what_it_cannot_trim(tmp_path):
    fake = tmp_path / "runc"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    (tmp_path / "config.json").write_text('{"process": {}}')
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(*arguments):
        command = [sys.executable, str(WRAPPER), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    passed = run("--root", "/r", "create", "--bundle", str(tmp_path), "an id")
    assert passed.stdout.splitlines() == [
        "--root",
        "/r",
        "create",
        "--bundle",
        str(tmp_path),
        "an id",
    ]
    (tmp_path / "config.json").write_text("{")
    refused = run("create", "--bundle", str(tmp_path), "ID")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "cannot trim the capabilities in" in refused.stderr
