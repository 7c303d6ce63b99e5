"""Text output of `lineage-bridge sync`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bridge.cli.output import echo
from bridge.cli.table import Column, Row, Table
from bridge.settings.target_names import TargetName
from mappers.counts import count_of
from mappers.timestamps import format_timestamp

if TYPE_CHECKING:
    from bridge.queries.sync_items import SyncEdgeResult, SyncExplanation, SyncItemResult
    from bridge.queries.sync_status import ComparisonResult, TargetStatus
    from bridge.sync.status import SyncStatus
    from bridge.sync.target import PlanStep

_SIGNS = {"create": "+", "change": "~", "use": "=", "delete": "-"}
_MAX_STEPS = 1_000
#: Display names of compared kinds, where they differ.
_DISPLAY_NAMES = {"lineage": "lineage completeness", "result": "quality published"}


def format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def print_sync_state(status: "SyncStatus", target: TargetName) -> None:
    """Print that a target is in sync, or what is left to push."""
    if status.converged and not status.trouble:
        comparison = "not compared with the server yet; `sync --compare` compares it now"
        if status.compared_at:
            comparison = f"last compared with the server at {format_timestamp(status.compared_at)}"
        echo(f"{target.display_name} is in sync: {comparison}")
    if status.pending:
        echo(f"{status.pending} pending ({status.failing} failing): see `lineage-bridge sync status`", err=True)
    if status.troubled:
        echo(f"{status.troubled} dead or unresolved: see `lineage-bridge dead list`", err=True)


def plan_lines(steps: "Sequence[PlanStep]", counts: Counter[str]) -> Iterator[str]:
    changes = [step for step in steps if step.action not in {"leave", "unwanted"}]
    for step in changes[:_MAX_STEPS]:
        reason = f"  ({step.reason})" if step.reason else ""
        yield f"{_SIGNS.get(step.action, '!')} {step.action} {step.kind} {step.name}{reason}"
    if len(changes) > _MAX_STEPS:
        yield f"... and {len(changes) - _MAX_STEPS} more: use --output json for all"
    yield f"plan: {format_counts(counts)}"


def status_lines(status: "TargetStatus") -> Iterator[str]:
    yield from _state_lines(status)
    for kind, counts in sorted(status.outcomes.items()):
        yield f"  {kind}: {format_counts(Counter(counts))}"


def status_table(status: "TargetStatus") -> Table:
    """Return the state of a target above a table of its items by kind and outcome."""
    outcomes = sorted({outcome for counts in status.outcomes.values() for outcome in counts})
    columns = [Column("KIND"), *(Column(outcome.upper(), right=True) for outcome in outcomes)]
    rows = [
        Row([kind, *(f"{counts[outcome]:,}" if outcome in counts else "" for outcome in outcomes)])
        for kind, counts in sorted(status.outcomes.items())
    ]
    return Table(columns, rows, heading=list(_state_lines(status)))


def _state_lines(status: "TargetStatus") -> Iterator[str]:
    if status.enabled_at is None:
        yield f"{status.target}: never enabled: set {status.target}.enabled, and run `serve` or `sync --once`"
        return
    state = f"paused since {status.trouble_at}: {status.trouble}" if status.trouble else "responding"
    yield f"{status.target} {state}"
    if status.converged:
        yield "  in sync"
    if not status.workers:
        yield "  no worker is active: is the service running?"
    yield from _comparison_lines(status.comparison)
    yield from _pending_lines(status)
    yield from _call_lines(status)


def _pending_lines(status: "TargetStatus") -> Iterator[str]:
    if status.marks:
        yield f"  {count_of(status.marks, 'change')} not planned yet"
    if status.pending:
        yield f"  {status.pending} pending ({status.failing} failing), oldest since {status.oldest_pending_at}"
        yield f"  next attempt at {status.next_due_at}"
    if status.latency_p50 is not None and status.latency_p99 is not None:
        yield f"  latency of recent changes: {status.latency_p50:.1f} s (p50), {status.latency_p99:.1f} s (p99)"


def _call_lines(status: "TargetStatus") -> Iterator[str]:
    if status.success_percent is not None:
        calls = format_counts(Counter(status.calls))
        yield f"  requests of the last 24 hours: {status.success_percent:g} % succeeded; {calls}"
    if status.calls_failed:
        yield f"  failed: {format_counts(Counter(status.calls_failed))}"


def _comparison_lines(comparison: "ComparisonResult | None") -> Iterator[str]:
    if comparison is None:
        yield "  no comparison has completed yet; completeness is unknown"
        return
    yield f"  last comparison (finished {comparison.ended_at}):"
    for kind, counts in sorted(comparison.kinds.items()):
        if counts.percent is not None:
            yield f"    {_DISPLAY_NAMES.get(kind, kind)}: {counts.found} of {counts.wanted}, {counts.percent:g} %"


def explanation_lines(explanation: "SyncExplanation") -> Iterator[str]:
    yield f"{explanation.about.namespace} {explanation.about.name}"
    if explanation.trouble:
        yield f"  {TargetName(explanation.target).display_name} is paused: {explanation.trouble}"
    if explanation.marked:
        yield "  recent changes have not been planned yet"
    if not explanation.items and explanation.target == TargetName.openmetadata:
        yield "  never synced: check that openmetadata.enabled is true, and that the service or `sync --once` runs"
    elif not explanation.items:
        yield "  has no entity of its own; it is sent with its runs"
    for item in explanation.items:
        yield from _item_lines(item)
    for edge in explanation.edges:
        yield _edge_line(edge)


def _item_lines(item: "SyncItemResult") -> Iterator[str]:
    time = f" at {item.settled_at}" if item.settled_at else ""
    yield f"  {item.kind}: {item.outcome or 'never pushed'}{time}"
    if item.entity:
        origin = "created by lineage-bridge" if item.entity.ours else "created elsewhere"
        yield f"    entity: {item.entity.type} {item.entity.name}, {origin}"
    if item.reason:
        yield f"    {item.reason}"
    if item.pending:
        failures = f", failed {count_of(item.attempts, 'time')}" if item.attempts else ""
        yield f"    pending since {item.since}, due at {item.due_at}{failures}"


def _edge_line(edge: "SyncEdgeResult") -> str:
    by = f" by {edge.job.namespace} {edge.job.name}" if edge.job else ""
    columns = f", {count_of(edge.columns, 'column')}" if edge.columns else ""
    other_writers = "" if edge.ours else ", also written by others"
    state = "" if edge.sure else ", being written"
    return f"  <- {edge.source.namespace} {edge.source.name}{by}{columns}{other_writers}{state}"
