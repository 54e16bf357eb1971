"""One known cause: its signs, its words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What shows it, and what is said of it.

    Attributes:
        name: In kebab-case.
        brief: What happened, with placeholders: of the gateway (``{gateway}``, ``{container}``,
            ``{volume}``, ``{network}``, ``{node}``, ``{image}``, ``{address}``, ``{port}``) and
            the pattern's own groups, each of which matches whenever the pattern does.
        remedies: What to do, one step each, with the same placeholders.
        line: Shown by a line that this finds.
        exit_codes: Shown by the node's container having ended with one of these.
        oom: Shown by the kernel having killed it for want of memory.
        refused: Trying again changes nothing.
    """

    name: str
    brief: str
    remedies: tuple[str, ...]
    line: re.Pattern[str] | None = None
    exit_codes: frozenset[int] = frozenset()
    oom: bool = False
    refused: bool = False

    def find(self, lines: Sequence[str], text: str) -> re.Match[str] | None:
        """The sign in the last line that has one.

        Args:
            lines: Oldest first.
            text: All of them: one search in it mostly spares those in each.
        """
        if self.line is None or not self.line.search(text):
            return None
        matches = (self.line.search(line) for line in reversed(lines))
        return next((match for match in matches if match), None)

    def is_end(self, exit_code: int | None, *, oom_killed: bool) -> bool:
        """Whether the end of the container shows it."""
        return exit_code in self.exit_codes or (self.oom and oom_killed)


def line(pattern: str) -> re.Pattern[str]:
    """A sign, in whatever case."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
