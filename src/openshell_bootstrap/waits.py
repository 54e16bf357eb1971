"""The one place that waits: look, decide, look again.

Nothing else in the product sleeps or retries.
"""

from collections.abc import Callable
from typing import NoReturn, TypeVar

import tenacity

from openshell_bootstrap.errors import BootstrapError, WaitFailedError, WaitTimeoutError
from openshell_bootstrap.models import Patience

S = TypeVar("S")


def wait_until(
    observe: Callable[[], S],
    ready: Callable[[S], bool],
    *,
    failed: Callable[[S], str | None] = lambda _seen: None,
    patience: Patience,
    what: str,
) -> S:
    """Look until ``ready`` says yes, and return that look.

    Args:
        observe: Returns a frozen snapshot. A transient error counts as a look that was not ready.
        ready: Pure: is this what we wait for?
        failed: Pure: the reason why it cannot come any more, or None.
        patience: How long altogether and how often.
        what: What is waited for, for the message: ``"the node"``.

    Raises:
        WaitTimeoutError: It did not come in time; the last look is in its details.
        WaitFailedError: ``failed`` gave a reason.
        BootstrapError: ``observe`` raised one that is not transient.
    """

    def look() -> S:
        seen = observe()
        if (reason := failed(seen)) is not None:
            raise WaitFailedError(f"Gave up waiting for {what}: {reason}", details=_show(seen))
        return seen

    looks = tenacity.Retrying(
        stop=tenacity.stop_before_delay(patience.timeout_s),
        wait=tenacity.wait_fixed(patience.interval_s),
        retry=tenacity.retry_if_exception(_is_transient)
        | tenacity.retry_if_result(lambda seen: not ready(seen)),
        retry_error_callback=lambda state: _give_up(state, patience, what),
    )
    return looks(look)


def _give_up(state: tenacity.RetryCallState, patience: Patience, what: str) -> NoReturn:
    """Tell the last look, and what it raised, in an error of its own."""
    outcome = state.outcome
    last = None if outcome is None else outcome.exception() or outcome.result()
    cause = last if isinstance(last, BaseException) else None
    raise WaitTimeoutError(
        f"No sign of {what} after {patience.timeout_s:g} s", details=_show(last)
    ) from cause


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, BootstrapError) and error.transient


def _show(seen: object) -> str:
    if isinstance(seen, BootstrapError):
        return f"last look: {seen.brief}" + (f"\n{seen.details}" if seen.details else "")
    if isinstance(seen, tuple):
        return f"last look: {'; '.join(map(str, seen)) or 'nothing'}"
    return f"last look: {seen}"
