"""Results as text for people. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import singledispatch

from openshell_bootstrap.gateway.inside.claims import show_bytes
from openshell_bootstrap.gateway.results import (
    Checked,
    ClaimStatus,
    CleanedNodes,
    Destroyed,
    DiagnosticsSaved,
    GatewayRow,
    Info,
    Kubeconfig,
    KubeconfigChanged,
    Losses,
    Planned,
    PlannedAction,
    Selected,
    Started,
    Status,
    Stopped,
    Versions,
)

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Text in which nothing steers the terminal or cannot be encoded."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


@singledispatch
def table_of(result: object) -> str:
    """A result as a person reads it."""
    raise TypeError(f"no text for {type(result).__name__}")


def name_of(result: object) -> str:
    """Only the names, one a line, for a script."""
    if isinstance(result, tuple):
        return "\n".join(row.name for row in result)
    return str(getattr(result, "name", ""))


def losses_of(losses: Losses) -> str:
    """What is about to be lost, for the question before it."""
    claims = losses.claims
    if claims is None:
        held = "what its claims hold, which cannot be listed while it does not run"
    else:
        number = f"{len(claims)} claim" + "s" * (len(claims) != 1)
        held = number + "".join(f"\n      {claim}" for claim in claims)
    since = f", made {losses.volume_created_at}" if losses.volume_created_at else ""
    lines = [f"Gateway {losses.name} will be removed for good:"]
    lines += [f"  container  {losses.container}"] * bool(losses.container)
    lines += [f"  volume     {losses.volume}{since}, with {held}"] * bool(losses.volume)
    lines += [f"  network    {losses.network}"] * bool(losses.network)
    return printable("\n".join(lines))


@table_of.register
def _(result: Started) -> str:
    did = [f"  did         {action.what}" for action in result.actions]
    facts = _facts(
        [
            ("node", result.node_name),
            ("API", result.endpoint),
            ("image", result.image),
            ("kubeconfig", result.kubeconfig),
        ]
    )
    use = [
        "To use it:",
        f"  openshell gateway kubectl --name {result.name} get nodes",
        f"  KUBECONFIG={result.kubeconfig} kubectl get nodes",
    ]
    head = f"Gateway {result.name} is ready" + ("." if did else "; nothing had to be done.")
    return "\n".join([head, *did, *facts, *_cleaned(result.cleaned), *use])


def _cleaned(cleaned: CleanedNodes) -> list[str]:
    counted = [
        ("removed stale nodes", cleaned.removed_nodes),
        ("rebound volumes", cleaned.rebound_volumes),
        ("removed pods of stale nodes", cleaned.removed_pods),
        ("pods that nothing makes again", cleaned.uncontrolled_pods),
    ]
    lines = [f"  {what}: {', '.join(names)}" for what, names in counted if names]
    lines += [f"  {sentence}" for sentence in cleaned.reported]
    lines += [f"  stale nodes were not looked for: {cleaned.postponed}"] * bool(cleaned.postponed)
    return lines


@table_of.register
def _(result: Planned) -> str:
    if not result.actions:
        return f"Gateway {result.name} stands as asked: nothing would be done."
    return "\n".join([f"Gateway {result.name}: this would be done.", *_actions(result.actions)])


def _actions(actions: Iterable[PlannedAction]) -> list[str]:
    return [
        f"  {number}. {action.what}" + (f" ({action.why})" if action.why else "")
        for number, action in enumerate(actions, 1)
    ]


@table_of.register
def _(result: Stopped) -> str:
    if not result.was_running:
        return f"Gateway {result.name} did not run; its data is kept."
    return f"Gateway {result.name} is stopped; its data is kept."


@table_of.register
def _(result: Destroyed) -> str:
    if not result.removed and not result.kept:
        return f"There is no gateway {result.name}: nothing had to be removed."
    lines = [f"Gateway {result.name} is removed."]
    lines += [f"  removed  {what}" for what in result.removed]
    lines += [f"  left     {what}" for what in result.kept]
    return "\n".join(lines)


@table_of.register
def _(result: Status) -> str:
    lines = [f"Gateway {result.name}: {result.word}"]
    lines += [f"  {result.cause}"] * bool(result.cause)
    lines += [f"-> {result.next_step}"] * bool(result.next_step)
    health = f", {result.health}" if result.health else ""
    facts = [("container", f"{result.container_name}: {result.container}{health}")]
    if result.node is not None:
        facts.append(("node", _node(result)))
        facts += [("stale node", name) for name in result.node.foreign]
    facts += [("workload", f"{one.name}: {one.ready} of {one.wanted}") for one in result.workloads]
    if result.dns is not None:
        facts.append(
            ("names", f"{result.dns.cluster} in the cluster, {result.dns.outside} outside of it")
        )
    facts += [("claim", line) for one in result.claims for line in _claim(one)]
    facts += [
        ("API", result.endpoint),
        ("volume", _present(result.volume, is_there=result.volume_present)),
        ("network", _present("", is_there=result.network_present)),
        ("image", result.image),
    ]
    facts += [("differs", drift) for drift in result.drift]
    return "\n".join([*lines, *_facts(facts)])


def _node(result: Status) -> str:
    node = result.node
    assert node is not None  # noqa: S101 - the caller looked
    word = "ready" if node.ready else "not ready"
    parts = [part for part in (word, node.version, node.address, node.detail) if part]
    parts += node.pressures
    return f"{node.name}: {', '.join(parts)}"


def _claim(claim: ClaimStatus) -> list[str]:
    """A claim's own line, and one more for each thing to know of it."""
    asked = f"asked for {show_bytes(claim.requested_bytes)}"
    used = "" if claim.used_bytes is None else f"holds {show_bytes(claim.used_bytes)}, "
    lines = [f"{claim.claim}: {used}{asked}", claim.problem]
    lines += [f"-> {claim.next_step}"] if claim.next_step else []
    lines += [f"mounted by {', '.join(claim.pods)}"] if claim.pods and claim.problem else []
    lines += [f"in {claim.folder} ({claim.reclaim_policy})"] if claim.folder else []
    return [line if place == 0 else f"  {line}" for place, line in enumerate(lines) if line]


