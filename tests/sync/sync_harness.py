"""A store and a target that a reconciler keeps alike, with a clock of their own."""

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
from tests.sync.crashes import MortalDatabase, Mortality, MortalSession


class Clock:
    """A time that passes when a test says so, in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class Kept:
    """A store, a target and what keeps them alike; rounds run when a test says so."""

    #: What the target is called.
    name: str

    def __init__(self, db: Database | None = None) -> None:
        self.store = Store(db=db)
        self.clock = Clock()
        self.calls: Counter[str] = Counter()
        #: How often everything is compared; never, unless a test says so before it begins.
        self.compare_seconds: float | None = None
        self.target: Any = None

    @abstractmethod
    def make_target(self, db: Database, session: HttpSession) -> SyncTarget:
        """Make the target anew, as a process does that begins."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Say where the target is."""

    def __enter__(self) -> Self:
        self.store.__enter__()
        self.connect()
        self.reconciler.enable()
        return self

    def __exit__(self, *error: object) -> None:
        self.target.close()
        self.store.__exit__(*error)

    def connect(self, url: str | None = None) -> None:
        """Start anew, as after the death of a process."""
        if self.target is not None:
            self.target.close()
        self.mortality = Mortality()
        self.session = MortalSession(url or self.url, self.mortality)
        db = MortalDatabase(self.store.db, self.mortality)
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
        """Do all that is due; gives what became of it."""
        return self.reconciler.step().outcomes

    def converge(self, rounds: int = 50) -> Counter[str]:
        """Let time pass until nothing is left to do; gives what became of everything on the way."""
        total: Counter[str] = Counter()
        for _ in range(rounds):
            total += self.round()
            if not self.left():
                return total
            self.clock.wait(700)
        raise AssertionError(f"still to do after {rounds} rounds: {self.left()}")

    def left(self) -> list[Any]:
        """List the marks and items that are not settled."""
        marks = self.store.rows("SELECT kind, key FROM dirty_mark")
        return marks + self.store.rows("SELECT kind, outcome, reason, due_at FROM sync_item WHERE settled < marked")

    def compare(self) -> None:
        """Let the time of a comparison come, and everything that differs be put right."""
        assert self.compare_seconds is not None
        self.clock.wait(self.compare_seconds + 60)
        for _ in range(1_000):
            if self.reconciler.step().idle and not self.left():
                return
            self.clock.wait(30)
        raise AssertionError(f"still to do: {self.left()}")

    def quiet(self) -> Counter[str]:
        """Run a round, and give the calls that it made."""
        before = Counter(self.calls)
        self.round()
        return self.calls - before

    def standing(self, outcome: Outcome) -> dict[str, str | None]:
        """Give the reasons of what ended so, by what it is."""
        return {f"{item.kind} {item.key.hex()[:6]}": item.reason for item in self.items_by(outcome)}

    def items_by(self, outcome: Outcome) -> list[SyncItem]:
        return self.items.list_by_outcome(outcome)

    def items_by_kind(self, kind: str) -> list[SyncItem]:
        return [item for found in self.items.batches(kind, 100) for item in found]

    def counted(self, kind: str) -> None:
        """Count a call."""
        self.calls.update([kind])
