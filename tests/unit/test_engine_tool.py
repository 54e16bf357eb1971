"""The pure parts of tools/engine: what it decides, reads and trims before it touches anything."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from engine_lib import daemon, host, leftovers, private, probe, process  # noqa: E402
from engine_lib.errors import EngineToolError  # noqa: E402

_loader = importlib.machinery.SourceFileLoader("engine_tool", str(TOOLS / "engine"))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(_loader.name, _loader))
_loader.exec_module(tool)


@pytest.mark.parametrize(
    ("os_release", "expected"),
    [
        ('ID=debian\nVERSION_ID="12"\n', True),
        ("ID=ubuntu\nID_LIKE=debian\n", True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ("ID='pop'\nID_LIKE='ubuntu debian'\n", True),
        ('ID=fedora\nID_LIKE=""\n', False),
        ("# debian\nID=alpine\n", False),
        ("ID=notdebian\n", False),
        ("", False),
    ],
)
def test_debian_and_its_like_are_told_from_the_rest(os_release, expected):
    assert host.is_debian_like(os_release) is expected


def test_what_stands_in_the_way_is_said_with_what_to_do():
    assert host.find_obstacle("ID=debian", 0) is None
    assert "sudo" in (host.find_obstacle("ID=debian", 1000) or "")
    assert "dnf install" in (host.find_obstacle("ID=fedora", 0) or "")


def test_only_packages_whose_command_is_absent_are_missing():
    there = {"dockerd", "iptables"}
    wanted = {"dockerd": "docker.io", "iptables": "iptables", "ip": "iproute2"}
    assert host.missing_packages(wanted, lambda name: name if name in there else None) == [
        "iproute2"
    ]


def test_limits_are_raised_where_too_low_and_never_lowered(tmp_path):
    (tmp_path / "fs/inotify").mkdir(parents=True)
    (tmp_path / "net/ipv4").mkdir(parents=True)
    (tmp_path / "fs/inotify/max_user_instances").write_text("128\n")
    (tmp_path / "fs/inotify/max_user_watches").write_text("9999999\n")
    (tmp_path / "net/ipv4/ip_forward").write_text("1\n")
    assert host.raise_limits(tmp_path) == ["Raised fs.inotify.max_user_instances from 128 to 512."]
    assert (tmp_path / "fs/inotify/max_user_instances").read_text() == "512\n"
    assert (tmp_path / "fs/inotify/max_user_watches").read_text() == "9999999\n"
    assert host.raise_limits(tmp_path) == []


def test_the_installed_runtime_differs_from_its_source_in_the_interpreter_alone(tmp_path):
    installed = host.install_runtime(tmp_path)
    lines = installed.read_text().splitlines()
    assert lines[0].startswith("#!/")
    assert lines[0].endswith(" -IS")
    assert lines[1:] == (TOOLS / "runc-bounded").read_text().splitlines()[1:]
    assert os.access(installed, os.X_OK)
    assert list(tmp_path.iterdir()) == [installed]


STAT = "{pid} ({name}) {state} 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {ticks} 1 1 1"


def make_proc(tmp_path, **kwargs):
    values = {"pid": 7, "name": "dockerd", "state": "S", "ticks": 4711} | kwargs
    folder = tmp_path / str(values["pid"])
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(STAT.format(**values))
    boot = tmp_path / "sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True, exist_ok=True)
    boot.write_text(values.get("boot", "boot-1") + "\n")
    return tmp_path


@pytest.mark.parametrize("name", ["dockerd", "a b", "evil) S 1 (x", "(", ")"])
def test_the_start_time_is_read_behind_any_name(name):
    assert process.parse_start_ticks(STAT.format(pid=7, name=name, state="S", ticks=99)) == 99


def test_a_process_that_has_ended_but_was_not_collected_does_not_run():
    assert process.parse_start_ticks(STAT.format(pid=7, name="x", state="Z", ticks=99)) is None


def test_a_process_is_known_by_number_start_and_boot(tmp_path):
    proc = make_proc(tmp_path)
    identity = process.find_identity(7, proc)
    assert identity == process.ProcessIdentity(7, 4711, "boot-1")
    assert process.is_alive(identity, proc)
    assert process.find_identity(8, proc) is None
    make_proc(tmp_path, ticks=4712)
    assert not process.is_alive(identity, proc)
    make_proc(tmp_path, boot="boot-2")
    assert not process.is_alive(identity, proc)


def test_stopping_a_process_whose_number_was_taken_over_leaves_the_new_owner_alone():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as bystander:
        own = process.find_identity(bystander.pid)
        former = process.ProcessIdentity(own.pid, own.start_ticks - 1, own.boot_id)
        assert process.stop_process(former, timeout_s=1)
        assert process.is_alive(own)
        assert process.stop_process(own, timeout_s=5)
        assert bystander.wait() == -15


def test_a_process_that_does_not_end_is_reported():
    shell = ["sh", "-c", "trap '' TERM; echo ready; cat"]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout.readline() == b"ready\n"
        assert not process.stop_process(process.find_identity(stubborn.pid), timeout_s=0.05)


def test_a_record_survives_and_a_broken_one_is_none(tmp_path):
    path = tmp_path / "engine.json"
    assert process.find_record(path) is None
    for record in (
        process.Record(made_folder=True),
        process.Record(made_folder=False, process=process.ProcessIdentity(7, 4711, "boot-1")),
    ):
        process.write_record(path, record)
        assert process.find_record(path) == record
        assert not record.is_alive()
    for broken in (
        "",
        "{",
        "[]",
        '{"made_folder": true}',
        '{"made_folder": 1, "process": {"p": 1}}',
    ):
        path.write_text(broken)
        assert process.find_record(path) is None


def test_a_lock_makes_its_folder_and_says_so(tmp_path):
    with process.locked(tmp_path / "a/b") as made:
        assert made
    with process.locked(tmp_path / "a/b") as made:
        assert not made


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            "level=info\nfailed to start daemon: pid file found, ensure docker is not running\n",
            "failed to start daemon: pid file found, ensure docker is not running",
        ),
        (
            'time="t" level=fatal msg="can\'t open \\"x\\""\ntime="t" level=info msg="bye"\n',
            'can\'t open "x"',
        ),
        ("panic: no\nlevel=panic without more\n", "level=panic without more"),
        ('time="t" level=info msg="Starting up"\n', None),
        ("", None),
    ],
)
def test_the_cause_of_a_failed_start_is_found_in_the_log(log, cause):
    assert daemon.cause_in(log) == cause


@pytest.mark.parametrize(("text", "size"), [("512M", 512 << 20), ("8G", 8 << 30)])
def test_sizes_are_read(text, size):
    assert private.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "8", "G", "0G", "-1G", "8g", "8T", "8G\n", "8 G", "1234567G"])
def test_what_is_not_a_size_is_refused(text):
    with pytest.raises(ValueError, match="not a size"):
        private.parse_size(text)


def test_a_folder_too_deep_for_its_sockets_is_refused(tmp_path):
    private.layout_in(Path("/tmp/e"))
    with pytest.raises(EngineToolError, match="too long a path"):
        private.layout_in(tmp_path / ("x" * 90))


def test_mounts_below_a_folder_come_deepest_first():
    line = "{n} 25 0:30 / {point} rw,relatime shared:1 - ext4 /dev/x rw\n"
    points = ["/", "/e", r"/e/da\040ta", r"/e/da\040ta/deep", "/else", "/e2/data"]
    text = "".join(line.format(n=n, point=point) for n, point in enumerate(points))
    assert private.mounts_below(Path("/e"), text) == [Path("/e/da ta/deep"), Path("/e/da ta")]


def test_what_a_killed_daemon_left_is_found_by_socket_and_container(tmp_path):
    address, container = "/e/exec/containerd/containerd.sock", "c" * 64
    for pid, words, cgroup in (
        (10, ["sh"], f"3:pids:/docker/{container}/kubepods/x\n"),
        (20, ["containerd-shim", "-address", address], "3:pids:/\n"),
        (30, ["containerd-shim", "-address", address + ".other"], "3:pids:/\n"),
        (40, ["sh"], f"3:pids:/docker/{'d' * 64}\n"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes("\0".join([*words, ""]).encode())
        (tmp_path / str(pid) / "cgroup").write_text(cgroup)
    (tmp_path / "50").mkdir()
    (tmp_path / "sys").mkdir()
    assert leftovers.list_leftovers(address, {container}, tmp_path) == [20, 10]
    assert leftovers.list_leftovers(address, set(), tmp_path) == [20]


def test_cgroups_of_ended_containers_are_removed_and_no_others(tmp_path):
    for path in ("memory/docker/a/kubepods/b", "docker/a", "memory/docker/other"):
        (tmp_path / path).mkdir(parents=True)
    leftovers.remove_cgroups({"a"}, tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"memory", "memory/docker", "memory/docker/other", "docker"}


def test_only_noted_shim_sockets_are_removed(tmp_path):
    sockets, elsewhere = tmp_path / "s", tmp_path / "elsewhere"
    tasks = tmp_path / "containerd/daemon/io.containerd.runtime.v2.task/private"
    sockets.mkdir()
    for name, path in (("a", sockets / "1"), ("b", sockets / "gone"), ("c", elsewhere)):
        (tasks / name).mkdir(parents=True)
        (tasks / name / "address").write_text(f"unix://{path}")
    for path in (sockets / "1", sockets / "2", elsewhere):
        path.touch()
    leftovers.remove_shim_sockets(tmp_path, sockets)
    assert [path.name for path in sockets.iterdir()] == ["2"]
    assert elsewhere.exists()


def test_the_endpoint_is_docker_host_first(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere.sock")
    endpoint = probe.resolve_endpoint()
    assert endpoint == probe.Endpoint("unix:///elsewhere.sock", "DOCKER_HOST")
    assert endpoint.socket_path == "/elsewhere.sock"
    assert not endpoint.is_default
    assert probe.Endpoint("tcp://h:1", "x").socket_path is None


def test_without_a_docker_command_the_endpoint_is_the_default_socket(monkeypatch, tmp_path):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    endpoint = probe.resolve_endpoint()
    assert endpoint.is_default
    assert endpoint.source == "default socket"


@pytest.mark.parametrize(
    "arguments", [[], ["sideways"], ["up", "--size", "8T"], ["down", "--size", "8G"]]
)
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        tool.main(arguments)
    assert ended.value.code == 2
    assert "usage: tools/engine" in capsys.readouterr().err


def test_a_size_without_a_private_engine_is_refused(capsys):
    assert tool.main(["up", "--size", "8G"]) == 1
    assert "--size belongs to --private" in capsys.readouterr().err
