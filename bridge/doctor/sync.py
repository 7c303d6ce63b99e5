"""Health of sync targets, read from the store."""

import time
from collections.abc import Callable, Iterator

from bridge.doctor.finding import Finding, Level
from bridge.settings.target_names import TargetName
from bridge.settings.targets import TargetSettings
from bridge.store.database import Database
from bridge.sync.comparison import ComparisonReport, read_report
from bridge.sync.lease import count_live_workers
from bridge.sync.status import SyncStatus, read_status
from bridge.sync.sync_item import Outcome
from mappers.counts import count_of

_SUBJECT = "sync"
_SECOND = 1_000_000
#: Retries are at most ten minutes apart: a change that is pending for longer has failed, or was never tried.
_MAX_PENDING_SECONDS = 15 * 60.0
#: A comparison is overdue after this many intervals; it starts once per interval and takes some time.
_MISSED_INTERVALS = 2
_OTHER_TARGET_REMEDY = "nothing is lost; sync resumes once the target responds"
_OPENMETADATA_REMEDY = (
    "`lineage-bridge openmetadata check` shows the problem; nothing is lost, sync resumes by itself"
)


def check(
    db: Database, org: str, target: TargetName, settings: TargetSettings, now: Callable[[], float] = time.time
) -> Iterator[Finding]:
    """Check the workers, circuit breaker, pending changes, dead letters and last comparison of a target."""
    status, now_us = read_status(db, org, target), int(now() * _SECOND)
    if status.enabled_at is None:
        if not settings.enabled and target is not TargetName.openmetadata:
            return  # targets that are not in use are not reported
        yield _report_never_enabled(target, enabled=settings.enabled)
        return
    yield _check_workers(target, count_live_workers(db, org, target, now_us))
    if status.trouble:
        duration = _age_text(status.trouble_at, now_us)
        message = f"{target.display_name} has not responded for {duration}: {status.trouble}"
        yield _warning(message, _OPENMETADATA_REMEDY if target is TargetName.openmetadata else _OTHER_TARGET_REMEDY)
    yield _check_pending(target, status, now_us)
    yield from _check_dead_letters(target, status)
    yield from _check_comparison(target, status, read_report(db, org, target), settings, now_us)


def _report_never_enabled(target: TargetName, *, enabled: bool) -> Finding:
    if enabled:
        message = f"{target}.enabled is true, but nothing has been sent"
        return _warning(
            message, "start `lineage-bridge serve`, or `lineage-bridge sync --once`, with this configuration"
        )
    return _ok(f"nothing is sent to {target.display_name}: {target}.enabled is false")


def _check_workers(target: TargetName, count: int) -> Finding:
    if count:
        return _ok(f"{target.display_name} is synced by {count_of(count, 'worker')}")
    remedy = (
        f"start `lineage-bridge serve` with {target}.enabled; if it is running, look for `sync failed` in its log; "
        "a new worker shows up within ten seconds"
    )
    return _warning(f"no worker syncs {target.display_name}", remedy)


def _check_pending(target: TargetName, status: SyncStatus, now_us: int) -> Finding:
    pending_count = status.marks + status.pending
    if status.oldest_pending_at is None or now_us - status.oldest_pending_at <= _MAX_PENDING_SECONDS * _SECOND:
        if pending_count:
            return _ok(f"{count_of(pending_count, 'recent change')} for {target.display_name} pending")
        return _ok(f"no changes for {target.display_name} are pending")
    oldest = _age_text(status.oldest_pending_at, now_us)
    message = f"{count_of(pending_count, 'change')} pending, the oldest for {oldest}; {status.failing} failed"
    return _warning(message, "`lineage-bridge dead list --outcome pending` shows the reason for each")


def _check_dead_letters(target: TargetName, status: SyncStatus) -> Iterator[Finding]:
    dead_count = sum(counts.get(Outcome.DEAD, 0) for counts in status.outcomes.values())
    unresolved_count = sum(counts.get(Outcome.UNRESOLVED, 0) for counts in status.outcomes.values())
    if dead_count:
        remedy = "`lineage-bridge dead list` shows why: fix the cause and run `dead retry`, or `dead drop`"
        yield _warning(f"{target.display_name} rejected {count_of(dead_count, 'item')}", remedy)
    if unresolved_count:
        remedy = "`lineage-bridge dead list --outcome unresolved` shows which mapping or entity is missing"
        yield _warning(
            f"{count_of(unresolved_count, 'item')} cannot be resolved to one entity in {target.display_name}", remedy
        )
    if not dead_count and not unresolved_count:
        yield _ok(f"{target.display_name} rejected nothing")


def _check_comparison(
    target: TargetName,
    status: SyncStatus,
    last_report: ComparisonReport | None,
    settings: TargetSettings,
    now_us: int,
) -> Iterator[Finding]:
    """Check the result of the last comparison, and its age against the configured interval."""
    interval = settings.comparison_interval_seconds
    last_activity_at = last_report.ended_at if last_report else status.enabled_at
    is_overdue = (
        interval is not None
        and last_activity_at is not None
        and now_us - last_activity_at > _MISSED_INTERVALS * interval * _SECOND
    )
    if settings.enabled and is_overdue:
        state = f"ended {_age_text(last_activity_at, now_us)} ago" if last_report else "has never completed"
        remedy = "check that the service is running, and look for `comparison aborted` in its log"
        frequency = settings.sync_frequency
        yield _warning(f"the comparison with {target.display_name} {state}; sync_frequency is {frequency}", remedy)
    elif last_report is None and interval is not None:
        yield _ok(
            f"{target.display_name} has not been compared yet; completeness will be known after the first comparison"
        )
    if last_report is not None:
        yield _check_completeness(target, last_report)


def _check_completeness(target: TargetName, report: ComparisonReport) -> Finding:
    in_sync = [
        f"{kind} {counts.in_sync} of {counts.expected}"
        for kind, counts in sorted(report.kinds.items())
        if counts.expected
    ]
    message = f"last comparison with {target.display_name}: in sync {', '.join(in_sync) or 'nothing expected'}"
    if all(counts.in_sync == counts.expected for counts in report.kinds.values()):
        return _ok(message)
    remedy = "`lineage-bridge verify` and `dead list` list what is missing, `sync explain` shows why"
    return _warning(message, remedy)


def _age_text(started_at: int | None, now_us: int) -> str:
    """Format the time since `started_at`, such as `3 h`, in the largest unit that fits at least twice."""
    seconds = max(0, now_us - (started_at or now_us)) / _SECOND
    for unit, unit_seconds in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * unit_seconds:
            return f"{seconds / unit_seconds:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def _ok(message: str) -> Finding:
    return Finding(Level.ok, _SUBJECT, message)


def _warning(message: str, remedy: str) -> Finding:
    return Finding(Level.warning, _SUBJECT, message, remedy)
