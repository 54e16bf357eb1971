import json

import pytest

from openshell_bootstrap.cli import progress
from openshell_bootstrap.events import NodeLog, Notice, StepFinished, StepStarted, Transfer

EVENTS = (
    StepStarted("Pulling the image"),
    Transfer("layer-a", 1_000_000, 4_000_000),
    Transfer("layer-b", 0, 2_000_000),
    Transfer("layer-a", 4_000_000, 4_000_000),
    StepFinished("Pulling the image", ok=True, seconds=2.04),
    StepStarted("Waiting for the node"),
    NodeLog("k3s: \x1b[31mpanic"),
    StepFinished("Waiting for the node", ok=False, seconds=0.5),
    Notice("the inotify limit is low"),
)


def test_elsewhere_than_on_a_terminal_phases_are_plain_lines(cli):
    cli.wiring.events = EVENTS
    assert cli("gateway", "start").stderr.splitlines() == [
        "Pulling the image ...",
        "Pulling the image: done after 2.0 s",
        "Waiting for the node ...",
        "  node: k3s: \N{REPLACEMENT CHARACTER}[31mpanic",
        "Waiting for the node: failed after 0.5 s",
        "Note: the inotify limit is low",
    ]


def test_a_long_transfer_is_told_now_and_then(cli, monkeypatch):
    moments = iter(range(0, 1000, 3))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(moments)))
    cli.wiring.events = EVENTS[:5]
    lines = cli("gateway", "start").stderr.splitlines()
    assert lines[:3] == [
        "Pulling the image ...",
        "  1.0 of 6.0 MB",
        "Pulling the image: done after 2.0 s",
    ]


def test_a_transfer_whose_size_nobody_knows():
    transfers = progress.Transfers()
    assert str(transfers) == ""
    transfers.take(Transfer("x", 2_500_000, 0))
    assert str(transfers) == "2.5 MB"


def test_json_events_are_one_object_a_line_on_stderr(cli):
    cli.wiring.events = EVENTS
    result = cli("gateway", "start", "-o", "json")
    events = [json.loads(line) for line in result.stderr.splitlines()]
    assert [event["event"] for event in events] == [
        "step-started",
        "transfer",
        "transfer",
        "transfer",
        "step-finished",
        "step-started",
        "node-log",
        "step-finished",
        "notice",
    ]
    assert events[1] == {
        "event": "transfer",
        "item": "layer-a",
        "done": 1_000_000,
        "total": 4_000_000,
    }
    assert events[4] == {
        "event": "step-finished",
        "title": "Pulling the image",
        "ok": True,
        "seconds": 2.04,
    }
    assert json.loads(result.stdout)["ok"] is True


@pytest.mark.parametrize("output", ["yaml", "name"])
def test_other_forms_keep_stdout_for_the_result(cli, output):
    cli.wiring.events = EVENTS
    result = cli("gateway", "start", "-o", output)
    assert "Pulling the image ..." in result.stderr
    assert "Pulling" not in result.stdout