def _present(name: str, *, is_there: bool | None) -> str:
    word = {True: "present", False: "absent", None: "unknown"}[is_there]
    return f"{name}: {word}" if name else word


@table_of.register
def _(result: Info) -> str:
    facts = [
        ("node", result.node_name),
        ("container", result.container),
        ("volume", result.volume),
        ("network", result.network),
        ("API", result.endpoint),
        ("image", result.image),
        ("k3s", result.k3s_version),
        ("kubeconfig", result.kubeconfig),
        ("data", result.data_mountpoint),
        ("cluster", result.cluster_id),
    ]
    settings = [(f"  {key}", value) for key, value in result.settings.items() if value]
    head = ["  settings"] if settings else []
    return "\n".join([f"Gateway {result.name}", *_facts(facts), *head, *_facts(settings)])


@table_of.register
def _(result: tuple) -> str:  # type: ignore[type-arg]  # dispatch takes the bare class
    rows: Sequence[GatewayRow] = result
    if not rows:
        return "There are no gateways. `openshell gateway start` makes one."
    return "\n".join(
        _columns(
            [
                ("", "NAME", "CONTAINER", "API", "IMAGE", "MADE BY"),
                *(
                    (
                        "*" if row.active else "",
                        row.name,
                        row.container,
                        row.endpoint or "-",
                        row.image or "-",
                        "openshell" if row.managed else "retired release",
                    )
                    for row in rows
                ),
            ]
        )
    )


@table_of.register
def _(result: Selected) -> str:
    return f"Gateway {result.name} is the active one."


@table_of.register
def _(result: Kubeconfig) -> str:
    return result.content.rstrip("\n")


@table_of.register
def _(result: KubeconfigChanged) -> str:
    if result.changed:
        return f"{result.path} is changed: context {result.context}."
    return f"{result.path} is as it was: nothing had to be changed for {result.context}."


@table_of.register
def _(result: Versions) -> str:
    lines = [f"openshell {result.client}"]
    if result.gateway:
        lines.append(f"gateway {result.gateway}: k3s {result.k3s or 'unknown'}")
    return "\n".join(lines)


@table_of.register
def _(result: Checked) -> str:
    found: Counter[str] = Counter(one.severity for one in result.checks)
    counted = ", ".join(
        f"{found[severity]} {word}{'s' * (found[severity] != 1)}"
        for severity, word in (("problem", "problem"), ("warning", "warning"))
    )
    lines = [f"Gateway {result.name}: {counted}"]
    for one in result.checks:
        lines.append(f"  {one.severity.ljust(len('problem'))}  {one.check}: {one.brief}")
        lines += [f"           {line}" for line in one.details.splitlines()]
        lines += [f"        -> {remedy}" for remedy in one.remedies]
    return "\n".join(lines)


@table_of.register
def _(result: DiagnosticsSaved) -> str:
    lines = [f"What can be seen of the gateway {result.name} is in {result.path}"]
    lines += [f"  not read  {what}" for what in result.unread]
    return "\n".join(lines)


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    said = [(name, value) for name, value in facts if value]
    width = max((len(name) for name, _ in said), default=0)
    return [f"  {name.ljust(width)}  {value}" for name, value in said]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
