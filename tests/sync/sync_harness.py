"""A store that a reconciler syncs to a target, with a manual clock."""

from abc import abstractmethod
from collections import Counter
from typing import Any, Self

from bridge.store.database import Database
from bridge.sync.dead_letters import DeadLetters
from bridge.sync.item_store import SyncItemStore
from bridge.sync.reconciler import Reconciler
from bridge.sync.sync_item import Outcome, SyncItem
from bridge.sync.target import SyncTarget
from connectors.http import HttpSession
from tests.stores import Json, Store
from tests.sync.crashes import CrashingDatabase, CrashingSession, CrashInjector


class Clock:
    """Manual clock, in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class SyncHarness:
    """Store, reconciler and target; tests run the rounds."""

    name: str

    def __init__(self, db: Database | None = None) -> None:
        self.store = Store(db=db)
        self.clock = Clock()
        self.calls: Counter[str] = Counter()
        #: Interval of comparisons; None: never. Set it before entering.
        self.compare_seconds: float | None = None
        self.target: Any = None

    @abstractmethod
    def make_target(self, db: Database, session: HttpSession) -> SyncTarget:
        """Build the target, as a starting process does."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Base URL of the target."""

    def __enter__(self) -> Self:
        self.store.__enter__()
        self.connect()
        self.reconciler.enable()
        return self

    def __exit__(self, *error: object) -> None:
        self.target.close()
        self.store.__exit__(*error)

    def connect(self, url: str | None = None) -> None:
        """Replace reconciler, target and session, as a restarted process does."""
        if self.target is not None:
            self.target.close()
        self.crash_injector = CrashInjector()
        self.session = CrashingSession(url or self.url, self.crash_injector)
        db = CrashingDatabase(self.store.db, self.crash_injector)
        self.queue = DeadLetters(db, "default", self.name, self.clock)
        self.items = SyncItemStore(db, "default", self.name, self.clock)
        self.target = self.make_target(db, self.session)
        self.reconciler = Reconciler(
            db, "default", self.target, self.items, self.clock, compare_seconds=self.compare_seconds
        )

    def apply(self, *events: Json | bytes) -> Self:
        self.store.apply(*events)
        return self

    def round(self) -> Counter[str]:
        """Run one round of the reconciler and return its outcomes."""
        return self.reconciler.step().outcomes

    def converge(self, rounds: int = 50) -> Counter[str]:
        """Run rounds until everything is settled, and return the outcomes of all rounds."""
        total: Counter[str] = Counter()
        for _ in range(rounds):
            total += self.round()
            if not self.unsettled():
                return total
            self.clock.wait(700)
        raise AssertionError(f"not settled after {rounds} rounds: {self.unsettled()}")

    def unsettled(self) -> list[Any]:
        """Marks and items that are not settled."""
        marks = self.store.rows("SELECT kind, key FROM dirty_mark")
        return marks + self.store.rows("SELECT kind, outcome, reason, due_at FROM sync_item WHERE settled < marked")

    def compare(self) -> None:
        """Run a comparison and repair the differences."""
        assert self.compare_seconds is not None
        self.clock.wait(self.compare_seconds + 60)
        for _ in range(1_000):
            if self.reconciler.step().idle and not self.unsettled():
                return
            self.clock.wait(30)
        raise AssertionError(f"not settled: {self.unsettled()}")

    def calls_of_next_round(self) -> Counter[str]:
        """Run one round and return the calls it made."""
        before = Counter(self.calls)
        self.round()
        return self.calls - before

    def reasons_by_item(self, outcome: Outcome) -> dict[str, str | None]:
        """Reasons of the items with an outcome, by kind and key."""
        return {f"{item.kind} {item.key.hex()[:6]}": item.reason for item in self.items_by(outcome)}

    def items_by(self, outcome: Outcome) -> list[SyncItem]:
        return self.items.list_by_outcome(outcome)

    def items_by_kind(self, kind: str) -> list[SyncItem]:
        return [item for batch in self.items.batches(kind, 100) for item in batch]

    def count_call(self, kind: str) -> None:
        self.calls.update([kind])
