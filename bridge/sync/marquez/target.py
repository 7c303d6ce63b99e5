"""Marquez as a target of the reconciler."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from bridge.store.database import Database
from bridge.store.event_log import create_run_index
from bridge.sync.item_store import SyncItemStore
from bridge.sync.marquez.affected_items import MarquezAffectedItems
from bridge.sync.marquez.comparison import MarquezComparison
from bridge.sync.marquez.context import NAME, MarquezContext
from bridge.sync.marquez.declarations import (
    GovernedDataset,
    GovernedDatasetSender,
    JobDeclaration,
    JobDeclarationSender,
)
from bridge.sync.marquez.runs import RunPlan, RunSender, plan_runs
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import Completed, Failure, Outcome, SyncItem
from bridge.sync.target import AffectedItems, BatchResult, ComparedBatch, ExpectedCount, PlanStep, TargetIdentity
from connectors.marquez.client import MarquezClient

#: How many items are worked on at once: it takes some 30 events a second.
_AT_ONCE = 50


class MarquezTarget:
    """Keeps a Marquez server like a store. Not for several threads at once."""

    name = NAME
    batch_sizes = {"job": _AT_ONCE, "run": _AT_ONCE, "dataset": _AT_ONCE}  # noqa: RUF012 - fixed
    slow_kinds: AbstractSet[str] = frozenset({"run"})
    compared_kinds: AbstractSet[str] = frozenset({"run", "job", "dataset"})

    def __init__(
        self, db: Database, org: str, client: MarquezClient, items: SyncItemStore, concurrency: int = 4
    ) -> None:
        self._db = db
        self._client = client
        self._items = items
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix=NAME)
        self._workers = RequestPool(self._pool, client.probe)
        self._at = MarquezContext(db, org, client, items, self._workers, self._pool)
        self._jobs, self._datasets = JobDeclarationSender(self._at), GovernedDatasetSender(self._at)
        self._pushers = {"job": self._jobs.push, "run": RunSender(self._at).push, "dataset": self._datasets.push}
        self._comparison = MarquezComparison(self._at)
        self.settings = TargetIdentity(client.url, "")
        self.affected: AffectedItems = MarquezAffectedItems(db, org, items)

    def prepare(self) -> None:
        """Let the events of a run be found quickly."""
        create_run_index(self._db)

    def probe(self) -> None:
        """Ask whether the server answers."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server say what the store says of items."""
        self._workers.start_batch()
        return self._pushers[kind](items)

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        """Say what a push would do."""
        of = {kind: [item for item in items if item.kind == kind] for kind in self.batch_sizes}
        found = [
            *plan_runs(self._at, of["run"]),
            *self._jobs.found(of["job"])[0],
            *self._datasets.found(of["dataset"]),
        ]
        return [_step(one) for one in found]

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count what shall be there."""
        return (ExpectedCount(*counts) for counts in self._items.count_expected())

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare the newest runs that are there with what was told of them."""
        return self._comparison.compare()

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()


def _step(one: RunPlan | JobDeclaration | GovernedDataset | Completed | Failure) -> PlanStep:
    item = one.item
    if not isinstance(one, Completed | Failure):
        why = f"{len(one.events)} events" if isinstance(one, RunPlan) else None
        return PlanStep("change" if item.remote else "create", item.kind, one.name, why)
    name = item.remote.name if item.remote else item.key.hex()
    if isinstance(one, Failure):
        return PlanStep("failed", item.kind, name, str(one.error))
    is_told = one.outcome is Outcome.PUSHED
    action = "change" if is_told else "leave" if one.outcome is Outcome.UNCHANGED else one.outcome.value
    return PlanStep(action, item.kind, one.remote.name if is_told and one.remote else name, one.reason)
