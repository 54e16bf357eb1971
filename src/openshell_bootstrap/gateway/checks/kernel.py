"""What this host's kernel can, as far as it shows that without being asked to load anything."""

import gzip
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Presence = Literal["there", "loadable", "absent", "unknown"]
"""``there``: in use or built in. ``unknown``: the kernel shows neither its modules nor its
configuration, as in many containers."""

_MODULES = {
    "overlay": ("overlay", "CONFIG_OVERLAY_FS"),
    "br_netfilter": ("br_netfilter", "CONFIG_BRIDGE_NETFILTER"),
    "iptables": ("ip_tables", "CONFIG_IP_NF_IPTABLES"),
    "nf_tables": ("nf_tables", "CONFIG_NF_TABLES"),
    "vxlan": ("vxlan", "CONFIG_VXLAN"),
}
"""By feature: its module and the setting that builds it."""

_TRACES = {
    "br_netfilter": "proc/sys/net/bridge/bridge-nf-call-iptables",
    "iptables": "proc/net/ip_tables_names",
}
"""A file that is there while the feature is, in this network namespace."""

Kernel = Mapping[str, Presence]
"""Presence by feature; a feature that is not in it is unknown."""


def read_kernel(root: Path = Path("/"), release: str | None = None) -> Kernel:
    """Look for the features that a node needs.

    Args:
        root: Where ``proc``, ``sys``, ``boot`` and ``lib`` are.
        release: The running kernel's; only tests say another one.
    """
    release = release or platform.release()
    modules = root / "lib" / "modules" / release
    config = _config(root, release)
    return {
        feature: _presence(root, modules, feature, module, config.get(setting))
        for feature, (module, setting) in _MODULES.items()
    }


def _presence(
    root: Path, modules: Path, feature: str, module: str, configured: str | None
) -> Presence:
    if _is_in_use(root, feature, module) or configured == "y":
        return "there"
    if module in _listed(modules / "modules.builtin"):
        return "there"
    if module in _listed(modules / "modules.dep"):
        return "loadable"
    if (modules / "modules.dep").exists() or configured == "n":
        return "absent"
    return "unknown"


def _is_in_use(root: Path, feature: str, module: str) -> bool:
    if feature == "overlay" and "overlay" in _read(root / "proc" / "filesystems").split():
        return True
    if feature in _TRACES and (root / _TRACES[feature]).exists():
        return True
    loaded = (line.partition(" ")[0] for line in _read(root / "proc" / "modules").splitlines())
    return (root / "sys" / "module" / module).exists() or module in loaded


def _listed(index: Path) -> set[str]:
    """Module names of an index: lines such as ``kernel/net/x.ko.xz: kernel/net/y.ko``."""
    paths = (line.partition(":")[0] for line in _read(index).splitlines())
    return {Path(path).name.partition(".ko")[0].replace("-", "_") for path in paths}


def _config(root: Path, release: str) -> Mapping[str, str]:
    """The settings that the kernel was built with: ``y``, ``m`` or ``n``."""
    text = _read(root / "boot" / f"config-{release}") or _unpacked(root / "proc" / "config.gz")
    settings = {}
    for line in text.splitlines():
        if line.startswith("# CONFIG_") and line.endswith(" is not set"):
            settings[line.split()[1]] = "n"
        elif line.startswith("CONFIG_"):
            name, _, value = line.partition("=")
            settings[name] = value
    return settings


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def _unpacked(path: Path) -> str:
    try:
        return gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, ValueError):
        return ""
