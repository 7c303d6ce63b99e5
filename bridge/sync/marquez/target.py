"""The interface of the Marquez target to the reconciler."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from bridge.store.database import Database
from bridge.store.event_log import create_run_index
from bridge.store.identity_groups import group_ids
from bridge.sync.canonical.governance import datasets_with_governance
from bridge.sync.context import RequestPool
from bridge.sync.item_store import SyncItemStore
from bridge.sync.marquez import NAME, MarquezContext
from bridge.sync.marquez.comparison import MarquezComparison
from bridge.sync.marquez.declarations import (
    GovernedDataset,
    GovernedDatasetSender,
    JobDeclaration,
    JobDeclarationSender,
)
from bridge.sync.marquez.runs import RunPlan, RunSender, plan_runs
from bridge.sync.sync_item import Completed, Failure, Outcome, SyncItem
from bridge.sync.target import (
    Affected,
    BatchResult,
    ComparedBatch,
    ExpectedCount,
    PlanStep,
    TargetIdentity,
)
from connectors.marquez.client import MarquezClient
from mappers.counts import count_of

#: Batch size; Marquez ingests about 30 events per second.
_BATCH_SIZE = 50


class MarquezAffectedItems:
    """Determines which items a change affects. Not thread-safe."""

    def __init__(self, db: Database, org: str, items: SyncItemStore) -> None:
        self._db = db
        self._org = org
        self._items = items

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Return runs, jobs and governed datasets that dirty marks affect."""
        items = {(kind, key) for kind in ("run", "job") for key in marks.get(kind, ())}
        datasets = marks.get("dataset", set())
        governed = datasets_with_governance(self._db, self._org, datasets) | self._previously_governed(datasets)
        return Affected(items | {("dataset", key) for key in governed})

    def _previously_governed(self, datasets: Collection[bytes]) -> set[bytes]:
        """Return datasets whose governance metadata was pushed before, under any of their names."""
        groups = set(group_ids(self._db, self._org, datasets).values())
        return set(self._items.get("dataset", groups | set(datasets)))


class MarquezTarget:
    """Keeps a Marquez server in sync with the store. Not thread-safe."""

    name = NAME
    batch_sizes = {"job": _BATCH_SIZE, "run": _BATCH_SIZE, "dataset": _BATCH_SIZE}  # noqa: RUF012 - fixed
    slow_kinds: AbstractSet[str] = frozenset({"run"})
    min_intervals: Mapping[str, int] = MappingProxyType({})
    compared_kinds: AbstractSet[str] = frozenset({"run", "job", "dataset"})

    def __init__(
        self, db: Database, org: str, client: MarquezClient, items: SyncItemStore, concurrency: int = 4
    ) -> None:
        pool = ThreadPoolExecutor(concurrency, thread_name_prefix=NAME)
        self._ctx = MarquezContext(db, org, NAME, client, None, items, RequestPool(pool, client.probe), pool)
        self._jobs, self._datasets = JobDeclarationSender(self._ctx), GovernedDatasetSender(self._ctx)
        self._pushers = {"job": self._jobs.push, "run": RunSender(self._ctx).push, "dataset": self._datasets.push}
        self._comparison = MarquezComparison(self._ctx)
        self.identity = TargetIdentity(client.url, options_hash="")
        self.affected = MarquezAffectedItems(db, org, items)

    def prepare(self) -> None:
        """Create the index that finds the events of a run."""
        create_run_index(self._ctx.db)

    def probe(self) -> None:
        self._ctx.client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        self._ctx.requests.start_batch()
        return self._pushers[kind](items)

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        by_kind = {kind: [item for item in items if item.kind == kind] for kind in self.batch_sizes}
        planned_jobs, _ = self._jobs.plan(by_kind["job"])
        planned = [
            *plan_runs(self._ctx, by_kind["run"]),
            *planned_jobs,
            *self._datasets.plan(by_kind["dataset"]),
        ]
        return [_plan_step(entry) for entry in planned]

    def count_expected(self) -> Iterator[ExpectedCount]:
        yield from self._ctx.items.count_expected()

    def compare(self) -> Iterator[ComparedBatch]:
        return self._comparison.compare()

    def cancel(self) -> None:
        self._ctx.client.close()

    def close(self) -> None:
        self._ctx.pool.shutdown()
        self._ctx.client.close()


def _plan_step(entry: RunPlan | JobDeclaration | GovernedDataset | Completed | Failure) -> PlanStep:
    item = entry.item
    if not isinstance(entry, Completed | Failure):
        reason = count_of(len(entry.events), "event") if isinstance(entry, RunPlan) else None
        return PlanStep("change" if item.remote else "create", item.kind, entry.name, reason)
    name = item.remote.name if item.remote else item.key.hex()
    if isinstance(entry, Failure):
        return PlanStep("failed", item.kind, name, str(entry.error))
    if entry.outcome is Outcome.PUSHED:
        return PlanStep("change", item.kind, entry.remote.name if entry.remote else name, entry.reason)
    action = "leave" if entry.outcome is Outcome.UNCHANGED else entry.outcome.value
    return PlanStep(action, item.kind, name, entry.reason)
