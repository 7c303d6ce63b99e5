"""Current time in microseconds since the epoch (UTC)."""

import time


def now_micros() -> int:
    """Give the time, in microseconds."""
    return time.time_ns() // 1_000
