"""Taking times: several arms in turn in one run, and of each the least.

What disturbs a machine only ever adds time, so the least of several is the closest to what a
thing costs; and because arms alternate, a disturbance that lasts meets them all.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

POLL_S = 0.1
"""How often the plain way looks; ours looks as often."""

COMMAND_S = 300


def least(arms: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Run arms A B A B; the least seconds of each."""
    taken: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(rounds):
        for name, arm in arms.items():
            taken[name].append(arm())
            say(f"round {number + 1} of {rounds}: {name} {taken[name][-1]:.2f} s")
    return {name: min(values) for name, values in taken.items()}


def timed(call: Callable[[], object]) -> float:
    """How many seconds a call takes."""
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def run(
    argv: Sequence[str | Path],
    *,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command prints; one that fails ends the benchmark with its words."""
    done = subprocess.run(
        argv,
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}: {done.stdout}{done.stderr}")
    return done.stdout


def until(look: Callable[[], bool], what: str) -> None:
    """Look every 100 ms until it is so."""
    deadline = time.monotonic() + COMMAND_S
    while not look():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not happen within {COMMAND_S} s")
        time.sleep(POLL_S)


def say(text: str) -> None:
    """Tell how far the run is, beside the table."""
    print(text, file=sys.stderr, flush=True)
