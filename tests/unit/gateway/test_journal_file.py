"""What a journal on the volume says, whole, half or from a newer release."""

from dataclasses import replace

import msgspec
import pytest

from openshell_bootstrap.gateway.journal import (
    JOURNAL_PATH,
    DamagedJournal,
    Destruction,
    Journal,
    NewerJournal,
    Recreation,
    decode_journal,
    describe_pending,
    encode_journal,
)
from tests.unit.gateway.specs import SPEC

WORKS = [Recreation(spec=SPEC, replaces="c" * 64), Destruction()]


@pytest.mark.parametrize("work", WORKS)
def test_a_journal_is_read_as_it_was_written(work):
    journal = Journal(work=work, begun_at="2026-01-02T03:04:05Z", by="u@h (process 7)")
    content = encode_journal(journal)
    assert decode_journal(content) == journal
    told = describe_pending(journal)
    assert "2026-01-02T03:04:05Z by u@h (process 7)" in told
    operation = msgspec.json.decode(content)["work"]["operation"]
    assert operation == ("start" if isinstance(work, Recreation) else "destroy")


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\0" * 300])
def test_an_empty_journal_is_none(content):
    assert decode_journal(content) is None


@pytest.mark.parametrize("work", WORKS)
def test_no_half_of_a_journal_passes_for_a_whole_one(work):
    whole = encode_journal(Journal(work=work, begun_at="x", by="y")).rstrip()
    for length in range(1, len(whole)):
        assert isinstance(decode_journal(whole[:length]), DamagedJournal)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"schema": 2, "work": {"operation": "upgrade"}}', NewerJournal),
        (b'{"begun_at": "", "by": "", "work": {"operation": "dance"}}', DamagedJournal),
        (b"[" * 100_000, DamagedJournal),
        (b"\xff", DamagedJournal),
        (
            encode_journal(
                Journal(
                    work=Recreation(spec=replace(SPEC, name="../x"), replaces=""),
                    begun_at="",
                    by="",
                )
            ),
            DamagedJournal,
        ),
    ],
)
def test_what_cannot_be_used_is_told_and_not_guessed(content, kind):
    pending = decode_journal(content)
    assert isinstance(pending, kind)
    assert JOURNAL_PATH in describe_pending(pending)
