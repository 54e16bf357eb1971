"""The node's log, cut by the lives of its container: what an earlier one said proves nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from openshell_bootstrap.diagnosis import CAUSES, About, Diagnosis, Signs, diagnose
from openshell_bootstrap.diagnosis.cause import Cause
from openshell_bootstrap.engine.api import Engine
from openshell_bootstrap.models import Container

SIGN_LINES = 200
"""A sign of trouble is not always among the very last lines."""


@dataclass(frozen=True, slots=True)
class Lives:
    """Last lines of the present life, or of the last one where it ended, and of the one before."""

    present: tuple[bytes, ...]
    before: tuple[bytes, ...]


def parse_moment(moment: str) -> datetime:
    """The engine's RFC 3339 moment, UTC with up to nine decimals, to the microsecond."""
    whole, _, decimals = moment.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{decimals[:6]:0<6}+00:00")


def begin_s(container: Container) -> float:
    """Epoch second at which the container was started last; 0 if it never was."""
    return parse_moment(container.started_at).timestamp() if container.started_at else 0.0


def last_log_lines(
    engine: Engine, container: Container, count: int, *, since_s: float = 0
) -> tuple[str, ...]:
    """The last lines since the container's start that was seen: earlier ones prove nothing."""
    since = max(begin_s(container), since_s)
    lines = engine.containers.logs(container.id, tail=count, since=since)
    return tuple(line.decode(errors="replace") for line in lines)


def find_sign(
    engine: Engine,
    container: Container,
    *,
    since_s: float = 0,
    causes: Sequence[Cause] = CAUSES,
) -> Diagnosis | None:
    """What the log of this life and the end of the container say, if that is known.

    Args:
        engine: Where it is.
        container: As it was seen.
        since_s: Epoch second before which no line counts.
        causes: Those that are looked for.

    Raises:
        EngineError: The log cannot be read.
    """
    lines = last_log_lines(engine, container, SIGN_LINES, since_s=since_s)
    return diagnose(Signs.of(container, lines), About.of(container), causes=causes)


def lines_of_lives(engine: Engine, container: Container, count: int) -> Lives:
    """The last lines of this life, and half as many of the one before.

    Of the one before there are none where this one alone has more lines than are asked for: the
    engine cannot be asked for lines up to a moment.
    """
    logs = engine.containers.logs
    present = tuple(logs(container.id, tail=count, since=begin_s(container)))
    if len(present) == count or not container.started_at:
        return Lives(present, ())
    both = tuple(logs(container.id, tail=len(present) + count // 2))
    return Lives(present, both[: max(0, len(both) - len(present))])
