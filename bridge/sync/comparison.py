"""Periodically compares a target with the last push, requeues differences and stores the report."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import structlog

from bridge.store.database import Database, Insert
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import DELETION
from bridge.sync.target import ComparedBatch, ExpectedCount, SyncTarget
from connectors.errors import NoResponse, TargetUnavailable
from mappers.errors import LineageBridgeError, PermanentError

_INSERT = Insert(
    "sync_comparison",
    {
        "org_id": str, "target": str, "kind": str, "wanted": int, "lacking": int, "looked_at": int,
        "differing": int, "ended_at": int,
    },
    "ON CONFLICT (org_id, target, kind) DO UPDATE SET wanted = excluded.wanted, lacking = excluded.lacking,"
    " looked_at = excluded.looked_at, differing = excluded.differing, ended_at = excluded.ended_at",
)  # fmt: skip
_DELETE = "DELETE FROM sync_comparison WHERE org_id = ?1 AND target = ?2"
_READ = """
SELECT kind, wanted, lacking, looked_at, differing, ended_at FROM sync_comparison
WHERE org_id = ?1 AND target = ?2 ORDER BY kind
"""


class KindReport(NamedTuple):
    """Comparison result for one kind of item."""

    #: Items expected in the target, and how many of them are missing or have changes that are not pushed yet.
    expected: int
    outdated: int
    #: Items compared, and how many of them differ from the last push.
    checked: int
    different: int

    @property
    def in_sync(self) -> int:
        return max(0, self.expected - self.outdated - self.different)

    @property
    def percent(self) -> float | None:
        """Share of expected items that are in sync; None if nothing is expected."""
        return percent(self.in_sync, self.expected)


class ComparisonReport(NamedTuple):
    """Result of the last completed comparison by kind; times are microseconds."""

    ended_at: int
    kinds: Mapping[str, KindReport]


class ReportBuilder:
    """Adds up the parts of a comparison."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add_expected(self, count: ExpectedCount) -> None:
        self._counts_of(count.kind).update(expected=count.expected, outdated=count.outdated)

    def add_compared(self, batch: ComparedBatch) -> None:
        self._counts_of(batch.kind).update(checked=batch.checked, different=len(batch.differences), batches=1)

    def reports(self, kinds: Collection[str]) -> dict[str, KindReport]:
        """Return reports by kind, for the given kinds and for all other kinds that were compared."""
        compared_kinds = {kind for kind, counts in self._counts.items() if counts["batches"] and kind != DELETION}
        reports = {}
        for kind in compared_kinds.union(kinds):
            counts = self._counts_of(kind)
            reports[kind] = KindReport(counts["expected"], counts["outdated"], counts["checked"], counts["different"])
        return reports

    def _counts_of(self, kind: str) -> Counter[str]:
        return self._counts.setdefault(kind, Counter())


def write_report(db: Database, org: str, target: str, reports: Mapping[str, KindReport], now: int) -> None:
    """Replace the stored report; the comparison ended at `now`."""
    with db.transaction():
        db.execute(_DELETE, org, target)
        db.insert(_INSERT, [(org, target, kind, *report, now) for kind, report in sorted(reports.items())])


def delete_report(db: Database, org: str, target: str) -> None:
    """Delete the stored report. Must be called inside a transaction."""
    db.execute(_DELETE, org, target)


def read_report(db: Database, org: str, target: str) -> ComparisonReport | None:
    """Read the report of the last completed comparison, if any."""
    rows = db.fetch_all(_READ, org, target)
    if not rows:
        return None
    kinds = {kind: KindReport(*counts) for kind, *counts, _ in rows}
    return ComparisonReport(max(ended_at for *_, ended_at in rows), kinds)


def percent(part: int, total: int) -> float | None:
    """Return the percentage rounded down: 100 only if nothing is missing. None if the total is 0."""
    return part * 10_000 // total / 100 if total else None


_log = structlog.get_logger()

#: The daemon that updates this row runs the comparison; the others check again later.
_CLAIM = """
UPDATE sync_target SET compared_at = ?3
WHERE org_id = ?1 AND target = ?2 AND coalesce(compared_at, enabled_at) <= ?4 RETURNING target
"""
_START = "UPDATE sync_target SET compared_at = ?3 WHERE org_id = ?1 AND target = ?2"
_RESET = "UPDATE sync_target SET compared_at = NULL WHERE org_id = ?1 AND target = ?2"
_SERVER_ERROR = 500
_CHECK_INTERVAL = 60 * 1_000_000
#: Number of counts per step; due items are pushed between steps.
_COUNTS_PER_STEP = 10
#: A comparison pauses this many times as long as its last batch took, to spread the load on the target.
_PAUSE_FACTOR = 9


