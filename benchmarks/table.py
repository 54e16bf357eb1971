"""Rows of figures with their budgets, and how they are shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEADINGS = ("what", "plain way", "ours", "measured", "budget", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One budget and what was measured against it."""

    what: str
    plain: str
    ours: str
    measured: str
    budget: str
    ok: bool

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            self.plain,
            self.ours,
            self.measured,
            self.budget,
            "ok" if self.ok else "MISSED",
        )


def ratio(what: str, *, plain_s: float, ours_s: float, at_most: float) -> Row:
    """Ours may take so many times as long as the plain way."""
    measured = ours_s / plain_s
    return Row(
        what,
        seconds(plain_s),
        seconds(ours_s),
        f"{measured:.2f} x",
        f"at most {at_most:.2f} x",
        measured <= at_most,
    )


def excess(what: str, *, plain_s: float, ours_s: float, at_most_s: float) -> Row:
    """Ours may take so many seconds longer than the plain way."""
    measured = ours_s - plain_s
    return Row(
        what,
        seconds(plain_s),
        seconds(ours_s),
        f"{measured:+.2f} s",
        f"at most +{at_most_s:.2f} s",
        measured <= at_most_s,
    )


def absolute(what: str, *, ours_s: float, at_most_s: float) -> Row:
    """Ours may take so many seconds."""
    taken = seconds(ours_s)
    return Row(what, "-", taken, taken, f"at most {at_most_s:.2f} s", ours_s <= at_most_s)


def count(what: str, *, runs: int, at_most: int, note: str = "") -> Row:
    """Ours may run so many commands."""
    return Row(what, "-", note or "-", f"{runs} runs", f"at most {at_most} runs", runs <= at_most)


def seconds(value: float) -> str:
    return f"{value:.2f} s"


def as_text(rows: Sequence[Row]) -> str:
    """For a terminal: columns of equal width."""
    lines = [HEADINGS, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_padded(line, widths) for line in lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """For a page."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _padded(line: Iterable[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
