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
    """Comparison figures of one kind of item."""

    #: Number of desired items, and how many of them have changes that were not pushed yet.
    wanted: int
    lacking: int
    #: Number of compared items, and how many of them differ from what was last pushed.
    looked_at: int
    differing: int
    #: Number of items in sync, and their percentage of the desired items.
    found: int
    percent: float | None


class ComparisonResult(msgspec.Struct, frozen=True):
    """The result of a full comparison."""

    ended_at: str
    kinds: dict[str, ComparedKindResult]


class TargetStatus(msgspec.Struct, frozen=True):
    """The sync status of a target."""

    target: str
    #: True if the target is in sync with the store, as far as is known.
    converged: bool
    #: Since when the target is enabled; null if the target was never enabled.
    enabled_at: str | None
    #: Why sync is paused, and since when; null if sync is not paused.
    trouble: str | None
    trouble_at: str | None
    #: Start of the last full comparison.
    compared_at: str | None
    #: Result of the last completed comparison; null if there is none.
    comparison: ComparisonResult | None
    #: Percentage of desired edges, and of desired check results, that the comparison found in sync;
    #: null if none is desired or none was compared.
    lineage_completeness: float | None
    quality_published: float | None
    #: Number of live workers.
    workers: int
    #: Dirty marks that were not consumed yet.
    marks: int
    #: Pending items, how many of them failed before, since when the oldest is pending, and when the next is due.
    pending: int
    failing: int
    oldest_pending_at: str | None
    next_due_at: str | None
    #: Seconds that the newest 1,000 changes took: median and 99th percentile.
    latency_p50: float | None
    latency_p99: float | None
    #: Requests of the last 24 hours by kind, including retries, and those that failed or got no response.
    calls: dict[str, int]
    calls_failed: dict[str, int]
    #: Percentage of these requests that succeeded; null if there were none.
    success_percent: float | None
    #: Number of items by kind and last outcome.
    outcomes: dict[str, dict[str, int]]


class SyncStatusQuery(Query[TargetStatus], frozen=True, kw_only=True):
    """Sync status of a target."""

    path = "/sync"
    result_type = TargetStatus
    target: TargetField = "openmetadata"

    def run(self, ctx: QueryContext) -> TargetStatus:
        status = read_status(ctx.db, ctx.org, self.target)
        median, percentile_99 = read_latency(ctx.db, ctx.org, self.target)
        now = now_micros()
        calls = read_calls(ctx.db, ctx.org, self.target, now)
        comparison = _comparison_result(read_report(ctx.db, ctx.org, self.target))
        return TargetStatus(
            target=self.target,
            converged=status.converged,
            enabled_at=iso_or_none(status.enabled_at),
            trouble=status.trouble,
            trouble_at=iso_or_none(status.trouble_at),
            compared_at=iso_or_none(status.compared_at),
            comparison=comparison,
            lineage_completeness=_percent(comparison, "lineage"),
            quality_published=_percent(comparison, "result"),
            workers=count_live_workers(ctx.db, ctx.org, self.target, now),
            marks=status.marks,
            pending=status.pending,
            failing=status.failing,
            oldest_pending_at=iso_or_none(status.oldest_pending_at),
            next_due_at=iso_or_none(status.next_due_at),
            latency_p50=median,
            latency_p99=percentile_99,
            calls=calls.calls,
            calls_failed=calls.failed,
            success_percent=calls.success_percent,
            outcomes=status.outcomes,
        )


def _comparison_result(report: ComparisonReport | None) -> ComparisonResult | None:
    if report is None:
        return None
    kinds = {
        kind: ComparedKindResult(*kind_report, found=kind_report.in_sync, percent=kind_report.percent)
        for kind, kind_report in report.kinds.items()
    }
    return ComparisonResult(format_timestamp(report.ended_at), kinds)


def _percent(comparison: ComparisonResult | None, kind: str) -> float | None:
    """Return the percentage of items of a kind that are in sync, if they were compared."""
    if comparison is None or kind not in comparison.kinds:
        return None
    return comparison.kinds[kind].percent
