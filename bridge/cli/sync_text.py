"""What `lineage-bridge sync` tells people."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from bridge.settings.target_names import TargetName

if TYPE_CHECKING:
    from bridge.queries.sync_items import SyncEdgeResult, SyncExplanation, SyncItemResult
    from bridge.queries.sync_status import ComparisonResult, TargetStatus
    from bridge.sync.status import SyncStatus
    from bridge.sync.target import PlanStep

_SIGNS = {"create": "+", "change": "~", "use": "=", "delete": "-"}
_MAX_STEPS = 1_000
#: What the parts of what shall be there are called where they have a name of their own.
_CALLED = {"lineage": "lineage completeness", "result": "quality published"}


def format_counts(counts: Counter[str]) -> str:
    """Give counts in a line."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def print_remaining(found: "SyncStatus", target: TargetName) -> None:
    """Say whether anything is left to do, and where it is listed."""
    if found.converged:
        typer.echo(f"{target.display_name} is what the store says")
    if found.pending:
        typer.echo(
            f"{found.pending} wait, {found.failing} of them failed: see `lineage-bridge sync status`", err=True
        )
    if found.troubled:
        typer.echo(f"{found.troubled} refused or without a place: see `lineage-bridge dead list`", err=True)


def plan_lines(steps: "Sequence[PlanStep]", counts: Counter[str]) -> Iterator[str]:
    """Tell what would be done."""
    shown = [step for step in steps if step.action not in {"leave", "unwanted"}]
    for step in shown[:_MAX_STEPS]:
        why = f"  ({step.reason})" if step.reason else ""
        yield f"{_SIGNS.get(step.action, '!')} {step.action} {step.kind} {step.name}{why}"
    if len(shown) > _MAX_STEPS:
        yield f"... and {len(shown) - _MAX_STEPS} more: --output json has all"
    yield f"plan: {format_counts(counts)}"


def status_lines(found: "TargetStatus") -> Iterator[str]:
    """Tell how far a target is."""
    if found.enabled_at is None:
        yield f"{found.target}: nothing is sent: set {found.target}.enabled, and `serve` or `sync --once`"
        return
    state = f"left alone since {found.trouble_at}: {found.trouble}" if found.trouble else "is asked"
    yield f"{found.target} {state}"
    if found.converged:
        yield "  it is what the store says"
    if not found.workers:
        yield "  nobody is at work on it now: is the service running?"
    if found.compared_at:
        yield f"  everything there was compared with what was left there at {found.compared_at}"
    yield from _comparison_lines(found.comparison)
    yield from _waiting_lines(found)
    yield from _call_lines(found)
    for kind, of in sorted(found.outcomes.items()):
        yield f"  {kind}: {format_counts(Counter(of))}"


def _waiting_lines(found: "TargetStatus") -> Iterator[str]:
    """Tell what is left to do, and how long it took until now."""
    if found.marks:
        yield f"  {found.marks} changes to be looked at"
    if found.pending:
        yield f"  {found.pending} wait, {found.failing} of them failed; the oldest since {found.oldest_pending_at}"
        yield f"  the next is due at {found.next_due_at}"
    if found.latency_p50 is not None and found.latency_p99 is not None:
        yield f"  the newest changes took {found.latency_p50:.1f} s (p50), {found.latency_p99:.1f} s (p99)"


def _call_lines(found: "TargetStatus") -> Iterator[str]:
    """Tell how the target answered."""
    if found.success_percent is not None:
        calls = format_counts(Counter(found.calls))
        yield f"  calls of the last 24 hours: {found.success_percent:g} % succeeded; {calls}"
    if found.calls_failed:
        yield f"  failed of them: {format_counts(Counter(found.calls_failed))}"


def _comparison_lines(found: "ComparisonResult | None") -> Iterator[str]:
    """Tell what was found when the target was read."""
    if found is None:
        yield "  what is there was never read to its end: completeness is not known yet"
        return
    yield f"  when it was read, until {found.ended_at}, it had as they shall be:"
    for kind, one in sorted(found.kinds.items()):
        if one.percent is not None:
            yield f"    {_CALLED.get(kind, kind)}: {one.found} of {one.wanted}, {one.percent:g} %"


def explanation_lines(found: "SyncExplanation") -> Iterator[str]:
    """Tell what a thing is in the target, or why it is not there."""
    yield f"{found.about.namespace} {found.about.name}"
    if found.trouble:
        yield f"  {TargetName(found.target).display_name} is left alone: {found.trouble}"
    if found.marked:
        yield "  changes of it are still to be looked at"
    if not found.items and found.target == TargetName.openmetadata:
        yield "  it was never looked at: is openmetadata.enabled true, and does the service or `sync --once` run?"
    elif not found.items:
        yield "  it is no thing of its own there: runs tell of it"
    for item in found.items:
        yield from _item_lines(item)
    for edge in found.edges:
        yield _edge_line(edge)


def _item_lines(item: "SyncItemResult") -> Iterator[str]:
    yield f"  {item.kind}: {item.outcome or 'never pushed'}" + (f" at {item.settled_at}" if item.settled_at else "")
    if item.entity:
        whose = "made from here" if item.entity.ours else "made by others"
        yield f"    is the {item.entity.type} {item.entity.name}, {whose}"
    if item.reason:
        yield f"    {item.reason}"
    if item.pending:
        failed = f", failed {item.attempts} times in a row" if item.attempts else ""
        yield f"    waits since {item.since}, due at {item.due_at}{failed}"


def _edge_line(edge: "SyncEdgeResult") -> str:
    by = f" by {edge.job.namespace} {edge.job.name}" if edge.job else ""
    columns = f", {edge.columns} columns" if edge.columns else ""
    shared = "" if edge.ours else ", shared with others"
    doubt = "" if edge.sure else ", being written"
    return f"  <- {edge.source.namespace} {edge.source.name}{by}{columns}{shared}{doubt}"
