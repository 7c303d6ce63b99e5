"""Pushes all that is due, as far as it goes, and ends."""

import time
from collections import Counter
from collections.abc import Callable

from bridge.sync.reconciler import Reconciler

#: How long it is waited in all for what failed and is tried again, or for the lease of one that died.
PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.25


def push_all_due(
    reconciler: Reconciler,
    patience: float = PATIENCE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> Counter[str]:
    """Work until nothing is left that can be done now; gives what became of everything on the way."""
    outcomes: Counter[str] = Counter()
    while True:
        done = reconciler.round()
        outcomes += done.outcomes
        if not done.idle:
            continue
        wait = reconciler.next_due_seconds()
        if reconciler.breaker.open or wait is None or max(wait, _LOOK_SECONDS) > patience:
            return outcomes
        patience -= max(wait, _LOOK_SECONDS)
        sleep(max(wait, _LOOK_SECONDS))
