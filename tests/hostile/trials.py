"""Repetition of randomized trials: a few examples in CI, minutes of them with `make hostile` (HOSTILE_SECONDS)."""

import os
import time
from collections.abc import Callable

from hypothesis import HealthCheck, settings

#: Seconds per trial; 0: a few examples.
SECONDS = float(os.environ.get("HOSTILE_SECONDS", "0"))
#: Timeout of a test that runs a trial.
TIMEOUT = SECONDS + 300


def trial_settings(examples: int) -> settings:
    return settings(max_examples=200 if SECONDS else examples, suppress_health_check=list(HealthCheck), database=None)


def repeat(check: Callable[[], None]) -> None:
    """Run a check once and then until the time is over, each time with new examples."""
    ends_at = time.monotonic() + SECONDS
    check()
    while time.monotonic() < ends_at:
        check()
