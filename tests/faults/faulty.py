"""An engine that fails at one call: any object that satisfies ``engine.api.Engine``, wrapped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.faults.kinds import COMMANDS, KINDS, LASTING, Call, Killed

NOBODY = -1


@dataclass(slots=True)
class Injector:
    """Counts calls, and does one thing to one of them.

    Attributes:
        at: The number of the call, from 0; ``NOBODY`` for none.
        kind: A key of ``KINDS``.
        calls: The methods that were called, in order.
        is_dead: The process was killed: whatever it still tries comes to nothing.
    """

    at: int = NOBODY
    kind: str = ""
    calls: list[str] = field(default_factory=list)
    is_dead: bool = False

    def call(self, method: str, go_on: Callable[[], Any], **about: Any) -> Any:
        self.check_alive()
        number = len(self.calls)
        self.calls.append(method)
        lasts = self.kind in LASTING and method.partition(".")[0] != "disk"
        if number != self.at and not (lasts and 0 <= self.at < number):
            return go_on()
        try:
            return KINDS[self.kind](Call(method, go_on, **about))
        except Killed:
            self.is_dead = True
            raise

    def check_alive(self) -> None:
        if self.is_dead:
            raise Killed


@dataclass(frozen=True, slots=True)
class _Noun:
    """Containers, images, networks or volumes: every method is a call."""

    name: str
    inner: Any
    injector: Injector

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        method = getattr(self.inner, verb)
        name = f"{self.name}.{verb}"

        def lines(*given: Any, **how: Any) -> Iterator[bytes]:
            """A log asks nothing before its first line is asked for."""
            yield from self.injector.call(name, lambda: list(method(*given, **how)))

        def call(*given: Any, **how: Any) -> Any:
            go_on = partial(method, *given, **how)
            if verb not in COMMANDS:
                return self.injector.call(name, go_on)
            begin = partial(go_on, stdin=_half(how["stdin"])) if how.get("stdin") else go_on
            return self.injector.call(name, go_on, argv=tuple(given[1]), begin=begin)

        return lines if verb == "logs" else call


class FaultyEngine:
    """Satisfies ``engine.api.Engine``."""

    def __init__(self, inner: Any, injector: Injector) -> None:
        self.inner = inner
        self.injector = injector
        self.containers = _Noun("containers", inner.containers, injector)
        self.images = _Noun("images", inner.images, injector)
        self.networks = _Noun("networks", inner.networks, injector)
        self.volumes = _Noun("volumes", inner.volumes, injector)

    def info(self) -> Any:
        return self.injector.call("engine.info", self.inner.info)


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]
