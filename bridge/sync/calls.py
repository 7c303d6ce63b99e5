"""How often a target was called, and how often in vain: kept by the hour, for whoever asks the store."""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from bridge.store.database import Database, Insert
from bridge.sync.figures import percent

_HOUR = 3_600 * 1_000_000
#: How many hours are told of, and how many are kept.
TOLD_HOURS, _KEPT_HOURS = 24, 48
#: How often counts are written: who dies loses no more than this.
_KEEP_EVERY = 10 * 1_000_000
_ADD = Insert(
    "sync_call",
    {"org_id": str, "target": str, "hour": int, "kind": str, "calls": int, "failed": int},
    "ON CONFLICT (org_id, target, hour, kind) DO UPDATE SET calls = sync_call.calls + excluded.calls,"
    " failed = sync_call.failed + excluded.failed",
)
_FORGET = "DELETE FROM sync_call WHERE org_id = ?1 AND target = ?2 AND hour <= ?3"
_READ = """
SELECT kind, sum(calls), sum(failed) FROM sync_call WHERE org_id = ?1 AND target = ?2 AND hour > ?3
GROUP BY kind ORDER BY kind
"""


class CallCounts(NamedTuple):
    """How often a target was called, tries included, and how often it refused or did not answer, by kind of call."""

    calls: dict[str, int]
    failed: dict[str, int]

    @property
    def success_percent(self) -> float | None:
        """Say how many of all calls succeeded; None where there was none. A login that fails may precede its call."""
        calls, failed = sum(self.calls.values()), sum(self.failed.values())
        return percent(max(0, calls - failed), calls or failed)


class Calls:
    """Counts calls, from any thread, and keeps the counts in the store, from one."""

    def __init__(self, org: str, target: str, clock: Callable[[], int]) -> None:
        self._bound = (org, target)
        self._clock = clock
        self._lock = Lock()
        self._calls: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._kept_at = clock()

    def counted(self, kind: str) -> None:
        """Count a call."""
        with self._lock:
            self._calls[kind] += 1

    def failed(self, kind: str) -> None:
        """Count a call that was refused or not answered; it was counted as a call already."""
        with self._lock:
            self._failed[kind] += 1

    def keep(self, db: Database, *, at_once: bool = False) -> None:
        """Write down what was counted since the last time, if that was a while ago."""
        now = self._clock()
        if not at_once and now < self._kept_at + _KEEP_EVERY:
            return
        self._kept_at = now
        with self._lock:
            calls, failed = Counter(self._calls), Counter(self._failed)
        if not calls and not failed:
            return
        hour = now // _HOUR
        with db.transaction():
            db.run(_FORGET, *self._bound, hour - _KEPT_HOURS)
            rows = [(*self._bound, hour, kind, calls[kind], failed[kind]) for kind in sorted({*calls, *failed})]
            db.insert(_ADD, rows)
        with self._lock:  # others went on counting
            self._calls -= calls
            self._failed -= failed


def read_calls(db: Database, org: str, target: str, now: int) -> CallCounts:
    """Read how often a target was called in the last 24 hours, this one being one of them."""
    rows = [(kind, int(calls), int(failed)) for kind, calls, failed in db.rows(
        _READ, org, target, now // _HOUR - TOLD_HOURS
    )]  # fmt: skip
    return CallCounts(
        {kind: calls for kind, calls, _ in rows if calls}, {kind: failed for kind, _, failed in rows if failed}
    )
