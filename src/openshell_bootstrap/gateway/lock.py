"""One operation at a time on a gateway, and waiting for the one before where that was asked for."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from openshell_bootstrap.errors import LockedError, WaitTimeoutError
from openshell_bootstrap.events import Notice, Reporter
from openshell_bootstrap.models import EngineInfo, Patience
from openshell_bootstrap.settings import LOCK_INTERVAL_S
from openshell_bootstrap.store.host import Store
from openshell_bootstrap.store.lock import Held
from openshell_bootstrap.waits import wait_until


@contextmanager
def hold_lock(name: str, *, engine: EngineInfo, store: Store, report: Reporter) -> Iterator[None]:
    """Hold a gateway's lock while the body runs; what the user should know of it is told.

    Args:
        name: The gateway.
        engine: What it is on.
        store: Where locks go, and how long this command waits for one.
        report: Learns whom it waits for.

    Raises:
        LockedError: Another process, which it names, still works on the gateway.
    """
    met: dict[str, LockedError] = {}
    with ExitStack() as stack:

        def take() -> Held:
            try:
                return stack.enter_context(store.lock(engine.id, name))
            except LockedError as error:
                if store.wait_lock_s and error.transient and error.details not in met:
                    report(Notice(f"Waiting up to {store.wait_lock_s:g} s: {error.details}."))
                met[error.details] = error
                raise

        try:
            patience = Patience(timeout_s=store.wait_lock_s, interval_s=LOCK_INTERVAL_S)
            held = wait_until(take, lambda _held: True, patience=patience, what="the lock")
        except WaitTimeoutError:
            raise met.popitem()[1] from None
        if held.notice:
            report(Notice(held.notice))
        yield
