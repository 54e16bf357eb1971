"""What this host says of itself, and who has its ports."""

import os
import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from openshell_bootstrap.gateway.checks import host as module
from openshell_bootstrap.gateway.checks.host import Host, HostFacts
from openshell_bootstrap.models import PublishedPort
from tests.fakes.engine_state import INFO


def listen(address="127.0.0.1", family=socket.AF_INET):
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    return server


def test_of_another_host_nothing_is_said():
    assert Host().facts(replace(INFO, is_local=False)) == HostFacts()


def test_of_this_host_what_the_kernel_says(tmp_path, monkeypatch):
    (tmp_path / "max_user_instances").write_text("128\n")
    (tmp_path / "max_user_watches").write_text("junk\n")
    (tmp_path / "range").write_text("1024\t2048\n")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    7 kB\n")
    monkeypatch.setattr(module, "_INOTIFY", tmp_path)
    monkeypatch.setattr(module, "_EPHEMERAL", tmp_path / "range")
    monkeypatch.setattr(module, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(module, "KERNEL_MODULES", str(tmp_path / "absent"))
    facts = Host().facts(replace(INFO, data_root=str(tmp_path)))
    assert facts.inotify_instances == 128
    assert facts.inotify_watches is None
    assert facts.ephemeral_ports == (1024, 2048)
    assert not facts.has_modules
    assert facts.free_bytes is not None
    disk = shutil.disk_usage(tmp_path)
    assert facts.free_bytes > 0
    assert facts.size_bytes is not None
    assert facts.free_bytes < facts.size_bytes <= disk.total
    assert facts.available_memory == 7 * 1024


@pytest.mark.parametrize("content", [None, "MemTotal: 9 kB\n", "MemAvailable: x kB\n"])
def test_memory_that_the_kernel_does_not_tell_is_not_known(tmp_path, monkeypatch, content):
    path = tmp_path / "meminfo"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(module, "_MEMORY", path)
    assert Host().facts(INFO).available_memory is None


def test_of_another_hosts_kernel_nothing_is_said():
    assert Host().kernel(replace(INFO, is_local=False)) == {}
    assert Host().kernel(INFO)["overlay"]


def test_a_folder_can_be_written_where_it_is_or_where_it_would_be(tmp_path):
    assert Host().unwritable(tmp_path) is None
    assert Host().unwritable(tmp_path / "a" / "b") is None


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    assert Host().unwritable(tmp_path / "file" / "a") == f"{tmp_path / 'file'} is no folder"


def test_a_folder_that_refuses_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != tmp_path)
    assert Host().unwritable(tmp_path / "a") == f"{tmp_path} cannot be written"


def test_this_hosts_clock_is_the_real_one():
    assert abs(Host().now() - time.time()) < 60


@pytest.mark.parametrize("content", [None, "", "1 2 3", "a b"])
def test_a_range_that_cannot_be_read_is_the_usual_one(tmp_path, monkeypatch, content):
    path = tmp_path / "range"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(module, "_EPHEMERAL", path)
    assert Host().facts(INFO).ephemeral_ports == (32768, 60999)


def test_a_data_folder_that_cannot_be_seen_has_no_known_space(tmp_path):
    assert Host().facts(replace(INFO, data_root=str(tmp_path / "absent"))).free_bytes is None


@pytest.mark.parametrize(
    ("bound", "asked"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "::1")]
)
def test_a_port_that_a_process_has_is_told_with_the_process(bound, asked):
    """R54, R56: the holder is named before anything is made."""
    with listen(bound, socket.AF_INET6 if ":" in bound else socket.AF_INET) as server:
        number = server.getsockname()[1]
        holder = Host().port_holder(PublishedPort(asked, number, 6443))
    name = Path("/proc/self/comm").read_text().strip()
    assert holder == f"process {os.getpid()} ({name}) has it"
    assert Host().port_holder(PublishedPort(asked, number, 6443)) is None


def test_a_holder_that_cannot_be_seen_is_said_to_be_there(monkeypatch):
    monkeypatch.setattr(module, "_listening_inodes", lambda _port: set())
    with listen() as server:
        holder = Host().port_holder(PublishedPort("127.0.0.1", server.getsockname()[1], 6443))
    assert holder == "a process that this user may not see has it"


def test_a_port_that_only_root_may_bind_is_the_engines_to_bind(monkeypatch):
    def refuse(_socket, _address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    assert Host().port_holder(PublishedPort("127.0.0.1", 80, 30080)) is None


def test_an_address_that_this_host_does_not_have_is_told():
    why = Host().port_holder(PublishedPort("192.0.2.1", 16443, 6443))
    assert why == "Cannot assign requested address"


def test_a_host_without_one_of_the_kernels_tables_has_the_other(monkeypatch):
    real = Path.read_text

    def read(path, *arguments, **named):
        if path == Path("/proc/net/tcp6"):
            raise FileNotFoundError
        return real(path, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", read)
    with listen() as server:
        holder = Host().port_holder(PublishedPort("127.0.0.1", server.getsockname()[1], 6443))
    assert holder is not None
    assert str(os.getpid()) in holder