def _aborts_comparison(error: Exception) -> bool:
    """Return whether a comparison that is repeated now would probably fail again."""
    if isinstance(error, TargetUnavailable):
        return error.status == _SERVER_ERROR
    return isinstance(error, NoResponse | PermanentError) or not isinstance(error, LineageBridgeError)


class ComparisonRunner:
    """Runs the periodic comparison of one target step by step. Not thread-safe."""

    def __init__(
        self,
        db: Database,
        org: str,
        target: SyncTarget,
        items: SyncItemStore,
        clock: Callable[[], int],
        interval_seconds: float | None,
    ) -> None:
        self._db = db
        self._org_and_target = (org, target.name)
        self._target = target
        self._items = items
        self._edges = EdgeStore(db, org, target.name)
        self._clock = clock
        self._interval = None if interval_seconds is None else int(interval_seconds * 1_000_000)
        self._next_check_at = 0
        self._batches: Iterator[ComparedBatch] | None = None
        #: Whether to pause between batches.
        self.pauses = True
        self._next_batch_at = 0
        self._requeued: Counter[str] = Counter()

    def step(self) -> ComparedBatch | None:
        """Compare the next batch; None if no comparison is running or due, or if it pauses."""
        if self._batches is None and not self._start_if_due():
            return None
        assert self._batches is not None  # noqa: S101 - started above
        began_at = self._clock()
        if began_at < self._next_batch_at:
            return None
        try:
            batch = next(self._batches, None)
            if self.pauses:
                self._next_batch_at = self._clock() + (self._clock() - began_at) * _PAUSE_FACTOR
        except Exception as error:
            self._batches = None
            if not _aborts_comparison(error):
                self._reschedule()
                raise
            is_unexpected = not isinstance(error, LineageBridgeError)
            _log.warning("comparison aborted until the next interval", reason=str(error), exc_info=is_unexpected)
            return None
        if batch is None:
            self._batches = None
            if self._requeued:
                _log.warning("comparison found differences; repairing them", **self._requeued)
        elif batch.differences or batch.orphaned:
            self._requeue_differences(batch)
        return batch

    def start(self) -> None:
        """Start a comparison now, whether it is due or not."""
        with self._db.transaction():
            self._db.execute(_START, *self._org_and_target, self._clock())
        self._begin()

    def _start_if_due(self) -> bool:
        """Start a comparison if one is due and no other daemon has started it."""
        now = self._clock()
        if self._interval is None or now < self._next_check_at:
            return False
        self._next_check_at = now + min(self._interval, _CHECK_INTERVAL)
        with self._db.transaction():
            claimed = bool(self._db.fetch_all(_CLAIM, *self._org_and_target, now, now - self._interval))
        if claimed:
            self._begin()
        return claimed

    def _begin(self) -> None:
        self._batches = self._count_and_compare()
        self._next_batch_at = 0
        self._requeued.clear()

    def _count_and_compare(self) -> Iterator[ComparedBatch]:
        """Count expected items before comparing, because requeued differences would otherwise be counted twice.

        The report is stored only when the comparison completes.
        """
        report = ReportBuilder()
        for number, count in enumerate(self._target.count_expected(), 1):
            report.add_expected(count)
            if number % _COUNTS_PER_STEP == 0:
                yield ComparedBatch(count.kind, 0, ())  # lets the caller push due items in between
        for batch in self._target.compare():
            report.add_compared(batch)
            yield batch
        write_report(self._db, *self._org_and_target, report.reports(self._target.compared_kinds), self._clock())

    def _reschedule(self) -> None:
        """Make an unfinished comparison due immediately."""
        self._next_check_at = 0
        with self._db.transaction():
            self._db.execute(_RESET, *self._org_and_target)

    def _requeue_differences(self, batch: ComparedBatch) -> None:
        self._requeued.update(difference.kind for difference in batch.differences)
        self._requeued.update(remote.type for remote in batch.orphaned)
        with self._db.transaction():
            self._items.mark_deletions(batch.orphaned)
            self._items.invalidate((difference.kind, difference.key) for difference in batch.differences)
            self._edges.invalidate_edges_into(
                {difference.key for difference in batch.differences if difference.kind == "lineage"}
            )
