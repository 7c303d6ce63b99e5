"""The system clock."""

import time


def now_micros() -> int:
    """Return the current time in microseconds since the epoch."""
    return time.time_ns() // 1_000
