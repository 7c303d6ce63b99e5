"""A store and a stand-in for OpenMetadata that a reconciler keeps alike, with a clock of their own."""

from collections import Counter
from typing import Any, Self

from bridge.store.database import Database
from bridge.sync.item import Item, Outcome
from bridge.sync.items import Items
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.queue import Queue
from bridge.sync.reconciler import Reconciler
from connectors.openmetadata.client import OpenMetadata
from connectors.openmetadata.token import FixedToken, Token
from mappers.openmetadata.places import Layout, Mapping
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.stores import Json, Store
from tests.sync.mortal import MortalDatabase, Mortality, MortalSession

HOME = "lineage_bridge"
#: `db` is the namespace that the factories of events name.
LAYOUT = Layout((Mapping("db", "warehouse", "d", "s"), Mapping("jobs", "runs")))


class Clock:
    """A time that passes when a test says so, in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class Synced:
    """A store, a target and what keeps them alike; rounds run when a test says so."""

    def __init__(
        self, rules: Rules = Rules(LAYOUT), standin: StandIn | None = None, db: Database | None = None
    ) -> None:
        self.store = Store(db=db)
        self.standin = standin or StandIn()
        self._own_standin = standin is None
        self.clock = Clock()
        self.rules = rules
        self.calls: Counter[str] = Counter()
        #: How often everything is compared; never, unless a test says so before it begins.
        self.compare_seconds: float | None = None
        self.target: OpenMetadataTarget | None = None

    def __enter__(self) -> Self:
        self.store.__enter__()
        if self._own_standin:
            self.standin.__enter__()
        self.connect()
        self.reconciler.enable()
        return self

    def __exit__(self, *error: object) -> None:
        self.target.close()
        if self._own_standin:
            self.standin.__exit__(*error)
        self.store.__exit__(*error)

    def connect(self, rules: Rules | None = None, token: str | Token | None = None, url: str | None = None) -> None:
        """Start anew, as after the death of a process."""
        self.rules = rules or self.rules
        if self.target is not None:
            self.target.close()
        self.mortality = Mortality()
        self.session = MortalSession(url or self.standin.url, self.mortality)
        given = token or self.standin.bot_token
        client = OpenMetadata(
            self.session,
            FixedToken(given) if isinstance(given, str) else given,
            lambda kind: self.calls.update([kind]),
            attempts=2,
            sleep=lambda _: None,
        )
        db = MortalDatabase(self.store.db, self.mortality)
        self.queue = Queue(db, "default", "openmetadata", self.clock)
        self.items = Items(db, "default", "openmetadata", self.clock)
        self.target = OpenMetadataTarget(db, "default", client, self.rules, self.items, self.clock)
        self.reconciler = Reconciler(
            db, "default", self.target, self.items, self.clock, compare_seconds=self.compare_seconds
        )

    def apply(self, *events: Json | bytes) -> Self:
        self.store.apply(*events)
        return self

    def round(self) -> Counter[str]:
        """Do all that is due; gives what became of it."""
        return self.reconciler.round().outcomes

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
            if self.reconciler.round().idle and not self.left():
                return
            self.clock.wait(30)
        raise AssertionError(f"still to do: {self.left()}")

    def quiet(self) -> Counter[str]:
        """Run a round, and give the calls that it made."""
        before = Counter(self.calls)
        self.round()
        return self.calls - before

    def entities(self, type_: str) -> dict[str, Any]:
        """Give the entities of a type that are not deleted, by name."""
        found = self.standin.state()["entities"]
        return {name: entity for (kind, name), entity in found.items() if kind == type_ and not entity.get("deleted")}

    def edges(self) -> dict[tuple[str, str], Any]:
        return self.standin.state()["edges"]

    def standing(self, outcome: Outcome) -> dict[str, str | None]:
        """Give the reasons of what ended so, by what it is."""
        return {f"{item.kind} {item.key.hex()[:6]}": item.reason for item in self.items_by(outcome)}

    def items_by(self, outcome: Outcome) -> list[Item]:
        return self.items.with_outcome(outcome)
