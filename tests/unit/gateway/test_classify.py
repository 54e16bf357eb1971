"""From what was seen to the state of each part."""

from dataclasses import replace

import pytest

from openshell_bootstrap.gateway.classify import classify, describe_end, find_container_part
from openshell_bootstrap.gateway.observe import OnVolume
from openshell_bootstrap.gateway.record import DamagedRecord, NewerRecord
from openshell_bootstrap.models import Attachment, Health, Unknown
from openshell_bootstrap.store.metadata import HostRecord
from tests.unit.gateway.specs import (
    NAMES,
    OTHER_SPEC,
    RECORD,
    SPEC,
    container_of,
    other,
    seen_of,
    standing,
)

COPY = HostRecord(
    name="t1",
    gateway_endpoint="https://127.0.0.1:1",
    is_remote=False,
    gateway_port=1,
    schema=1,
    cluster_id="c" * 64,
)
LOST = (Attachment(network=NAMES.network, network_id="n0"),)


def on(record, **changes):
    return OnVolume(record=record, **changes)


@pytest.mark.parametrize(
    ("seen", "parts"),
    [
        (standing(), {}),
        (seen_of(), {"container": "absent", "volume": "absent", "record": "none"}),
        (standing(container=None), {"container": "absent"}),
        (standing(container=None, on_volume=None), {"container": "absent", "record": "unread"}),
        (standing(container=container_of(status="paused")), {"container": "paused"}),
        (standing(container=container_of(status="exited")), {"container": "exited"}),
        (standing(container=container_of(attachments=LOST)), {"network": "lost"}),
        (standing(networks=()), {"network": "lost"}),
        (standing(container=container_of(labels={})), {"is_retired": True}),
        (standing(container=container_of(health=Health(status="healthy"))), {"health": "healthy"}),
        (standing(on_volume=Unknown("no image")), {"record": "unknown"}),
        (standing(on_volume=on(Unknown("no answer"))), {"record": "unknown"}),
        (standing(on_volume=on(None)), {"record": "none"}),
        (standing(on_volume=on(DamagedRecord("cut"))), {"record": "damaged"}),
        (standing(on_volume=on(NewerRecord("schema 2"))), {"record": "newer"}),
        (
            standing(on_volume=on(replace(RECORD, spec=replace(SPEC, name="t2")))),
            {"record": "other-gateway"},
        ),
        (standing(on_volume=on(RECORD, cluster_id="d" * 64)), {"record": "other-cluster"}),
        (standing(on_volume=on(RECORD, cluster_id=RECORD.cluster_id)), {}),
        (standing(on_volume=on(RECORD, cluster_id="")), {}),
        (standing(on_volume=on(replace(RECORD, cluster_id=""), cluster_id="d" * 64)), {}),
        (standing(host_copy=COPY), {"is_known": True}),
        (
            standing(host_copy=COPY, on_volume=on(None)),
            {"is_known": True, "volume": "emptied", "record": "none"},
        ),
        (
            standing(host_copy=COPY, on_volume=on(None, cluster_id="d" * 64)),
            {"is_known": True, "record": "none"},
        ),
        (
            standing(host_copy=replace(COPY, cluster_id=None), on_volume=on(None)),
            {"is_known": True, "record": "none"},
        ),
        (standing(aside=other("x", started_at="2026-01-01T00:00:00Z")), {"is_known": True}),
        (standing(aside=other("x")), {}),
    ],
)
def test_each_part_has_its_state(seen, parts):
    state = classify(seen)
    well = {
        "container": "running",
        "volume": "present",
        "network": "ok",
        "record": "ours",
        "health": "none",
        "is_retired": False,
        "is_known": False,
    }
    assert {part: getattr(state, part) for part in well} == {**well, **parts}
    assert (state.name, state.node) == ("t1", "unknown")


@pytest.mark.parametrize("status", ["created", "exited", "dead", "removing"])
def test_a_container_that_never_started_is_created_whatever_the_engine_calls_it(status):
    """R66: a start that failed leaves one, and it may be half made."""
    assert find_container_part(container_of(status=status, started_at="")) == "created"
    assert find_container_part(container_of(status=status)) != "created"


def test_the_looks_own_words_are_told():
    gone = classify(standing(networks=(), container=container_of(status="exited", exit_code=75)))
    assert gone.why("network") == "its network is gone"
    assert gone.why("container") == "its container ended with exit code 75"
    assert describe_end(container_of(error="no such network")) == "no such network"
    foreign = replace(RECORD, spec=replace(OTHER_SPEC, name="t2"))
    assert classify(standing(on_volume=on(foreign))).why("record") == (
        "its volume holds the gateway 't2', not 't1'"
    )
    assert classify(standing(on_volume=on(DamagedRecord("cut")))).why("record") == "cut"
