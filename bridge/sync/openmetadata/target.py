"""OpenMetadata as a target of the reconciler."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.context import RequestPool
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.access_policies import AccessPolicyPusher
from bridge.sync.openmetadata.affected_items import OpenMetadataAffectedItems
from bridge.sync.openmetadata.comparison import OpenMetadataComparison
from bridge.sync.openmetadata.context import OpenMetadataContext, OpenMetadataOptions, retry_if_missing
from bridge.sync.openmetadata.data_contracts import DataContractPusher
from bridge.sync.openmetadata.deletions import EntityDeleter, entity_to_delete
from bridge.sync.openmetadata.desired_entities import DesiredEntity, desired_datasets, desired_pipelines
from bridge.sync.openmetadata.entities import EntityPusher
from bridge.sync.openmetadata.entity_lookup import EntityLookup
from bridge.sync.openmetadata.governance import GovernancePusher
from bridge.sync.openmetadata.last_runs import LastRunPusher
from bridge.sync.openmetadata.lineage import LineagePusher
from bridge.sync.openmetadata.profiles import ProfilePusher
from bridge.sync.openmetadata.quality_checks import QualityCheckPusher
from bridge.sync.openmetadata.run_statuses import RunStatusPusher
from bridge.sync.openmetadata.test_results import CheckResultPusher
from bridge.sync.sync_item import DELETION, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult, ComparedBatch, ExpectedCount, PlanStep, TargetIdentity
from connectors.openmetadata.client import OpenMetadataClient

NAME = "openmetadata"
#: Batch sizes: large enough that listing entities pays off, and small enough that writing the edges of a batch takes
#: at most a few seconds.
_ENTITY_BATCH, _LINEAGE_BATCH, _RUN_BATCH, _CHECK_BATCH, _DELETION_BATCH = 2_000, 200, 500, 200, 100
#: Increase it when the desired state changes for the same input; every item is then re-evaluated once.
_MAPPING_VERSION = 3
#: Option that turns a kind on or off.
_OPTIONS = {
    "lineage": "track_lineage",
    "check": "publish_quality_results",
    "result": "publish_quality_results",
    "profile": "publish_profiling_metrics",
    "governance": "sync_governance_metadata",
    "contract": "sync_governance_metadata",
    "access": "sync_governance_metadata",
}
#: Kinds to whose entities other items refer.
_REFERENCED_KINDS = ("dataset", "job", "check")
#: Kinds whose items represent several edges, which are counted one by one.
_COUNTED_BY_EDGE = ("lineage",)


class Relocation(NamedTuple):
    """An entity that an earlier layout created elsewhere."""

    key: bytes
    from_name: str
    to_name: str


class OpenMetadataTarget:
    """Keeps an OpenMetadata server in sync with the store. Not thread-safe."""

    name = NAME
    batch_sizes = {  # noqa: RUF012 - fixed
        "dataset": _ENTITY_BATCH,
        "job": _ENTITY_BATCH,
        "lineage": _LINEAGE_BATCH,
        "run": _RUN_BATCH,
        "last_run": _RUN_BATCH,
        "check": _CHECK_BATCH,
        "result": _CHECK_BATCH,
        "profile": _CHECK_BATCH,
        "governance": _CHECK_BATCH,
        "contract": _CHECK_BATCH,
        "access": 1,
        DELETION: _DELETION_BATCH,
    }
    compared_kinds: AbstractSet[str] = frozenset({"dataset", "job", "lineage", "run", "check", "result", "profile"})
    slow_kinds: AbstractSet[str] = frozenset(
        {"lineage", "run", "last_run", "check", "result", "profile", "governance", "contract"}
    )
    min_intervals: Mapping[str, int] = MappingProxyType({"last_run": 60})

    def __init__(
        self,
        db: Database,
        org: str,
        client: OpenMetadataClient,
        options: OpenMetadataOptions,
        items: SyncItemStore,
        clock: Callable[[], int],
    ) -> None:
        pool = ThreadPoolExecutor(options.concurrency, thread_name_prefix=NAME)
        requests = RequestPool(pool, client.probe, retry_if_missing)
        ctx = self._ctx = OpenMetadataContext(db, org, NAME, client, options, items, requests, pool)
        # these options are left out: they do not affect what is pushed, but any difference triggers a full sync
        pushed_options = options._replace(batch_size=0, concurrency=0, max_deletions=0, relocate=False)
        self.identity = TargetIdentity(client.url, fingerprint([pushed_options, _MAPPING_VERSION]).hex())
        edges = EdgeStore(db, org, NAME)
        self.affected = OpenMetadataAffectedItems(db, org, NAME, items, options.folding)
        lookup = EntityLookup(client, pool, options.layout.service, clock)
        self._entities = EntityPusher(ctx, lookup, clock)
        self._lineage = LineagePusher(ctx, edges)
        self._runs = RunStatusPusher(ctx)
        self._checks = QualityCheckPusher(ctx)
        self.governance = GovernancePusher(ctx)
        self._deleter = EntityDeleter(ctx, edges)
        results, profiles = CheckResultPusher(ctx), ProfilePusher(ctx)
        self._pushers = {
            "lineage": self._lineage.push,
            "run": self._runs.push,
            "last_run": LastRunPusher(ctx).push,
            "check": self._checks.push,
            "result": results.push,
            "profile": profiles.push,
            "governance": self.governance.push,
            "contract": DataContractPusher(ctx).push,
            "access": AccessPolicyPusher(ctx).push,
            DELETION: self._deleter.push,
        }
        self._comparison = OpenMetadataComparison(ctx, lookup, edges, self._runs, results, profiles)

    def prepare(self) -> None:
        """Do nothing: the queries of this target need no extra indexes."""

    def probe(self) -> None:
        """Check that the server responds and accepts the token."""
        self._ctx.client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        self._ctx.requests.start_batch()
        option = _OPTIONS.get(kind)
        if option and not getattr(self._ctx.options, option):
            return BatchResult([item.complete(Outcome.OFF, f"openmetadata.sync.{option} is off") for item in items])
        pushed = self._pushers[kind](items) if kind in self._pushers else self._push_entities(kind, items)
        if kind not in _REFERENCED_KINDS:
            return pushed
        completed = [result for result in pushed.results if isinstance(result, Completed)]
        return pushed._replace(affected=self.affected.of_results(kind, completed))

    def _push_entities(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        desired, completed = self._desired(kind, items)
        results, orphaned = self._entities.find_abandoned_creations([_without_remote(result) for result in completed])
        results += self._entities.push(desired)
        completions = [result for result in results if isinstance(result, Completed)]
        orphaned += [remote for result in completions if (remote := _orphaned(result))]
        return BatchResult(results, orphaned=orphaned)

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        steps: list[PlanStep] = []
        planned_names: dict[bytes, str] = {}
        for kind in ("dataset", "job"):
            desired, completed = self._desired(kind, [item for item in items if item.kind == kind])
            planned, unplanned, names = self._entities.plan(desired)
            steps += sorted([*planned, *self._unchanged_steps([*unplanned, *completed])], key=_by_name)
            planned_names |= names
        steps += sorted(
            self._lineage.plan([item for item in items if item.kind == "lineage"], planned_names), key=_by_name
        )
        steps += self._runs.plan([item for item in items if item.kind == "run"], planned_names)
        diffs = self.governance.diff([item for item in items if item.kind == "governance"])
        for diff in sorted(diffs, key=lambda diff: diff.name or ""):
            if diff.name:
                steps += diff.steps()
        for item in items:
            if item.kind == DELETION and (remote := entity_to_delete(item)) and self._deleter.is_orphan(item):
                steps.append(PlanStep("delete", remote.type, remote.name))
        return steps

    def relocations(self) -> Iterator[Relocation]:
        """Yield our entities that are not where the current layout would create them; sends no requests."""
        for items in self._ctx.items.batches("dataset", _ENTITY_BATCH):
            own = [item for item in items if item.remote and item.created_by_us]
            moved = self._preferred_names(own, relocate=True)
            for key, name in self._preferred_names(own, relocate=False).items():
                if moved.get(key, name) != name:
                    yield Relocation(key, name, moved[key])

    def _preferred_names(self, items: Sequence[SyncItem], *, relocate: bool) -> dict[bytes, str]:
        options = self._ctx.options._replace(relocate=relocate)
        desired = desired_datasets(self._ctx._replace(options=options), items)
        return {entry.item.key: entry.preferred.own.fqn for entry in desired if isinstance(entry, DesiredEntity)}

    def _unchanged_steps(self, results: Sequence[Completed | Failure]) -> Iterator[PlanStep]:
        """Yield steps for items that a push would leave unchanged, with the reasons."""
        keys, graph = {result.item.key for result in results}, LineageGraph(self._ctx.db, self._ctx.org)
        names = {**graph.dataset_names(keys), **graph.job_names(keys)}
        for result in results:
            name = result.item.remote.name if result.item.remote else " ".join(names[result.item.key])
            if isinstance(result, Failure):
                yield PlanStep("failed", result.item.kind, name, str(result.error))
            else:
                action = "leave" if result.outcome is Outcome.UNCHANGED else result.outcome.value
                yield PlanStep(action, result.item.kind, name, result.reason)

    def _desired(self, kind: str, items: Sequence[SyncItem]) -> tuple[list[DesiredEntity], list[Completed]]:
        read_desired = desired_datasets if kind == "dataset" else desired_pipelines
        entries = list(read_desired(self._ctx, items))
        desired = [entry for entry in entries if isinstance(entry, DesiredEntity)]
        completed = [entry for entry in entries if isinstance(entry, Completed)]
        return desired, completed

    def count_expected(self) -> Iterator[ExpectedCount]:
        yield from (count for count in self._ctx.items.count_expected() if count.kind not in _COUNTED_BY_EDGE)
        yield from self._lineage.count_expected()

    def compare(self) -> Iterator[ComparedBatch]:
        self.clear_cache()  # the server may have been restored from a backup
        return self._comparison.compare()

    def clear_cache(self) -> None:
        """Discard everything that was cached, because the server may have been restored."""
        self._entities.clear_cache()
        self.governance.clear_cache()
        self._checks.clear_cache()

    def cancel(self) -> None:
        self._ctx.client.close()

    def close(self) -> None:
        self._ctx.pool.shutdown()
        self._ctx.client.close()


def _by_name(step: PlanStep) -> str:
    return step.name


def _without_remote(completed: Completed) -> Completed:
    """Remove the remote entity from an item that is unwanted."""
    return completed._replace(remote=None, fingerprint=None) if completed.outcome is Outcome.UNWANTED else completed


def _orphaned(completed: Completed) -> RemoteReference | None:
    """Return the entity that was created for an item, if the item no longer refers to that entity."""
    before = completed.item.remote
    is_orphaned = (
        before is not None
        and completed.item.created_by_us
        and (completed.remote is None or completed.remote.id != before.id)
    )
    return before if is_orphaned else None
