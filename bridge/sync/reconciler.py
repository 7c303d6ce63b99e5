"""Brings a target to what the store says: takes what is due, pushes it, and writes down what became of it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.marks import enable_target, mark_everything
from bridge.sync.breaker import Breaker, backoff_seconds
from bridge.sync.calls import Calls
from bridge.sync.edge_states import EdgeStates
from bridge.sync.figures import LastComparison, forget_figures, read_figures
from bridge.sync.item import Done, Failed, Item, Outcome, Postponed, Released, Settled, new_item
from bridge.sync.items import AT_ONCE, Items
from bridge.sync.repair import Repair
from bridge.sync.spread import Spreader
from bridge.sync.status import (
    NotThere,
    Progress,
    SyncStatus,
    read_progress,
    read_reasons,
    read_settings,
    read_status,
    write_settings,
    write_trouble,
)
from bridge.sync.target import Compared, Pushed, Step, Target
from bridge.sync.worker import Heartbeat
from mappers.errors import (
    LineageBridgeError,
    NoAnswer,
    PermanentError,
    TargetBusy,
    TargetLocked,
    TargetRefused,
    TransientError,
    Unreachable,
)

_SERVER_FAILED = 500
#: What a server says that is there, and cannot work.
_UNAVAILABLE = frozenset({502, 503, 504})
#: What somebody else changed or made meanwhile.
_CONTESTED = frozenset({409, 412})
#: Failures that may be the fault of what is sent, and after how many of them it is held to be.
_COUNTED, _MOST_FAILURES = frozenset({404, _SERVER_FAILED}), 5
_LONGEST_BACKOFF = 600.0
_MARKS = 1_000
_LOOK_AGAIN_EVERY = 60 * 1_000_000


class Round(NamedTuple):
    """What one round did: items by what became of them."""

    outcomes: Counter[str]

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return not self.outcomes


class Reconciler:
    """Works for one target. Not for several threads at once."""

    def __init__(
        self,
        db: Database,
        org: str,
        target: Target,
        items: Items,
        clock: Callable[[], int],
        *,
        backoff: float = 5.0,
        compare_seconds: float | None = None,
        heartbeat: Heartbeat | None = None,
        calls: Calls | None = None,
        took: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._db = db
        self._org = org
        self._target = target
        self._items = items
        self._clock = clock
        self._backoff = backoff
        self._spreader = Spreader(db, org, target.name, items, target.meaning)
        self._states = EdgeStates(db, org, target.name)
        self.breaker = Breaker(backoff, clock)
        self._told: str | None = None
        self._heartbeat = heartbeat
        self._calls = calls or Calls(org, target.name, clock)
        #: Told of each change that reached the target how many seconds it took.
        self._took = took
        #: Whether the target answered since the batch failed that is being finished.
        self._there = False
        self._looked_again = 0
        self._repair = Repair(db, org, target, items, clock, compare_seconds)

    def enable(self) -> bool:
        """Let marks be made for the target; tells whether everything is looked at: it is new, or kept otherwise."""
        bound = (self._db, self._org, self._target.name)
        write_trouble(*bound, None, self._clock())
        self._target.prepare()
        new = enable_target(*bound, self._clock())
        known = read_settings(*bound)
        if known == self._target.settings:
            return new
        write_settings(*bound, self._target.settings)
        if known is None:
            return new
        mark_everything(*bound, self._clock())
        if known.url != self._target.settings.url:
            self._doubt_everything()
        return True

    def _doubt_everything(self) -> None:
        """Believe nothing of what was left in a target: it is another one."""
        with self._db.transaction():
            self._items.doubt_all()
            self._states.doubt_all()
            forget_figures(self._db, self._org, self._target.name)

    @property
    def url(self) -> str:
        """Say which system it is."""
        return self._target.settings.url

    def probe(self) -> None:
        """Ask whether the target is there; raises what is wrong."""
        self._target.probe()

    def status(self) -> SyncStatus:
        """Say how far the target is."""
        return read_status(self._db, self._org, self._target.name)

    def reasons(self, most: int) -> list[NotThere]:
        """Say what the target has not as it shall be, and why, as far as that is known without asking it."""
        return read_reasons(self._db, self._org, self._target.name, most)

    def last_comparison(self) -> LastComparison | None:
        """Say what the last comparison found that came to its end."""
        return read_figures(self._db, self._org, self._target.name)

    def progress(self) -> Progress:
        """Say how much is left to do."""
        return read_progress(self._db, self._org, self._target.name)

    def next_due_seconds(self) -> float | None:
        """Say how long it is until anything is due; None when nothing waits."""
        due_at = self.status().next_due_at
        return None if due_at is None else max(0.0, (due_at - self._clock()) / 1_000_000)

    def close(self) -> None:
        """Give back what was taken, and close the connections to the target and to the store."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._target.close()
        try:
            self._items.worker.leave()
            self._calls.keep(self._db, at_once=True)
        finally:
            self._db.close()

    def round(self, stopped: Callable[[], bool] = lambda: False, only: Collection[str] | None = None) -> Round:
        """Do what is due, in the order in which things need each other, as far as the target answers.

        Only of some kinds, if those are given.
        """
        outcomes: Counter[str] = Counter()
        if not self._answers():
            self._tell_trouble()
            self._calls.keep(self._db)
            return Round(outcomes)
        self._look_again()
        while self._spreader.spread(_MARKS) == _MARKS:
            pass
        for kind, items in self._lots(stopped, only):
            self._finish(self._target.push(kind, items), outcomes)
            self._calls.keep(self._db)
        if only is None and not self.breaker.open and not stopped():
            self._compare(outcomes)
        self._tell_trouble()
        self._calls.keep(self._db)
        return Round(outcomes)

    def push_now(self, kind: str, keys: Collection[bytes]) -> Round:
        """Push things anew, whatever is known of them, as far as nobody else is at work on them."""
        outcomes: Counter[str] = Counter()
        items = self._items.take(kind, keys)
        if items:
            self._finish(self._target.push(kind, items), outcomes)
        return Round(outcomes)

    def _compare(self, outcomes: Counter[str]) -> None:
        """Compare a bit of what is there with what was left there, if it is time to."""
        try:
            compared = self._repair.step()
        except TransientError as error:
            self._open(error)
        else:
            if compared is not None:
                outcomes["compared"] += compared.looked_at
                outcomes["differing"] += len(compared.differences)

    def _lots(self, stopped: Callable[[], bool], only: Collection[str] | None) -> Iterator[tuple[str, list[Item]]]:
        """Claim what is due, lot by lot; of slow kinds one lot: what came in meanwhile is next."""
        for kind, limit in self._target.kinds.items():
            if only is not None and kind not in only:
                continue
            while not self.breaker.open and not stopped() and (items := self._items.claim(kind, limit)):
                yield kind, items
                if kind in self._target.slow:
                    break

    def plan(self) -> list[Step]:
        """Say what is to be done, and do nothing."""
        left = read_settings(self._db, self._org, self._target.name)
        wanted = self._spreader.preview(everything=left != self._target.settings)
        items: dict[tuple[str, bytes], Item] = {}
        for kind in self._target.kinds:
            keys = {key for of, key in wanted if of == kind}
            known = self._items.of(kind, keys)
            items |= {(kind, key): known.get(key) or new_item(kind, key) for key in keys}
            items |= {(kind, item.key): item for item in self._items.pending(kind)}
        return self._target.plan([items[key] for key in sorted(items)])

    def _look_again(self) -> None:
        """Look once a minute for what had no place: it goes through all items."""
        if self._clock() >= self._looked_again + _LOOK_AGAIN_EVERY:
            self._looked_again = self._clock()
            self._items.look_again()

    def compare(self) -> Iterator[Compared]:
        """Compare everything that is there with what was left there, bit by bit, and change nothing."""
        return self._target.compare()

    def _tell_trouble(self) -> None:
        """Let others see why the target is left alone."""
        if self.breaker.reason != self._told:
            self._told = self.breaker.reason
            write_trouble(self._db, self._org, self._target.name, self._told, self._clock())

    def _answers(self) -> bool:
        """Tell whether the target may be asked; one that did not answer is asked once an interval."""
        if not self.breaker.open:
            return True
        if self.breaker.wait_seconds > 0:
            return False
        try:
            self._target.probe()
        except LineageBridgeError as error:
            self.breaker.failed(str(error), _wait(error))
            return False
        self.breaker.answered()
        return True

    def _finish(self, pushed: Pushed, outcomes: Counter[str]) -> None:
        """Write down what became of a batch; what follows from it is marked before."""
        self._there = False
        with self._db.transaction():
            self._items.mark(pushed.marked)
            self._items.doubt(pushed.doubtful)
            self._items.mark_removals(pushed.left)
        done = [self._judged(result) if isinstance(result, Failed) else result for result in pushed.results]
        for i in range(0, len(done), AT_ONCE):
            with self._db.transaction():
                self._finish_some(done[i : i + AT_ONCE], pushed)
        if pushed.marked:  # others may have looked at what follows before it was written down what it follows from
            with self._db.transaction():
                self._items.mark(pushed.marked)
        outcomes.update(map(_outcome, done))
        for one in done:
            if isinstance(one, Settled) and one.outcome is Outcome.PUSHED:
                self._took((self._clock() - one.item.since) / 1_000_000)

    def _finish_some(self, done: list[Done], pushed: Pushed) -> None:
        """Write down what became of items and of the edges into them; those that others took over are doubted."""
        fenced = self._items.finish(done)
        keys = {one.item.key for one in done}
        put, gone = ([edge for edge in edges if edge.into_key in keys] for edges in (pushed.edges, pushed.edges_gone))
        self._states.write(
            [edge for edge in put if edge.into_key not in fenced],
            [edge for edge in gone if edge.into_key not in fenced],
        )
        self._states.doubt([edge for edge in (*put, *gone) if edge.into_key in fenced])

    def _judged(self, failed: Failed) -> Done:
        """Say what becomes of an item that was not taken; released, it stays due: the target is at fault."""
        error, item = failed.error, failed.item
        contested = isinstance(error, TargetRefused) and error.status in _CONTESTED
        if isinstance(error, PermanentError) and not contested:
            return self._dead(failed)
        if isinstance(error, TargetLocked) or (isinstance(error, Unreachable) and not isinstance(error, NoAnswer)):
            self._open(error)
            return Released(item)
        if isinstance(error, TargetBusy) and error.status in _UNAVAILABLE:
            self._open(error)
        if isinstance(error, TargetBusy) and error.status == _SERVER_FAILED and not self._is_there():
            return Released(item)
        counted = contested or (isinstance(error, TargetBusy) and error.status in _COUNTED)
        if counted and item.refusals + 1 >= _MOST_FAILURES:
            return self._dead(failed)
        if not contested and not isinstance(error, TransientError):
            raise error
        seconds = max(backoff_seconds(self._backoff, item.attempts, _LONGEST_BACKOFF), _wait(error) or 0.0)
        return Postponed(item, str(error), self._clock() + int(seconds * 1_000_000), counted)

    def _open(self, error: LineageBridgeError) -> None:
        if not self.breaker.open:
            self.breaker.failed(str(error), _wait(error))

    def _is_there(self) -> bool:
        """Ask whether the target answers anything at all, once a batch: one failure may be the fault of one call."""
        if self.breaker.open:
            return False
        if self._there:
            return True
        try:
            self._target.probe()
        except LineageBridgeError as error:
            self._open(error)
            return False
        self._there = True
        return True

    def _dead(self, failed: Failed) -> Settled:
        detail = {**failed.item.detail, "request": failed.request}
        return failed.item.linked(Outcome.DEAD, str(failed.error), fingerprint=failed.fingerprint, detail=detail)


def _outcome(done: Done) -> str:
    return done.outcome.value if isinstance(done, Settled) else type(done).__name__.lower()


def _wait(error: LineageBridgeError) -> float | None:
    return error.wait_seconds if isinstance(error, TargetBusy) else None
