"""Running programs, with their output shown only when they fail."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from node_image.recipe import NodeImageError

_SHOWN_LINES = 25


def run(
    argv: list[str], *, folder: Path | None = None, environment: dict[str, str] | None = None
) -> str:
    """Run a program to its end; its standard output.

    Raises:
        NodeImageError: It failed; the text has the end of what it said.
    """
    done = subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:])
        raise NodeImageError(f"{' '.join(argv[:3])} failed ({done.returncode}):\n{said}")
    return done.stdout


P = ParamSpec("P")


def step(what: str, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Do one step and say how long it took."""
    print(f"node-image: {what}", flush=True)
    began = time.monotonic()
    work(*args, **kwargs)
    print(f"node-image: {what}: {time.monotonic() - began:.1f} s", flush=True)
