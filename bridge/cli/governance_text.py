"""Text and JSON output of `lineage-bridge governance`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.sync.openmetadata.governance_plan import describe_remote_changes, format_value
from bridge.sync.sync_item import Outcome
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.governance.applier import ApplyResult
    from bridge.governance.asset_sync import DatasetPlan, PushResult

_SUCCESSFUL = frozenset({"stored", Outcome.PUSHED, Outcome.UNCHANGED, Outcome.OFF})


def plan_lines(result: "ApplyResult", plans: "Sequence[DatasetPlan]") -> Iterator[str]:
    """List the changes that a push would make."""
    differing_count = 0
    for plan in plans:
        lines = [*_store_lines(plan), *_openmetadata_lines(plan), *_imported_lines(plan)]
        if lines:
            differing_count += 1
            sources = ", ".join(asset.source for asset in plan.loaded)
            yield f"{' '.join(plan.name)}  ({sources or 'in no file'})"
            yield from lines
    for name, reason in sorted(result.pending.items()):
        yield " ".join(name)
        yield f"  ? pending: {reason}"
    for orphan in result.orphaned:
        yield f"{orphan.namespace} {orphan.name}"
        yield f"  ? removed from {orphan.source}: --prune removes its metadata"
    yield (
        f"plan: {differing_count} of {count_of(len(plans), 'dataset')} to change, "
        f"{count_of(len(result.pending), 'asset')} pending"
    )


def _store_lines(plan: "DatasetPlan") -> Iterator[str]:
    for path, value in sorted(plan.store_changes.items()):
        yield f"  ~ store         {'.'.join(path)}: {format_value(value)}"
    for facet in plan.changed_facets:
        yield f"  ~ store         {facet.removeprefix('lineageBridge_')}"


def _openmetadata_lines(plan: "DatasetPlan") -> Iterator[str]:
    if plan.remote_diff is None:
        return
    for path, value in sorted(plan.remote_diff.changes.items()):
        yield f"  ~ openmetadata  {'.'.join(path)}: {format_value(value)}"
    yield from (f"  < {change}" for change in describe_remote_changes(plan.remote_diff.remote.fields))
    yield from (f"  ! {problem}" for problem in plan.remote_diff.problems)


def _imported_lines(plan: "DatasetPlan") -> Iterator[str]:
    for path, value in sorted(plan.imported_fields.items()):
        yield f"  < imported from OpenMetadata, not in any file yet: {'.'.join(path)} is {format_value(value)}"


def plan_json(
    result: "ApplyResult", plans: "Sequence[DatasetPlan]", problems: Sequence[str], warnings: Sequence[str]
) -> dict[str, Any]:
    return {
        "datasets": [_dataset_plan_json(plan) for plan in plans],
        "waiting": _pending_json(result),
        "left": [
            {"namespace": orphan.namespace, "name": orphan.name, "file": orphan.source} for orphan in result.orphaned
        ],
        "problems": list(problems),
        "warnings": list(warnings),
        "differs": any(plan.has_differences for plan in plans) or bool(result.pending),
    }


def _pending_json(result: "ApplyResult") -> list[dict[str, str]]:
    return [
        {"namespace": namespace, "name": name, "reason": reason}
        for (namespace, name), reason in result.pending.items()
    ]


def _dataset_plan_json(plan: "DatasetPlan") -> dict[str, Any]:
    namespace, name = plan.name
    diff = plan.remote_diff
    return {
        "namespace": namespace,
        "name": name,
        "files": [asset.source for asset in plan.loaded],
        "store": _fields_json(plan.store_changes) | dict.fromkeys(plan.changed_facets, "changed"),
        "openmetadata": _fields_json(diff.changes) if diff else {},
        "theirs": _fields_json(diff.remote.fields) if diff else {},
        "taken_over": _fields_json(plan.imported_fields),
        "problems": diff.problems if diff else [],
        "differs": plan.has_differences,
    }


def _fields_json(fields: Any) -> dict[str, Any]:
    """Convert values by field path to values by dotted name. Sets become sorted lists."""
    return {
        ".".join(path): sorted(value) if isinstance(value, frozenset) else value for path, value in fields.items()
    }


def push_lines(result: "ApplyResult", results: "Sequence[PushResult]") -> Iterator[str]:
    """Yield one line per dataset that changed or failed, then the counts."""
    counts = Counter(push.outcome for push in results)
    for push in results:
        if push.reason or push.outcome not in _SUCCESSFUL or push.has_changed:
            reason = f": {push.reason}" if push.reason else ""
            yield f"{push.outcome:<10}  {' '.join(push.name)}{reason}"
    for name, reason in sorted(result.pending.items()):
        yield f"pending     {' '.join(name)}: {reason}"
    summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "none"
    yield (
        f"datasets: {summary}; {len(result.changes)} changed in the store, "
        f"{count_of(len(result.pending), 'asset')} pending"
    )


def push_json(
    result: "ApplyResult", results: "Sequence[PushResult]", problems: Sequence[str], warnings: Sequence[str]
) -> dict[str, Any]:
    failed_results = [push for push in results if push.outcome not in (*_SUCCESSFUL, Outcome.WAITING)]
    return {
        "datasets": [_push_result_json(push) for push in results],
        "waiting": _pending_json(result),
        "problems": list(problems),
        "warnings": list(warnings),
        "done": not failed_results and not problems,
    }


def _push_result_json(push: "PushResult") -> dict[str, Any]:
    namespace, name = push.name
    return {
        "namespace": namespace,
        "name": name,
        "outcome": push.outcome,
        "reason": push.reason,
        "changed": push.has_changed,
    }
