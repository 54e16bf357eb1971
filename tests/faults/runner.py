"""Takes an operation, counts its calls, and then breaks each of them in every way."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.faults.invariants import Before, look, record_of
from tests.faults.kinds import KILLS, kinds_for
from tests.faults.operations import Operation, set_up
from tests.faults.outcomes import check_next, check_run
from tests.faults.stage import Stage, fingerprint


@dataclass(slots=True)
class Tally:
    """What was tried with one operation.

    Attributes:
        calls: How many calls it makes where nothing is broken.
        runs: How often it was run with something broken.
        kills: In how many of these its process was killed or interrupted.
        violations: What was wrong, each with all that is needed to repeat it.
    """

    operation: str
    calls: int = 0
    runs: int = 0
    kills: int = 0
    violations: list[str] = field(default_factory=list)


def break_everywhere(stage: Stage, operation: Operation, only: str = "") -> Tally:
    """Run it with each of its calls broken in each way that there is.

    Args:
        stage: Where.
        operation: What.
        only: Break calls of this method alone.
    """
    kept, before, methods = _prepare(stage, operation)
    tally = Tally(operation.name, calls=len(methods))
    known: set[str] = set()
    for at, method in enumerate(methods):
        for kind in kinds_for(method, at) if only in {"", method} else ():
            stage.put_back(kept)
            wrong = list(_break(stage, before, at, kind, known))
            tally.runs += 1
            tally.kills += kind in KILLS
            place = f"{operation.name}, call {at} ({method}), {kind}"
            tally.violations += [f"{place}: {what}" for what in wrong]
    return tally


def _prepare(stage: Stage, operation: Operation) -> tuple[bytes, Before, list[str]]:
    foreign = set_up(stage, operation)
    kept = stage.keep()
    reference = stage.run(*operation.argv)
    methods = stage.injector.calls
    assert reference.exit_code == 0, f"{operation.name}: {reference.told}"
    assert len(methods) >= operation.calls, f"{operation.name} makes {len(methods)} calls"
    home, wanted = stage.summary()["home"], record_of(stage)
    stage.put_back(kept)
    before = look(stage, operation, foreign, reference, wanted)
    if operation.goal == "host":
        before = replace(before, summary={**before.summary, "home": home})
    return kept, before, methods


def _break(stage: Stage, before: Before, at: int, kind: str, known: set[str]) -> Iterator[str]:
    """One run. What follows from a state that was met before need not be tried again."""
    ran = stage.run(*before.operation.argv, at=at, kind=kind)
    if at >= len(stage.injector.calls):
        yield "it did not get that far"
    yield from check_run(stage, before, ran, kind)
    state = fingerprint(stage.summary())
    if state not in known:
        if kind != "404":  # less is asked of what follows from it
            known.add(state)
        yield from check_next(stage, before, kind)
