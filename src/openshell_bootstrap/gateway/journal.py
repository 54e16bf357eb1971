"""Unfinished work, written on the volume that it is about, so that the next command knows of it.

A journal is begun before the first step that cannot be taken back and finished after the last. It
holds what a look at the engine cannot tell: what was wanted. Where looking is enough to go on
rightly (a first start, a stop, the clean-up of stale nodes) there is none. No secret is in it.

The engine's archive call can write a file and not remove one: an empty journal is none. A journal
that was written by halves does not decode; it was then written before anything else was done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.errors import ConfigError, EngineError, EngineUnavailableError
from openshell_bootstrap.gateway.record import OWN_FOLDER, check_spec
from openshell_bootstrap.models import FileEntry, GatewaySpec, Unknown
from openshell_bootstrap.store.host import Store

JOURNAL_PATH = f"{OWN_FOLDER}/journal.json"
SCHEMA = 1
_SECRET = 0o600


class Recreation(msgspec.Struct, frozen=True, kw_only=True, tag_field="operation", tag="start"):
    """A container is replaced by one of other settings. The next start finishes it.

    Attributes:
        spec: The settings that were wanted.
        replaces: Id of the container that goes: where it is still there, nothing was done yet.
        wants_token: A token was given that the volume does not have; it is not kept here.
    """

    spec: GatewaySpec
    replaces: str
    wants_token: bool = False


class Destruction(msgspec.Struct, frozen=True, tag_field="operation", tag="destroy"):
    """The gateway is removed with its data. Another destroy finishes it, a start undoes it."""


Work = Recreation | Destruction


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Work that was begun.

    Attributes:
        work: What it is, and what is needed to finish or undo it.
        begun_at: When, in RFC 3339.
        by: Who: user, host and process.
    """

    work: Work
    begun_at: str
    by: str
    schema: int = SCHEMA

    @property
    def recreation(self) -> Recreation | None:
        """The work, if it is the replacement of a container."""
        return self.work if isinstance(self.work, Recreation) else None


@dataclass(frozen=True, slots=True)
class DamagedJournal(Unknown):
    """A journal was being written when everything stopped: what it announced was not begun."""


@dataclass(frozen=True, slots=True)
class NewerJournal(Unknown):
    """A newer release began something that this one cannot finish."""


class _Schema(msgspec.Struct, frozen=True):
    schema: int = SCHEMA


def encode_journal(journal: Journal) -> bytes:
    """The journal as it lies on the volume."""
    return msgspec.json.format(msgspec.json.encode(journal)) + b"\n"


def decode_journal(content: bytes | None) -> Journal | DamagedJournal | NewerJournal | None:
    """Read a journal, whoever wrote it; None where nothing is pending."""
    if content is None or not content.strip(b"\0\n\r\t "):
        return None
    try:
        schema = msgspec.json.decode(content, type=_Schema).schema
        if schema > SCHEMA:
            return NewerJournal(f"{JOURNAL_PATH} on the volume has schema {schema}")
        journal = msgspec.json.decode(content, type=Journal)
        if journal.recreation is not None:
            check_spec(journal.recreation.spec)
    except (msgspec.DecodeError, RecursionError, ConfigError) as error:
        return DamagedJournal(f"{JOURNAL_PATH} on the volume is damaged: {error}")
    return journal


def describe_begun(journal: Journal) -> str:
    """What was begun, when and by whom."""
    is_start = isinstance(journal.work, Recreation)
    what = "A start that makes the container anew" if is_start else "A destroy"
    return f"{what} was begun at {journal.begun_at} by {journal.by} and not finished"


def describe_pending(journal: Journal | Unknown) -> str:
    """What is pending and what becomes of it, in a sentence."""
    if isinstance(journal, Unknown):
        return f"Work may be unfinished: {journal.cause}."
    outlook = (
        "the next start finishes it"
        if isinstance(journal.work, Recreation)
        else "`openshell gateway destroy` finishes it, `openshell gateway start` undoes it and "
        "keeps the data"
    )
    return f"{describe_begun(journal)}: {outlook}."


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFile:
    """A gateway's journal, reached through a container that mounts its volume, running or not.

    This host keeps a copy, for when no such container is there.
    """

    name: str
    engine: Engine
    container_id: str
    store: Store

    def read(self) -> Journal | Unknown | None:
        """What is pending.

        Raises:
            EngineUnavailableError: The engine did not answer, so that nothing may follow from it.
        """
        try:
            file = self.engine.containers.get_file(self.container_id, JOURNAL_PATH)
        except EngineUnavailableError:
            raise
        except EngineError as error:
            return Unknown(error.brief)
        return None if file is None else decode_journal(file.content)

    def begin(self, work: Work, files: Sequence[FileEntry] = ()) -> None:
        """Announce what is to be done now.

        Args:
            work: What is begun.
            files: What else the volume must keep for it to be finished; written before.

        Raises:
            EngineError: It could not be written, so the work must not be begun.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        content = encode_journal(Journal(work=work, begun_at=now, by=self.store.who))
        entry = FileEntry(JOURNAL_PATH, content, _SECRET)
        self.engine.containers.put_files(self.container_id, [*files, entry])
        self.store.journals.write(self.name, content)

    def finish(self) -> None:
        """Nothing is pending any more.

        Raises:
            EngineError: It could not be said on the volume.
        """
        entry = FileEntry(JOURNAL_PATH, b"", _SECRET)
        self.engine.containers.put_files(self.container_id, [entry])
        self.store.journals.remove(self.name)
