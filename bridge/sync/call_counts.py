"""Counts requests to a target by hour and kind."""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from bridge.store.database import Database, Insert
from bridge.sync.comparison import percent

_HOUR = 3_600 * 1_000_000
#: Number of hours that reports cover, and number of hours kept in the store.
REPORTED_HOURS, _RETAINED_HOURS = 24, 48
#: Flush interval in microseconds; a crash loses at most this much.
_FLUSH_INTERVAL = 10 * 1_000_000
_ADD = Insert(
    "sync_call",
    {"org_id": str, "target": str, "hour": int, "kind": str, "calls": int, "failed": int},
    "ON CONFLICT (org_id, target, hour, kind) DO UPDATE SET calls = sync_call.calls + excluded.calls,"
    " failed = sync_call.failed + excluded.failed",
)
_DELETE_OLD = "DELETE FROM sync_call WHERE org_id = ?1 AND target = ?2 AND hour <= ?3"
_READ = """
SELECT kind, sum(calls), sum(failed) FROM sync_call WHERE org_id = ?1 AND target = ?2 AND hour > ?3
GROUP BY kind ORDER BY kind
"""


class CallTotals(NamedTuple):
    """Counts by kind: all requests to a target, including retries, and failed requests."""

    calls: dict[str, int]
    failed: dict[str, int]

    @property
    def success_percent(self) -> float | None:
        """Percentage of successful requests; None if there were no requests.

        A failed login counts as a failure but not as a request, so failures may outnumber requests.
        """
        total_calls, total_failed = sum(self.calls.values()), sum(self.failed.values())
        return percent(max(0, total_calls - total_failed), total_calls or total_failed)


class CallCounter:
    """Counts requests from any thread; one thread flushes the counts to the store."""

    def __init__(self, org: str, target: str, clock: Callable[[], int]) -> None:
        self._org_and_target = (org, target)
        self._clock = clock
        self._lock = Lock()
        self._calls: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._flushed_at = clock()

    def count_call(self, kind: str) -> None:
        with self._lock:
            self._calls[kind] += 1

    def count_failure(self, kind: str) -> None:
        """Count a failure; the failed request itself has already been counted."""
        with self._lock:
            self._failed[kind] += 1

    def flush(self, db: Database, *, force: bool = False) -> None:
        """Write the counts since the last flush, at most once per interval unless `force` is set."""
        now = self._clock()
        if not force and 0 <= now - self._flushed_at < _FLUSH_INTERVAL:
            return
        self._flushed_at = now
        with self._lock:
            calls, failed = Counter(self._calls), Counter(self._failed)
        if not calls and not failed:
            return
        hour = now // _HOUR
        with db.transaction():
            db.execute(_DELETE_OLD, *self._org_and_target, hour - _RETAINED_HOURS)
            rows = [
                (*self._org_and_target, hour, kind, calls[kind], failed[kind]) for kind in sorted({*calls, *failed})
            ]
            db.insert(_ADD, rows)
        with self._lock:  # other threads may have counted in the meantime
            self._calls -= calls
            self._failed -= failed


def read_calls(db: Database, org: str, target: str, now: int) -> CallTotals:
    """Read the totals of the last 24 hours, including the current hour."""
    rows = db.fetch_all(_READ, org, target, now // _HOUR - REPORTED_HOURS)
    calls = {kind: int(count) for kind, count, _ in rows if count}
    failed = {kind: int(count) for kind, _, count in rows if count}
    return CallTotals(calls, failed)
