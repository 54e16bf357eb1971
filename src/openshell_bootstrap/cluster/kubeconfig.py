"""Kubeconfigs: from the node's to one for the host, and into and out of the user's own. Pure.

Files are changed as YAML trees, not as decoded values: an entry that is not ours keeps its order,
its quoting and every field, also one that only a newer kubectl knows. (Comments are lost, as
``kubectl config`` loses them.)
"""

import yaml

from openshell_bootstrap.errors import ClusterError, ConfigError

NODE_KUBECONFIG = "/etc/rancher/k3s/k3s.yaml"
"""Where k3s writes it: server ``https://127.0.0.1:6443``, cluster, context and user ``default``."""

_LISTS = ("clusters", "contexts", "users")
_WIDE = 1 << 20
"""Columns: a certificate is one line."""


def entry_name(gateway: str) -> str:
    """The name of a gateway's cluster, context and user in any kubeconfig."""
    return f"openshell-{gateway}"


def server_url(address: str, port: int) -> str:
    """Where a client finds the API server; an IPv6 address gets its brackets."""
    return f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"


def build_kubeconfig(node_kubeconfig: bytes, *, name: str, server: str) -> bytes:
    """The gateway's kubeconfig as a client outside the node needs it.

    Args:
        node_kubeconfig: What k3s wrote in the node.
        name: The gateway.
        server: URL of the API server as the client reaches it. Its host must be a name in the
            server's certificate.

    Raises:
        ClusterError: The node's kubeconfig holds no cluster and user.
    """
    try:
        decoded = yaml.safe_load(node_kubeconfig)
        cluster = dict(decoded["clusters"][0]["cluster"])
        user = dict(decoded["users"][0]["user"])
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise ClusterError(
            "The node's kubeconfig cannot be read", details=f"{NODE_KUBECONFIG}: {error}"
        ) from error
    entry = entry_name(name)
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": entry, "cluster": {**cluster, "server": server}}],
        "contexts": [{"name": entry, "context": {"cluster": entry, "user": entry}}],
        "users": [{"name": entry, "user": user}],
        "current-context": entry,
    }
    return yaml.safe_dump(kubeconfig, sort_keys=False, width=_WIDE).encode()


def merge(present: bytes, gateway: bytes, *, name: str, use: bool) -> bytes:
    """Put a gateway's entries into a kubeconfig; they replace those of the same name.

    Args:
        present: The user's kubeconfig; may be empty.
        gateway: What :func:`build_kubeconfig` returned.
        name: The gateway.
        use: Make its context the current one; otherwise that stays what it is.

    Raises:
        ConfigError: ``present`` is no kubeconfig.
    """
    tree, ours = _parse(present), _parse(gateway)
    for plural in _LISTS:
        entry = _find(_entries(ours, plural), entry_name(name))
        if entry is None:
            raise ConfigError(
                f"The kubeconfig of gateway {name!r} has no {plural} entry {entry_name(name)!r}",
                remedies=[f"`openshell gateway start --name {name}` writes it anew."],
            )
        _put(_ensure_entries(tree, plural), entry, entry_name(name))
    if use:
        _set(tree, "current-context", _text(entry_name(name)))
    return _changed(present, tree)


def remove(present: bytes, *, name: str) -> bytes:
    """Take a gateway's entries out of a kubeconfig; it is returned as it is if it has none.

    Raises:
        ConfigError: ``present`` is no kubeconfig.
    """
    tree = _parse(present)
    for plural in _LISTS:
        entries = _entries(tree, plural)
        while (entry := _find(entries, entry_name(name))) is not None:
            entries.remove(entry)
    current = _get(tree, "current-context")
    if isinstance(current, yaml.ScalarNode) and current.value == entry_name(name):
        _set(tree, "current-context", _text(""))
    return _changed(present, tree)


def _parse(content: bytes) -> yaml.MappingNode:
    try:
        tree = yaml.compose(content, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise _not_a_kubeconfig(str(error)) from error
    if tree is None or _is_null(tree):
        kind = [(_text("apiVersion"), _text("v1")), (_text("kind"), _text("Config"))]
        return yaml.MappingNode("tag:yaml.org,2002:map", kind, flow_style=False)
    if not isinstance(tree, yaml.MappingNode):
        raise _not_a_kubeconfig("It is not a mapping.")
    return tree


def _entries(tree: yaml.MappingNode, plural: str) -> list[yaml.Node]:
    """The entries of a list, as a list that is part of the tree; empty if the tree has none."""
    found = _get(tree, plural)
    if found is None or _is_null(found):
        return []
    if not isinstance(found, yaml.SequenceNode):
        raise _not_a_kubeconfig(f"{plural} is not a list.")
    entries: list[yaml.Node] = found.value
    return entries


def _ensure_entries(tree: yaml.MappingNode, plural: str) -> list[yaml.Node]:
    entries = _entries(tree, plural)
    if not entries:
        _set(tree, plural, yaml.SequenceNode("tag:yaml.org,2002:seq", entries, flow_style=False))
    return entries


def _find(entries: list[yaml.Node], name: str) -> yaml.Node | None:
    for entry in entries:
        if isinstance(entry, yaml.MappingNode):
            said = _get(entry, "name")
            if isinstance(said, yaml.ScalarNode) and said.value == name:
                return entry
    return None


def _put(entries: list[yaml.Node], entry: yaml.Node, name: str) -> None:
    old = _find(entries, name)
    if old is None:
        entries.append(entry)
    else:
        entries[entries.index(old)] = entry


def _get(tree: yaml.MappingNode, key: str) -> yaml.Node | None:
    values: list[yaml.Node] = [value for name, value in tree.value if name.value == key]
    return values[0] if values else None


def _set(tree: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for index, (name, _) in enumerate(tree.value):
        if name.value == key:
            tree.value[index] = (name, value)
            return
    tree.value.append((_text(key), value))


def _text(value: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", value)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _changed(present: bytes, tree: yaml.MappingNode) -> bytes:
    """The tree as text, or the text it came from if nothing of it changed."""
    after = _serialize(tree)
    return present if present and after == _serialize(_parse(present)) else after


def _serialize(tree: yaml.MappingNode) -> bytes:
    text: str = yaml.serialize(tree, Dumper=yaml.SafeDumper, width=_WIDE, allow_unicode=True)
    return text.encode()


def _not_a_kubeconfig(evidence: str) -> ConfigError:
    return ConfigError(
        "The kubeconfig that is to be changed cannot be read, so it was left as it is",
        details=evidence,
        remedies=["Repair the file, or name another one with KUBECONFIG."],
    )
