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

_THING = "sync"
_SECOND = 1_000_000
#: Retries lie up to ten minutes apart: what waits longer than this was tried in vain, or not at all.
_MAX_PENDING_SECONDS = 15 * 60.0
#: How many periods may pass before a comparison is missed: it begins once a period, and takes a while.
_MISSED_INTERVALS = 2
_GOES_ON = "nothing is lost, and it goes on by itself once it answers"
_OPENMETADATA = "`lineage-bridge openmetadata check` says what is wrong; nothing is lost, and it goes on by itself"


def check(
    db: Database, org: str, target: TargetName, settings: TargetSettings, now: Callable[[], float] = time.time
) -> Iterator[Finding]:
    """Look at who works, what stands in the way, what waits and what was refused, and what was found there."""
    found, micros = read_status(db, org, target), int(now() * _SECOND)
    if found.enabled_at is None:
        if not settings.enabled and target is not TargetName.openmetadata:
            return  # nobody who does not use it wants to read of it
        yield _not_begun(target, enabled=settings.enabled)
        return
    yield _workers(target, count_live_workers(db, org, target, micros))
    if found.trouble:
        said = f"{target.display_name} is left alone for {_age(found.trouble_at, micros)}: {found.trouble}"
        yield _warning(said, _OPENMETADATA if target is TargetName.openmetadata else _GOES_ON)
    yield _pending(target, found, micros)
    yield from _dead_letters(target, found)
    yield from _comparison(target, found, read_report(db, org, target), settings, micros)


def _not_begun(target: TargetName, *, enabled: bool) -> Finding:
    if enabled:
        said = f"{target}.enabled is true, and nothing was ever sent"
        return _warning(
            said, "start `lineage-bridge serve`, or `lineage-bridge sync --once`, with this configuration"
        )
    return _ok(f"nothing is sent to {target.display_name}: {target}.enabled is false")


def _workers(target: TargetName, count: int) -> Finding:
    if count:
        return _ok(f"{count} at work on {target.display_name}")
    remedy = (
        f"start `lineage-bridge serve` with {target}.enabled; if it runs, its log says `syncing stopped` and why; "
        "one that has just begun is seen within ten seconds"
    )
    return _warning(f"nobody is at work on {target.display_name}", remedy)


def _pending(target: TargetName, found: SyncStatus, micros: int) -> Finding:
    waiting = found.marks + found.pending
    if found.oldest_pending_at is None or micros - found.oldest_pending_at <= _MAX_PENDING_SECONDS * _SECOND:
        return _ok(
            f"{waiting} changes wait for {target.display_name}, none of them long"
            if waiting
            else f"no change waits for {target.display_name}"
        )
    said = (
        f"of {waiting} changes the oldest waits for {_age(found.oldest_pending_at, micros)}, {found.failing} failed"
    )
    return _warning(said, "`lineage-bridge dead list --which pending` says why of each")


def _dead_letters(target: TargetName, found: SyncStatus) -> Iterator[Finding]:
    dead, unresolved = (
        sum(of.get(outcome, 0) for of in found.outcomes.values()) for outcome in (Outcome.DEAD, Outcome.UNRESOLVED)
    )
    if dead:
        remedy = "`lineage-bridge dead list` says why: put it right and `dead retry`, or `dead drop` it"
        yield _warning(f"{target.display_name} refused {dead} things", remedy)
    if unresolved:
        remedy = (
            "`lineage-bridge dead list --which unresolved` says why: a mapping, or an entity over there, is missing"
        )
        yield _warning(f"{unresolved} things have no place in {target.display_name}, or several", remedy)
    if not dead and not unresolved:
        yield _ok(f"{target.display_name} refused nothing")


def _comparison(
    target: TargetName, found: SyncStatus, last: ComparisonReport | None, settings: TargetSettings, micros: int
) -> Iterator[Finding]:
    """Look at when the target was read, as far as these settings are those of the service, and what was missing."""
    every = settings.comparison_interval_seconds
    since = last.ended_at if last else found.enabled_at
    late = every is not None and since is not None and micros - since > _MISSED_INTERVALS * every * _SECOND
    if settings.enabled and late:
        said = f"ended {_age(since, micros)} ago" if last else "never came to its end"
        remedy = "is the service running, and its log without `the comparison is given up`?"
        frequency = settings.sync_frequency
        yield _warning(f"the comparison with {target.display_name} {said}; sync_frequency is {frequency}", remedy)
    elif last is None and every is not None:
        yield _ok(
            f"{target.display_name} was not read yet: how complete it is will be known after the first comparison"
        )
    if last is not None:
        yield _completeness(target, last)


def _completeness(target: TargetName, last: ComparisonReport) -> Finding:
    parts = [f"{kind} {one.in_sync} of {one.expected}" for kind, one in sorted(last.kinds.items()) if one.expected]
    said = f"when {target.display_name} was read it had {', '.join(parts) or 'nothing to have'}"
    if all(one.in_sync == one.expected for one in last.kinds.values()):
        return _ok(said)
    remedy = "`lineage-bridge verify` and `dead list` name what is missing, `sync explain` says why"
    return _warning(said, remedy)


def _age(since: int | None, micros: int) -> str:
    """Say how long something lasts, in the unit that fits."""
    seconds = max(0, micros - (since or micros)) / _SECOND
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def _ok(said: str) -> Finding:
    return Finding(Level.ok, _THING, said)


def _warning(said: str, remedy: str) -> Finding:
    return Finding(Level.warning, _THING, said, remedy)
