"""Reconciler loop of one target: claim due items, push them, record the results."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from traceback import extract_tb
from typing import NamedTuple

import structlog

from bridge.store.database import Database
from bridge.store.dirty_marks import enable_target, mark_all
from bridge.sync.call_counts import CallCounter
from bridge.sync.circuit_breaker import CircuitBreaker, backoff_seconds
from bridge.sync.comparison import ComparisonReport, ComparisonRunner, delete_report, read_report
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import WRITE_BATCH, SyncItemStore
from bridge.sync.kind_health import KindHealth, failure_class
from bridge.sync.lease import Heartbeat
from bridge.sync.mark_consumer import MarkConsumer
from bridge.sync.status import (
    SyncProgress,
    SyncStatus,
    UnsyncedItem,
    read_progress,
    read_status,
    read_target_identity,
    read_unsynced_items,
    record_pause,
    write_target_identity,
)
from bridge.sync.sync_item import (
    Completed,
    Failure,
    ItemResult,
    Outcome,
    Postponed,
    Released,
    SyncItem,
    encode_record,
    new_item,
)
from bridge.sync.target import BatchResult, ComparedBatch, PlanStep, SyncTarget
from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from mappers.errors import LineageBridgeError, PermanentError, TransientError

_log = structlog.get_logger()

#: Statuses of a server that is up but cannot process requests.
_UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
#: Statuses of conflicts with concurrent changes.
_CONFLICT_STATUSES = frozenset({409, 412})
#: Number of failures that the item itself may have caused, after which it is a dead letter.
_MAX_FAILURES = 5
_MAX_BACKOFF_SECONDS = 600.0
#: Microseconds that a clock may go back without an adjustment of due times.
_MAX_CLOCK_CORRECTION = 1_000_000
_MARKS_PER_BATCH = 1_000
_REQUEUE_INTERVAL = 60 * 1_000_000
#: Total time to wait for retries and for expired leases of dead workers.
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.25


class StepResult(NamedTuple):
    """Items that one step processed, by outcome."""

    outcomes: Counter[str]

    @property
    def idle(self) -> bool:
        return not self.outcomes


class Reconciler:
    """Brings one target to the desired state. Not thread-safe."""

    def __init__(
        self,
        db: Database,
        org: str,
        target: SyncTarget,
        items: SyncItemStore,
        clock: Callable[[], int],
        *,
        backoff: float = 5.0,
        compare_seconds: float | None = None,
        heartbeat: Heartbeat | None = None,
        calls: CallCounter | None = None,
        on_pushed: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._db = db
        self._org = org
        self.target = target
        self._items = items
        items.min_intervals = target.min_intervals
        self._clock = clock
        self._backoff = backoff
        self._mark_consumer = MarkConsumer(db, org, target.name, items, target.affected)
        self._edges = EdgeStore(db, org, target.name)
        self.breaker = CircuitBreaker(backoff, clock)
        self._health = {kind: KindHealth(backoff, clock) for kind in target.batch_sizes}
        self._recorded_pause: str | None = None
        self._heartbeat = heartbeat
        self._calls = calls or CallCounter(org, target.name, clock)
        #: Called with the latency of each pushed change in seconds.
        self._on_pushed = on_pushed
        #: Whether the target responded since the current batch failed.
        self._responded = False
        self._requeued_at = 0
        self._cancelled = False
        self._stepped_at = 0
        self._comparison = ComparisonRunner(db, org, target, items, clock, compare_seconds)

    def enable(self) -> bool:
        """Start writing dirty marks for the target.

        Returns True if a full sync was scheduled, because the target is new or its options have changed.
        """
        db_and_target = (self._db, self._org, self.target.name)
        record_pause(*db_and_target, None, self._clock())
        self.target.prepare()
        self._items.adjust_to_clock(self.target.batch_sizes, _MAX_BACKOFF_SECONDS)
        new = enable_target(*db_and_target, self._clock())
        previous_identity = read_target_identity(*db_and_target)
        write_target_identity(*db_and_target, self.target.identity)
        if previous_identity is None or previous_identity == self.target.identity:
            return new
        mark_all(*db_and_target, self._clock())
        if previous_identity.url != self.target.identity.url:
            self._invalidate_all()
        return True

    def _invalidate_all(self) -> None:
        """Invalidate everything that was pushed, because the target is now another system."""
        with self._db.transaction():
            self._items.invalidate_all()
            self._edges.invalidate_all()
            delete_report(self._db, self._org, self.target.name)

    @property
    def url(self) -> str:
        return self.target.identity.url

    @property
    def pause_reason(self) -> str | None:
        """Why nothing is sent to the target, or nothing of some kinds; None if everything is sent."""
        paused = [
            f"{kind}: {reason}" for kind, health in self._health.items() if (reason := health.breaker.pause_reason)
        ]
        return self.breaker.pause_reason or "; ".join(paused) or None

    def probe(self) -> None:
        """Check that the target responds; raises its error otherwise."""
        self.target.probe()

    def status(self) -> SyncStatus:
        return read_status(self._db, self._org, self.target.name)

    def unsynced_items(self, limit: int) -> list[UnsyncedItem]:
        """List items that are not in sync, with reasons; sends no requests."""
        return read_unsynced_items(self._db, self._org, self.target.name, limit)

    def last_comparison(self) -> ComparisonReport | None:
        """Return the report of the last completed comparison, if any."""
        return read_report(self._db, self._org, self.target.name)

    def progress(self) -> SyncProgress:
        return read_progress(self._db, self._org, self.target.name)

    def next_due_seconds(self) -> float | None:
        """Return the seconds until the next item is due; None if nothing is pending."""
        due_at = self.status().next_due_at
        return None if due_at is None else max(0.0, (due_at - self._clock()) / 1_000_000)

    def cancel(self) -> None:
        """End the calls in flight, from any thread, and send no more; their items stay in the queue."""
        self._cancelled = True
        self.target.cancel()

    def close(self) -> None:
        """Release claims and close the connections to the target and the store."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self.target.close()
        try:
            self._items.worker.release()
            self._calls.flush(self._db, force=True)
        finally:
            self._db.close()

    def step(self, stopped: Callable[[], bool] = lambda: False, only: Collection[str] | None = None) -> StepResult:
        """Push due items in dependency order, unless the circuit is open.

        `only` restricts the step to some kinds.
        """
        outcomes: Counter[str] = Counter()
        self._adjust_to_clock()
        if not self._circuit_closed():
            self._record_pause()
            self._calls.flush(self._db)
            return StepResult(outcomes)
        self._requeue_unresolved()
        while self._mark_consumer.consume(_MARKS_PER_BATCH) == _MARKS_PER_BATCH and not stopped():
            pass
        for kind, items in self._claimed_batches(stopped, only):
            self._record(kind, self._push(kind, items), outcomes)
            self._calls.flush(self._db)
        if only is None and not self.breaker.open and not stopped():
            self._compare(outcomes)
        self._record_pause()
        self._calls.flush(self._db)
        return StepResult(outcomes)

    def _adjust_to_clock(self) -> None:
        """Make all items due if the clock was set back, because their due times belong to the previous time."""
        now = self._clock()
        if now < self._stepped_at - _MAX_CLOCK_CORRECTION:
            _log.warning("clock set back", target=self.target.name, seconds=(self._stepped_at - now) // 1_000_000)
            self._items.adjust_to_clock(self.target.batch_sizes, 0.0)
            self._requeued_at = 0
        self._stepped_at = now

    def ignore_intervals(self) -> None:
        """Push changed items at once, even if they were just pushed, and compare without pauses."""
        self._items.ignore_intervals()
        self._comparison.pauses = False

    def run_until_idle(
        self, max_wait_seconds: float = MAX_WAIT_SECONDS, sleep: Callable[[float], None] = time.sleep
    ) -> Counter[str]:
        """Run steps until nothing is due within `max_wait_seconds`; return the number of items by outcome.

        Intervals between pushes of the same item, and pauses of a comparison, do not apply.
        """
        self.ignore_intervals()
        outcomes: Counter[str] = Counter()
        while True:
            result = self.step()
            outcomes += result.outcomes
            if not result.idle:
                continue
            seconds_until_due = self.next_due_seconds()
            if self.breaker.open or seconds_until_due is None:
                return outcomes
            wait_seconds = max(seconds_until_due, _POLL_SECONDS)
            if wait_seconds > max_wait_seconds:
                return outcomes
            max_wait_seconds -= wait_seconds
            sleep(wait_seconds)

    def push_now(self, kind: str, keys: Collection[bytes]) -> StepResult:
        """Push items again immediately unless another worker holds them."""
        outcomes: Counter[str] = Counter()
        items = self._items.claim(kind, keys)
        if items:
            self._record(kind, self._push(kind, items), outcomes)
        return StepResult(outcomes)

    def _push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        """Push items. One that cannot be mapped becomes a dead letter, and the others are pushed without it."""
        try:
            return self.target.push(kind, items)
        except LineageBridgeError:
            raise
        except Exception as error:  # noqa: BLE001 - the error concerns one item, and must not stop the others
            if len(items) == 1:
                text = f"{type(error).__name__}: {error}"
                [frame] = extract_tb(error.__traceback__, limit=-1)  # the whole traceback may have a thousand frames
                raised_at = f"{frame.filename}:{frame.lineno}"
                _log.error(
                    "item cannot be mapped", target=self.target.name, kind=kind, error=text, raised_at=raised_at
                )
                reason = f"it cannot be mapped ({text}): please report it with its events"
                return BatchResult([Failure(items[0], TargetRejected(reason, 0))])
            middle = len(items) // 2
            return self._push(kind, items[:middle]).extended_by(self._push(kind, items[middle:]))

    def _compare(self, outcomes: Counter[str]) -> None:
        """Run the next part of the comparison, if one is due."""
        try:
            batch = self._comparison.step()
        except TransientError as error:
            self._open_circuit(error)
        else:
            if batch is not None:
                outcomes["compared"] += batch.checked
                outcomes["differing"] += len(batch.differences)

    def _claimed_batches(
        self, stopped: Callable[[], bool], only: Collection[str] | None
    ) -> Iterator[tuple[str, list[SyncItem]]]:
        """Claim due items batch by batch, but only one batch of a slow kind, so that other kinds are not delayed."""
        for kind, limit in self.target.batch_sizes.items():
            if only is not None and kind not in only:
                continue
            breaker = self._health[kind].breaker
            if breaker.open and breaker.wait_seconds == 0:
                breaker.allow_trial()
            while not self.breaker.open and not breaker.open and not stopped():
                items = self._items.claim_due(kind, self.breaker.batch_size(breaker.batch_size(limit)))
                if items:
                    yield kind, items
                    self.breaker.extend_trial()
                    breaker.extend_trial()
                if not items or kind in self.target.slow_kinds:
                    break

    def plan(self) -> list[PlanStep]:
        """List pending changes without applying them."""
        previous_identity = read_target_identity(self._db, self._org, self.target.name)
        affected_items = self._mark_consumer.preview(everything=previous_identity != self.target.identity)
        items: dict[tuple[str, bytes], SyncItem] = {}
        for kind in self.target.batch_sizes:
            keys = {key for item_kind, key in affected_items if item_kind == kind}
            stored = self._items.get(kind, keys)
            items |= {(kind, key): stored.get(key) or new_item(kind, key) for key in keys}
            items |= {(kind, item.key): item for item in self._items.pending(kind)}
        return self.target.plan([items[key] for key in sorted(items)])

    def _requeue_unresolved(self) -> None:
        """Requeue unresolved items, at most once a minute because the statement scans all items."""
        if self._clock() >= self._requeued_at + _REQUEUE_INTERVAL:
            self._requeued_at = self._clock()
            self._items.requeue_unresolved()

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare the whole target with the last push, in batches; changes nothing."""
        return self.target.compare()

    def start_comparison(self) -> None:
        """Compare the whole target in the next steps, and repair the differences."""
        self._comparison.start()

    def _record_pause(self) -> None:
        """Store the reason for a pause so that other processes can report it."""
        if self.pause_reason != self._recorded_pause and not self._cancelled:
            self._recorded_pause = self.pause_reason
            record_pause(self._db, self._org, self.target.name, self._recorded_pause, self._clock())

    def _circuit_closed(self) -> bool:
        """True if requests are allowed; an open circuit is probed once per interval.

        A response to the probe is not enough, because a target may be able to read, but not to write.
        """
        if not self.breaker.open:
            return True
        if self.breaker.wait_seconds > 0:
            return False
        try:
            self.target.probe()
        except LineageBridgeError as error:
            self.breaker.record_failure(str(error), _retry_after(error))
            return False
        self.breaker.record_response()
        return True

    def _record(self, kind: str, batch: BatchResult, outcomes: Counter[str]) -> None:
        """Mark the items that a batch affects, then store the results of the batch."""
        self._responded = False
        is_trial = self._health[kind].breaker.half_open
        if any(isinstance(result, Completed) and result.outcome is Outcome.PUSHED for result in batch.results):
            self.breaker.record_success()
        to_retry = self._health[kind].record(batch.results)
        with self._db.transaction():
            self._items.invalidate(((kind, key) for key in sorted(to_retry)), reset_failures=True)
            if kind == "lineage":
                self._edges.invalidate_edges_into(sorted(to_retry))
            self._items.mark(batch.affected)
            self._items.invalidate(sorted(batch.to_verify))
            self._items.mark_deletions(batch.orphaned)
        results = [
            self._result_of_failure(kind, result, is_trial=is_trial) if isinstance(result, Failure) else result
            for result in batch.results
        ]
        for i in range(0, len(results), WRITE_BATCH):
            with self._db.transaction():
                self._store_results(results[i : i + WRITE_BATCH], batch)
        if batch.affected:  # another worker may have processed them before the results were stored
            with self._db.transaction():
                self._items.mark(batch.affected)
        outcomes.update(map(_outcome_name, results))
        for result in results:
            if isinstance(result, Completed) and result.outcome is Outcome.PUSHED:
                self._on_pushed((self._clock() - result.item.pending_since) / 1_000_000)

    def _store_results(self, results: list[ItemResult], batch: BatchResult) -> None:
        """Store results of items and their incoming edges; invalidate those that other workers have taken over."""
        taken_over = self._items.record_results(results)
        keys = {result.item.key for result in results}
        written = [edge for edge in batch.edges_written if edge.target_key in keys]
        deleted = [edge for edge in batch.edges_deleted if edge.target_key in keys]
        self._edges.write(
            [edge for edge in written if edge.target_key not in taken_over],
            [edge for edge in deleted if edge.target_key not in taken_over],
        )
        self._edges.invalidate([edge for edge in (*written, *deleted) if edge.target_key in taken_over])

    def _result_of_failure(self, kind: str, failure: Failure, *, is_trial: bool) -> ItemResult:
        """Decide between retry, dead letter and release.

        A released item stays due and its failure is not counted, because the target is at fault.
        """
        error, item, health = failure.error, failure.item, self._health[kind]
        is_conflict = isinstance(error, TargetRejected) and error.status in _CONFLICT_STATUSES
        is_ambiguous = failure_class(error) is not None
        if isinstance(error, PermanentError) and not is_conflict and not is_ambiguous:
            return self._dead_letter(failure)
        if not is_conflict and self._is_caused_by_target(error):
            return Released(item)
        if is_ambiguous and health.breaker.open:
            # after a trial, other items are tried first
            return Postponed(item, str(error), self._clock()) if is_trial else Released(item)
        counts_as_failure = is_conflict or (is_ambiguous and not isinstance(error, NoResponse))
        is_caused_by_item = is_conflict or health.is_caused_by_item(item.key)
        if counts_as_failure and is_caused_by_item and item.counted_failures + 1 >= _MAX_FAILURES:
            return self._dead_letter(failure)
        if not counts_as_failure and not isinstance(error, TransientError):
            raise error
        seconds = max(backoff_seconds(self._backoff, item.attempts, _MAX_BACKOFF_SECONDS), _retry_after(error) or 0.0)
        return Postponed(item, str(error), self._clock() + int(seconds * 1_000_000), counts_as_failure)

    def _is_caused_by_target(self, error: LineageBridgeError) -> bool:
        """Return whether the target cannot process any request now, and open the circuit if so.

        After a failure that one request may have caused, the target is probed.
        """
        if self._cancelled and isinstance(error, TransientError):
            return True
        if isinstance(error, NoResponse):
            return False
        if isinstance(error, TargetMisconfigured | Unreachable):
            self._open_circuit(error)
            return True
        if isinstance(error, TargetUnavailable) and error.status in _UNAVAILABLE_STATUSES:
            self._open_circuit(error)
        return failure_class(error) is not None and not self._target_responds()

    def _open_circuit(self, error: LineageBridgeError) -> None:
        if not self.breaker.open:
            self.breaker.record_failure(str(error), _retry_after(error))

    def _target_responds(self) -> bool:
        """Probe the target after a failure that one request may have caused; sends at most one probe per batch."""
        if self.breaker.open:
            return False
        if self._responded:
            return True
        try:
            self.target.probe()
        except LineageBridgeError as error:
            self._open_circuit(error)
            return False
        self._responded = True
        return True

    def _dead_letter(self, failure: Failure) -> Completed:
        record = encode_record(failure.item.record, failure.request)
        return failure.item.complete(Outcome.DEAD, str(failure.error), fingerprint=failure.fingerprint, record=record)


def _outcome_name(result: ItemResult) -> str:
    return result.outcome.value if isinstance(result, Completed) else type(result).__name__.lower()


def _retry_after(error: LineageBridgeError) -> float | None:
    return error.retry_after if isinstance(error, TargetUnavailable) else None
