"""A clock that stands still until somebody sleeps."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class FakeClock:
    """``time.monotonic``, ``time.time`` and ``time.sleep`` without the waiting.

    Attributes:
        now: Seconds.
        slept: Every sleep that was asked for, in order.
    """

    now: float = 1_700_000_000.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        """Stands for ``time.time`` and ``time.monotonic``."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Stands for ``time.sleep``: time has passed at once."""
        self.slept.append(seconds)
        self.now += seconds

    def advance(self, seconds: float) -> None:
        """Let time pass without a sleep."""
        self.now += seconds
