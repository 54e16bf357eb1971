"""What a kernel can, from the traces it leaves."""

import gzip
from pathlib import Path

import pytest

from openshell_bootstrap.gateway.checks.kernel import read_kernel

RELEASE = "6.1.0-test"
FEATURES = ("overlay", "br_netfilter", "iptables", "nf_tables", "vxlan")


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def kernel(root: Path):
    return read_kernel(root, RELEASE)


def test_a_kernel_that_shows_nothing_is_unknown(tmp_path):
    assert kernel(tmp_path) == dict.fromkeys(FEATURES, "unknown")


@pytest.mark.parametrize(
    ("path", "content", "feature"),
    [
        ("proc/filesystems", "nodev\tproc\nnodev\toverlay\n", "overlay"),
        ("proc/modules", "vxlan 1 0 - Live 0x0\n", "vxlan"),
        ("sys/module/nf_tables/refcnt", "1", "nf_tables"),
        ("proc/sys/net/bridge/bridge-nf-call-iptables", "1", "br_netfilter"),
        ("proc/net/ip_tables_names", "", "iptables"),
        (f"lib/modules/{RELEASE}/modules.builtin", "kernel/drivers/net/vxlan/vxlan.ko\n", "vxlan"),
        (f"boot/config-{RELEASE}", "CONFIG_OVERLAY_FS=y\n", "overlay"),
        ("proc/config.gz", gzip.compress(b"CONFIG_NF_TABLES=y\n", mtime=0), "nf_tables"),
    ],
)
def test_each_trace_speaks_for_its_feature_alone(tmp_path, path, content, feature):
    write(tmp_path / path, content)
    seen = kernel(tmp_path)
    assert {name for name, presence in seen.items() if presence == "there"} == {feature}


def test_modules_that_can_be_loaded_and_those_that_are_not_there(tmp_path):
    index = tmp_path / "lib/modules" / RELEASE / "modules.dep"
    write(index, "kernel/fs/overlayfs/overlay.ko.xz:\nkernel/net/bridge/br-netfilter.ko.zst: b\n")
    seen = kernel(tmp_path)
    assert (seen["overlay"], seen["br_netfilter"], seen["vxlan"]) == (
        "loadable", "loadable", "absent",
    )  # fmt: skip


def test_what_was_left_out_of_the_kernel_is_absent(tmp_path):
    write(tmp_path / "proc/config.gz", gzip.compress(b"# CONFIG_VXLAN is not set\n"))
    seen = kernel(tmp_path)
    assert (seen["vxlan"], seen["overlay"]) == ("absent", "unknown")


@pytest.mark.parametrize("content", [b"", b"junk", gzip.compress(b"CONFIG_VXLAN=y", mtime=0)[:-9]])
def test_a_configuration_that_cannot_be_read_says_nothing(tmp_path, content):
    write(tmp_path / "proc/config.gz", content)
    assert kernel(tmp_path)["vxlan"] == "unknown"
