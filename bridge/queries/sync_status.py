"""Query: sync status of a target."""

import msgspec

from bridge.clock import now_micros
from bridge.queries.query import Query, QueryContext
from bridge.queries.sync_items import TargetField
from bridge.store.references import iso_or_none
from bridge.sync.call_counts import read_calls
from bridge.sync.comparison import ComparisonReport, read_report
from bridge.sync.lease import count_live_workers
from bridge.sync.status import read_latency, read_status
from mappers.timestamps import format_timestamp


class ComparedKindResult(msgspec.Struct, frozen=True):
    """What a comparison found of one kind of things."""

    #: How many there shall be, and how many of them the target was not told of as they are now.
    wanted: int
    lacking: int
    #: How many were looked at, and how many of those were not as they were left.
    looked_at: int
    differing: int
    #: How many are there as they shall be: in all, and in percent of the wanted.
    found: int
    percent: float | None


class ComparisonResult(msgspec.Struct, frozen=True):
    """What a comparison of everything found."""

    ended_at: str
    kinds: dict[str, ComparedKindResult]


class TargetStatus(msgspec.Struct, frozen=True):
    """How far a target is."""

    target: str
    #: Whether the target is what the store says, as far as anybody has looked.
    converged: bool
    #: Since when the target is kept; null if it never was.
    enabled_at: str | None
    #: Why the target is left alone now, if it is, and since when.
    trouble: str | None
    trouble_at: str | None
    #: When the last comparison of everything that is there began.
    compared_at: str | None
    #: What the last one found that came to its end; null if none did.
    comparison: ComparisonResult | None
    #: How many of the edges that there shall be it found as they shall be, and of the results of checks, in percent;
    #: null where none shall be, or none was looked at.
    lineage_completeness: float | None
    quality_published: float | None
    #: How many processes work on it now.
    workers: int
    #: Changes that nobody has looked at yet.
    marks: int
    #: Items that wait for their turn, how many of them failed before, since when the oldest waits, who is next.
    pending: int
    failing: int
    oldest_pending_at: str | None
    next_due_at: str | None
    #: How many seconds the newest thousand changes took: half of them, and all but one in a hundred.
    latency_p50: float | None
    latency_p99: float | None
    #: Calls of the last 24 hours by kind, tries included, and those that were refused or not answered.
    calls: dict[str, int]
    calls_failed: dict[str, int]
    #: How many of these calls succeeded, in percent; null where there was none.
    success_percent: float | None
    #: What became of items when they were last looked at, by kind.
    outcomes: dict[str, dict[str, int]]


class SyncStatusQuery(Query[TargetStatus], frozen=True, kw_only=True):
    """How far a target is what the store says."""

    path = "/sync"
    result_type = TargetStatus
    target: TargetField = "openmetadata"

    def run(self, view: QueryContext) -> TargetStatus:
        """Count."""
        found = read_status(view.db, view.org, self.target)
        half, most = read_latency(view.db, view.org, self.target)
        now = now_micros()
        calls = read_calls(view.db, view.org, self.target, now)
        compared = _comparison(read_report(view.db, view.org, self.target))
        return TargetStatus(
            target=self.target,
            converged=found.converged,
            enabled_at=iso_or_none(found.enabled_at),
            trouble=found.trouble,
            trouble_at=iso_or_none(found.trouble_at),
            compared_at=iso_or_none(found.compared_at),
            comparison=compared,
            lineage_completeness=_percent(compared, "lineage"),
            quality_published=_percent(compared, "result"),
            workers=count_live_workers(view.db, view.org, self.target, now),
            marks=found.marks,
            pending=found.pending,
            failing=found.failing,
            oldest_pending_at=iso_or_none(found.oldest_pending_at),
            next_due_at=iso_or_none(found.next_due_at),
            latency_p50=half,
            latency_p99=most,
            calls=calls.calls,
            calls_failed=calls.failed,
            success_percent=calls.success_percent,
            outcomes=found.outcomes,
        )


def _comparison(found: ComparisonReport | None) -> ComparisonResult | None:
    if found is None:
        return None
    kinds = {
        kind: ComparedKindResult(*one, found=one.in_sync, percent=one.percent) for kind, one in found.kinds.items()
    }
    return ComparisonResult(format_timestamp(found.ended_at), kinds)


def _percent(compared: ComparisonResult | None, kind: str) -> float | None:
    return compared.kinds[kind].percent if compared and kind in compared.kinds else None
