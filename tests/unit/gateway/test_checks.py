"""What an engine and its host must have: every finding by a table of its borders."""

from dataclasses import replace

import pytest

from openshell_bootstrap.errors import EngineError
from openshell_bootstrap.gateway.checks.findings import (
    FEW_INODES,
    GOOD_MEMORY,
    LITTLE_MEMORY,
    MIN_FREE_AGAIN,
    MIN_FREE_NEW,
    MIN_MEMORY,
    Finding,
    cgroup_finding,
    clock_finding,
    disk_finding,
    engine_finding,
    inotify_findings,
    kernel_findings,
    memory_finding,
    prune_finding,
)
from openshell_bootstrap.gateway.checks.host import HostFacts
from tests.fakes.engine_state import INFO

GIB = 1024**3
ALL = dict.fromkeys(("overlay", "br_netfilter", "iptables", "nf_tables", "vxlan"), "there")


@pytest.mark.parametrize(
    ("changes", "severity", "sign"),
    [
        ({}, "fine", "Docker 20.10.24, API 1.41"),
        ({"is_rootless": True}, "problem", "rootless"),
        ({"os_type": "windows"}, "problem", "windows containers"),
    ],
)
def test_which_engines_can_run_a_node(changes, severity, sign):
    found = engine_finding(replace(INFO, **changes))
    assert (found.severity, sign in found.brief) == (severity, True)
    assert "unix:///var/run/docker.sock (default)" in found.brief + found.details


@pytest.mark.parametrize(("takes", "severity"), [(True, "warning"), (False, "fine")])
def test_an_engine_that_prunes_named_volumes_is_told(takes, severity):
    """R51."""
    assert prune_finding(replace(INFO, prunes_named_volumes=takes)).severity == severity


def test_a_missing_controller_is_named():
    """R96: before a kubelet dies for want of it."""
    found = cgroup_finding(replace(INFO, cgroup_version="2", missing_controllers=("memory",)))
    assert (found.severity, found.as_error().exit_code) == ("problem", 5)
    assert found.brief.endswith("memory")
    assert "cgroup v2" in found.details


@pytest.mark.parametrize("version", ["1", "2"])
def test_either_cgroup_version_will_do(version):
    """R96, R97."""
    found = cgroup_finding(replace(INFO, cgroup_version=version))
    assert found.severity == "fine"
    assert f"cgroup v{version}" in found.brief


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (ALL, [("fine", "can be had")]),
        ({**ALL, "vxlan": "loadable"}, [("fine", "can be had")]),
        ({**ALL, "vxlan": "absent"}, [("warning", "vxlan: k3s's network backend")]),
        ({**ALL, "vxlan": "unknown"}, [("unknown", "vxlan")]),
        ({**ALL, "nf_tables": "unknown"}, [("fine", "can be had")]),
        ({**ALL, "nf_tables": "absent"}, []),
        ({**ALL, "nf_tables": "absent", "iptables": "absent"}, [("warning", "ip_tables")]),
        ({**ALL, "nf_tables": "absent", "iptables": "unknown"}, [("unknown", "iptables or nf")]),
        (
            {**ALL, "overlay": "absent", "br_netfilter": "unknown"},
            [("warning", "overlay"), ("unknown", "br_netfilter")],
        ),
        ({}, [("unknown", "cannot be seen from here")]),
    ],
)
def test_what_the_kernel_lacks(kernel, expected):
    found = list(kernel_findings(kernel))
    assert [one.severity for one in found] == [severity for severity, _ in expected]
    for one, (_, sign) in zip(found, expected, strict=True):
        assert sign in one.brief
        assert bool(one.remedies) is (one.severity == "warning")


@pytest.mark.parametrize(
    ("facts", "is_new", "severity"),
    [
        ({}, True, "unknown"),
        ({"free_bytes": MIN_FREE_NEW}, True, "fine"),
        ({"free_bytes": MIN_FREE_NEW - 1}, True, "problem"),
        ({"free_bytes": MIN_FREE_AGAIN}, False, "fine"),
        ({"free_bytes": MIN_FREE_AGAIN - 1}, False, "problem"),
        ({"free_bytes": 15 * GIB, "size_bytes": 100 * GIB}, True, "fine"),
        ({"free_bytes": 15 * GIB - 1, "size_bytes": 100 * GIB}, True, "warning"),
        ({"free_bytes": 90 * GIB, "free_inodes": FEW_INODES}, True, "fine"),
        ({"free_bytes": 90 * GIB, "free_inodes": FEW_INODES - 1}, True, "warning"),
    ],
)
def test_how_much_disk_is_enough(facts, is_new, severity):
    """R102: above 85 % is a warning, and so are few inodes."""
    assert disk_finding(INFO, HostFacts(**facts), is_new=is_new).severity == severity


def test_a_full_disk_says_how_full():
    found = disk_finding(INFO, HostFacts(free_bytes=9 * GIB, size_bytes=100 * GIB), is_new=True)
    assert "/var/lib/docker is 91 % full" in found.brief
    assert "9216 MiB of 102400 MiB" in found.details


@pytest.mark.parametrize(
    ("total", "available", "severity"),
    [
        (GOOD_MEMORY, None, "fine"),
        (GOOD_MEMORY, LITTLE_MEMORY, "fine"),
        (GOOD_MEMORY, LITTLE_MEMORY - 1, "warning"),
        (GOOD_MEMORY - 1, GOOD_MEMORY, "warning"),
        (MIN_MEMORY, None, "warning"),
        (MIN_MEMORY - 1, None, "problem"),
    ],
)
def test_how_much_memory_is_enough(total, available, severity):
    engine = replace(INFO, memory_bytes=total)
    assert memory_finding(engine, HostFacts(available_memory=available)).severity == severity


@pytest.mark.parametrize(
    ("instances", "watches", "severities"),
    [
        (512, 8192, ["fine"]),
        (511, 8192, ["warning"]),
        (64, 8192, ["warning"]),
        (63, 8191, ["problem", "problem"]),
        (None, 8191, ["problem", "unknown"]),
        (None, None, ["unknown"]),
    ],
)
def test_how_many_files_can_be_watched(instances, watches, severities):
    facts = HostFacts(inotify_instances=instances, inotify_watches=watches)
    assert [one.severity for one in inotify_findings(facts)] == severities


@pytest.mark.parametrize(
    ("offset", "severity", "sign"),
    [
        (None, "unknown", "does not tell"),
        (5.0, "fine", "agrees"),
        (-5.0, "fine", "agrees"),
        (5.1, "warning", "5 s ahead of this host's"),
        (-90.0, "warning", "90 s behind this host's"),
    ],
)
def test_how_far_clocks_may_differ(offset, severity, sign):
    found = clock_finding(replace(INFO, clock_offset_s=offset))
    assert (found.severity, sign in found.brief) == (severity, True)


def test_an_error_and_its_finding_say_the_same():
    error = EngineError("what", "why", ["do"])
    again = Finding.of_error("engine", error).as_error()
    assert (type(again), again.brief, again.details, again.remedies) == (
        EngineError, "what", "why", ("do",),
    )  # fmt: skip
