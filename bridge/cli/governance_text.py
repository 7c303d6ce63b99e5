"""What `lineage-bridge governance` tells."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.sync.openmetadata.governance_plan import describe_remote_changes, format_value
from bridge.sync.sync_item import Outcome

if TYPE_CHECKING:
    from bridge.governance.applier import ApplyResult
    from bridge.governance.asset_sync import DatasetPlan, PushResult

_GOOD = frozenset({"stored", Outcome.PUSHED, Outcome.UNCHANGED, Outcome.OFF})


def plan_lines(applied: "ApplyResult", seen: "Sequence[DatasetPlan]") -> Iterator[str]:
    """Tell what would be changed, like the plan of a change of infrastructure."""
    changed = 0
    for one in seen:
        lines = [*_stored(one), *_in_openmetadata(one), *_not_in_files(one)]
        if lines:
            changed += 1
            sources = ", ".join(loaded.source for loaded in one.loaded)
            yield f"{' '.join(one.name)}  ({sources or 'in no file any more'})"
            yield from lines
    for name, reason in sorted(applied.pending.items()):
        yield " ".join(name)
        yield f"  ? waits: {reason}"
    for left in applied.orphaned:
        yield f"{left.namespace} {left.name}"
        yield f"  ? in no file any more, was in {left.source}: --prune takes it back"
    yield f"plan: {changed} of {len(seen)} datasets differ, {len(applied.pending)} assets wait"


def _stored(one: "DatasetPlan") -> Iterator[str]:
    for path, value in sorted(one.store_changes.items()):
        yield f"  ~ store         {'.'.join(path)}: {format_value(value)}"
    for facet in one.changed_facets:
        yield f"  ~ store         {facet.removeprefix('lineageBridge_')}"


def _in_openmetadata(one: "DatasetPlan") -> Iterator[str]:
    if one.remote_diff is None:
        return
    for path, value in sorted(one.remote_diff.changes.items()):
        yield f"  ~ openmetadata  {'.'.join(path)}: {format_value(value)}"
    yield from (f"  < {said}" for said in describe_remote_changes(one.remote_diff.remote.fields))
    yield from (f"  ! {problem}" for problem in one.remote_diff.problems)


def _not_in_files(one: "DatasetPlan") -> Iterator[str]:
    for path, value in sorted(one.imported_fields.items()):
        yield f"  < taken over from OpenMetadata, in no file yet: {'.'.join(path)} is {format_value(value)}"


def plan_json(applied: "ApplyResult", seen: "Sequence[DatasetPlan]", problems: Sequence[str]) -> dict[str, Any]:
    """Tell a program what would be changed."""
    return {
        "datasets": [_told(one) for one in seen],
        "waiting": [{"namespace": name[0], "name": name[1], "reason": why} for name, why in applied.pending.items()],
        "left": [{"namespace": one.namespace, "name": one.name, "file": one.source} for one in applied.orphaned],
        "problems": list(problems),
        "differs": any(one.has_differences for one in seen) or bool(applied.pending),
    }


def _told(one: "DatasetPlan") -> dict[str, Any]:
    look = one.remote_diff
    return {
        "namespace": one.name[0],
        "name": one.name[1],
        "files": [loaded.source for loaded in one.loaded],
        "store": _fields(one.store_changes) | dict.fromkeys(one.changed_facets, "changed"),
        "openmetadata": _fields(look.changes) if look else {},
        "theirs": _fields(look.remote.fields) if look else {},
        "taken_over": _fields(one.imported_fields),
        "problems": look.problems if look else [],
        "differs": one.has_differences,
    }


def _fields(fields: Any) -> dict[str, Any]:
    return {
        ".".join(path): sorted(value) if isinstance(value, frozenset) else value for path, value in fields.items()
    }


def push_lines(applied: "ApplyResult", results: "Sequence[PushResult]") -> Iterator[str]:
    """Tell what became of everything, what needs a person first."""
    counts: dict[str, int] = {}
    for one in results:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
        if one.reason or one.outcome not in _GOOD or one.changed:
            yield f"{one.outcome:<10}  {' '.join(one.name)}{f': {one.reason}' if one.reason else ''}"
    for name, reason in sorted(applied.pending.items()):
        yield f"waiting     {' '.join(name)}: {reason}"
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "none"
    yield f"datasets: {told}; {len(applied.changes)} changed in the store, {len(applied.pending)} assets wait"


def push_json(applied: "ApplyResult", results: "Sequence[PushResult]", problems: Sequence[str]) -> dict[str, Any]:
    """Tell a program what became of everything."""
    bad = [one for one in results if one.outcome not in (*_GOOD, Outcome.WAITING)]
    return {
        "datasets": [
            {
                "namespace": one.name[0],
                "name": one.name[1],
                "outcome": one.outcome,
                "reason": one.reason,
                "changed": one.changed,
            }
            for one in results
        ],
        "waiting": [{"namespace": name[0], "name": name[1], "reason": why} for name, why in applied.pending.items()],
        "problems": list(problems),
        "done": not bad and not problems,
    }
