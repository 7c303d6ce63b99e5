"""Whether OpenMetadata is brought to what the store says: as the store tells it, without a call."""

import time
from collections.abc import Callable, Iterator

from bridge.doctor.finding import Finding, Level
from bridge.openmetadata_settings import OpenMetadataSettings
from bridge.store.database import Database
from bridge.sync.figures import LastComparison, read_figures
from bridge.sync.item import Outcome
from bridge.sync.status import SyncStatus, read_status
from bridge.sync.worker import count_workers

_TARGET, _THING = "openmetadata", "sync"
_SECOND = 1_000_000
#: Retries lie up to ten minutes apart: what waits longer than this was tried in vain, or not at all.
_LONGEST_WAIT = 15 * 60.0
#: How many periods may pass before a comparison is missed: it begins once a period, and takes a while.
_PERIODS = 2
_CHECK = "`lineage-bridge openmetadata check` says what is wrong; nothing is lost, and it goes on by itself"


def check(
    db: Database, org: str, settings: OpenMetadataSettings, now: Callable[[], float] = time.time
) -> Iterator[Finding]:
    """Look at who works, what stands in the way, what waits and what was refused, and what was found there."""
    found, micros = read_status(db, org, _TARGET), int(now() * _SECOND)
    if found.enabled_at is None:
        yield _not_begun(enabled=settings.enabled)
        return
    yield _of_workers(count_workers(db, org, _TARGET, micros))
    if found.trouble:
        yield _warning(f"OpenMetadata is left alone for {_age(found.trouble_at, micros)}: {found.trouble}", _CHECK)
    yield _of_pending(found, micros)
    yield from _of_refused(found)
    yield from _of_comparison(found, read_figures(db, org, _TARGET), settings, micros)


def _not_begun(*, enabled: bool) -> Finding:
    if enabled:
        said = "openmetadata.enabled is true, and nothing was ever sent"
        return _warning(
            said, "start `lineage-bridge serve`, or `lineage-bridge sync --once`, with this configuration"
        )
    return _ok("nothing is sent to OpenMetadata: openmetadata.enabled is false")


def _of_workers(count: int) -> Finding:
    if count:
        return _ok(f"{count} at work on OpenMetadata")
    remedy = (
        "start `lineage-bridge serve` with openmetadata.enabled; if it runs, its log says `syncing stopped` and why; "
        "one that has just begun is seen within ten seconds"
    )
    return _warning("nobody is at work on OpenMetadata", remedy)


def _of_pending(found: SyncStatus, micros: int) -> Finding:
    waiting = found.marks + found.pending
    if found.oldest_pending_at is None or micros - found.oldest_pending_at <= _LONGEST_WAIT * _SECOND:
        return _ok(f"{waiting} changes wait for OpenMetadata, none of them long" if waiting else "no change waits")
    said = (
        f"of {waiting} changes the oldest waits for {_age(found.oldest_pending_at, micros)}, {found.failing} failed"
    )
    return _warning(said, "`lineage-bridge dead list --which pending` says why of each")


def _of_refused(found: SyncStatus) -> Iterator[Finding]:
    dead, unresolved = (
        sum(of.get(outcome, 0) for of in found.outcomes.values()) for outcome in (Outcome.DEAD, Outcome.UNRESOLVED)
    )
    if dead:
        remedy = "`lineage-bridge dead list` says why: put it right and `dead retry`, or `dead drop` it"
        yield _warning(f"OpenMetadata refused {dead} things", remedy)
    if unresolved:
        remedy = (
            "`lineage-bridge dead list --which unresolved` says why: a mapping, or an entity over there, is missing"
        )
        yield _warning(f"{unresolved} things have no place in OpenMetadata, or several", remedy)
    if not dead and not unresolved:
        yield _ok("OpenMetadata refused nothing")


def _of_comparison(
    found: SyncStatus, last: LastComparison | None, settings: OpenMetadataSettings, micros: int
) -> Iterator[Finding]:
    """Look at when OpenMetadata was read, as far as these settings are those of the service, and what was missing."""
    every = settings.sync.seconds
    since = last.ended_at if last else found.enabled_at
    late = every is not None and since is not None and micros - since > _PERIODS * every * _SECOND
    if settings.enabled and late:
        said = f"ended {_age(since, micros)} ago" if last else "never came to its end"
        remedy = "is the service running, and its log without `the comparison is given up`?"
        frequency = settings.sync.sync_frequency
        yield _warning(f"the comparison with OpenMetadata {said}; sync.sync_frequency is {frequency}", remedy)
    elif last is None:
        yield _ok("OpenMetadata was not read yet: how complete it is will be known after the first comparison")
    if last is not None:
        yield _of_completeness(last)


def _of_completeness(last: LastComparison) -> Finding:
    parts = [f"{kind} {one.found} of {one.wanted}" for kind, one in sorted(last.kinds.items()) if one.wanted]
    said = f"when OpenMetadata was read it had {', '.join(parts) or 'nothing to have'}"
    if all(one.found == one.wanted for one in last.kinds.values()):
        return _ok(said)
    remedy = "`lineage-bridge verify openmetadata` and `dead list` name what is missing, `sync explain` says why"
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
