"""Runs the reconciler until nothing is due (`sync --once`)."""

import time
from collections import Counter
from collections.abc import Callable

from bridge.sync.reconciler import Reconciler

#: Total time to wait for retries and for expired leases of dead workers.
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.25


def run_until_idle(
    reconciler: Reconciler,
    max_wait_seconds: float = MAX_WAIT_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> Counter[str]:
    """Run steps until nothing is due within `max_wait_seconds`; returns the number of items by outcome."""
    outcomes: Counter[str] = Counter()
    while True:
        result = reconciler.step()
        outcomes += result.outcomes
        if not result.idle:
            continue
        wait = reconciler.next_due_seconds()
        if reconciler.breaker.open or wait is None or max(wait, _POLL_SECONDS) > max_wait_seconds:
            return outcomes
        max_wait_seconds -= max(wait, _POLL_SECONDS)
        sleep(max(wait, _POLL_SECONDS))
