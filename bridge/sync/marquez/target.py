"""Marquez as a target of the reconciler."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from bridge.store.database import Database
from bridge.store.run_log import index_runs
from bridge.sync.item import Failed, Item, Outcome, Settled
from bridge.sync.items import Items
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.comparison import Comparison
from bridge.sync.marquez.datasets import Datasets, Governed
from bridge.sync.marquez.jobs import Declared, Jobs
from bridge.sync.marquez.meaning import PlainMeaning
from bridge.sync.marquez.runs import Runs
from bridge.sync.marquez.telling import Telling, tellings
from bridge.sync.target import Compared, Meaning, Owed, Pushed, Step, TargetSettings
from bridge.sync.workers import Workers
from connectors.marquez.client import Marquez

#: How many items are worked on at once: it takes some 30 events a second.
_AT_ONCE = 50


class MarquezTarget:
    """Keeps a Marquez server like a store. Not for several threads at once."""

    name = NAME
    kinds = {"job": _AT_ONCE, "run": _AT_ONCE, "dataset": _AT_ONCE}  # noqa: RUF012 - fixed
    slow: AbstractSet[str] = frozenset({"run"})
    compared: AbstractSet[str] = frozenset({"run", "job", "dataset"})

    def __init__(self, db: Database, org: str, client: Marquez, items: Items, concurrency: int = 4) -> None:
        self._db = db
        self._client = client
        self._items = items
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix=NAME)
        self._workers = Workers(self._pool, client.probe)
        self._at = Bench(db, org, client, items, self._workers, self._pool)
        self._jobs, self._datasets = Jobs(self._at), Datasets(self._at)
        self._pushers = {"job": self._jobs.push, "run": Runs(self._at).push, "dataset": self._datasets.push}
        self._comparison = Comparison(self._at)
        self.settings = TargetSettings(client.url, "")
        self.meaning: Meaning = PlainMeaning(db, org, items)

    def prepare(self) -> None:
        """Let the events of a run be found quickly."""
        index_runs(self._db)

    def probe(self) -> None:
        """Ask whether the server answers."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[Item]) -> Pushed:
        """Make the server say what the store says of items."""
        self._workers.begin()
        return self._pushers[kind](items)

    def plan(self, items: Sequence[Item]) -> list[Step]:
        """Say what a push would do."""
        of = {kind: [item for item in items if item.kind == kind] for kind in self.kinds}
        found = [
            *tellings(self._at, of["run"]),
            *self._jobs.found(of["job"])[0],
            *self._datasets.found(of["dataset"]),
        ]
        return [_step(one) for one in found]

    def owed(self) -> Iterator[Owed]:
        """Count what shall be there."""
        return (Owed(*counts) for counts in self._items.owed())

    def compare(self) -> Iterator[Compared]:
        """Compare the newest runs that are there with what was told of them."""
        return self._comparison.slices()

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()


def _step(one: Telling | Declared | Governed | Settled | Failed) -> Step:
    item = one.item
    if not isinstance(one, Settled | Failed):
        why = f"{len(one.events)} events" if isinstance(one, Telling) else None
        return Step("change" if item.remote else "create", item.kind, one.name, why)
    name = item.remote.name if item.remote else item.key.hex()
    if isinstance(one, Failed):
        return Step("failed", item.kind, name, str(one.error))
    is_told = one.outcome is Outcome.PUSHED
    action = "change" if is_told else "leave" if one.outcome is Outcome.UNCHANGED else one.outcome.value
    return Step(action, item.kind, one.remote.name if is_told and one.remote else name, one.reason)
