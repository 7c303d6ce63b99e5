"""OpenMetadata as a target of the reconciler."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids, member_ids
from bridge.store.job_families import family_members, logical_jobs
from bridge.store.lineage.evidence import EdgeEvidenceReader
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.quality import checks_of_datasets, results_of_checks
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.access_policies import AccessPolicyPusher
from bridge.sync.openmetadata.affected_items import OpenMetadataAffectedItems
from bridge.sync.openmetadata.comparison import OpenMetadataComparison
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.deletions import EntityDeleter, remote_of
from bridge.sync.openmetadata.desired_entities import DesiredEntity, desired_datasets, desired_pipelines
from bridge.sync.openmetadata.entities import EntityPusher
from bridge.sync.openmetadata.entity_lookup import EntityLookup
from bridge.sync.openmetadata.governance import GovernancePusher
from bridge.sync.openmetadata.lineage import LineagePusher
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.openmetadata.profiles import ProfilePusher
from bridge.sync.openmetadata.quality_checks import QualityCheckPusher
from bridge.sync.openmetadata.run_statuses import RunStatusPusher
from bridge.sync.openmetadata.test_results import CheckResultPusher
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import DELETION, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import AffectedItems, BatchResult, ComparedBatch, ExpectedCount, PlanStep, TargetIdentity
from connectors.openmetadata.client import OpenMetadataClient

NAME = "openmetadata"
#: Batch sizes: large enough that listing entities pays off, and small enough that writing the edges of a batch takes
#: at most a few seconds.
_ENTITY_BATCH, _LINEAGE_BATCH, _RUN_BATCH, _CHECK_BATCH, _DELETION_BATCH = 2_000, 200, 500, 200, 100
#: Increase it when the desired state changes for the same input; every item is then re-evaluated once.
_MAPPING_VERSION = 2
#: Kinds whose items represent several remote objects.
_COUNTED_BY_EDGE = ("lineage",)
#: Record keys that describe the columns and tasks of an entity.
_SHAPE_KEYS = ("shape", "columns", "tasks")
_READERS = """
SELECT DISTINCT e.target_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.source_id = d.dataset_id AND e.edge_role = 'CONSUMES'
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_RUNS_USING = (
    "SELECT run_id FROM ol_run_output WHERE org_id = ?1 AND dataset_id {ids}",
    "SELECT run_id FROM ol_run_input WHERE org_id = ?1 AND dataset_id {ids}",
)
_PARENT_RUNS = "SELECT parent_run_id FROM ol_run WHERE org_id = ?1 AND run_id {ids} AND parent_run_id IS NOT NULL"
_CHILD_JOBS = "SELECT target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'"
_RUNS_OF_JOBS = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {ids}"
_WRITTEN_BY_JOBS = """
SELECT DISTINCT d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""


class OpenMetadataTarget:
    """Keeps an OpenMetadata server in sync with the store. Not thread-safe."""

    name = NAME
    batch_sizes = {  # noqa: RUF012 - fixed
        "dataset": _ENTITY_BATCH,
        "job": _ENTITY_BATCH,
        "lineage": _LINEAGE_BATCH,
        "run": _RUN_BATCH,
        "check": _CHECK_BATCH,
        "result": _CHECK_BATCH,
        "profile": _CHECK_BATCH,
        "governance": _CHECK_BATCH,
        "access": 1,
        DELETION: _DELETION_BATCH,
    }
    compared_kinds: AbstractSet[str] = frozenset({"dataset", "job", "lineage", "run", "check", "result", "profile"})
    slow_kinds: AbstractSet[str] = frozenset({"lineage", "run", "check", "result", "profile", "governance"})

    def __init__(
        self,
        db: Database,
        org: str,
        client: OpenMetadataClient,
        options: OpenMetadataOptions,
        items: SyncItemStore,
        clock: Callable[[], int],
    ) -> None:
        self._db = db
        self._org = org
        self._client = client
        self._options = options
        self._pool = ThreadPoolExecutor(options.concurrency, thread_name_prefix="openmetadata")
        self._edge_store = EdgeStore(db, org, NAME)
        self.affected: AffectedItems = OpenMetadataAffectedItems(db, org, NAME, items, options.folding)
        self._requests = RequestPool(self._pool, client.probe)
        # without options that do not affect what is pushed, because any difference triggers a full sync
        identity = options._replace(batch_size=0, concurrency=0, max_deletions=0)
        self.settings = TargetIdentity(client.url, fingerprint([identity, _MAPPING_VERSION]).hex())
        lookup = EntityLookup(client, self._pool, options.layout.service, clock)
        self._entities = EntityPusher(client, lookup, options, items, self._requests, clock)
        ctx = OpenMetadataContext(db, org, client, options, items, self._requests)
        self._lineage = LineagePusher(ctx, self._edge_store)
        self._runs = RunStatusPusher(ctx)
        self.governance = GovernancePusher(ctx)
        self._checks = QualityCheckPusher(ctx)
        results, profiles = CheckResultPusher(ctx), ProfilePusher(ctx)
        self._pushers = {
            "lineage": self._lineage.push,
            "run": self._runs.push,
            "check": self._checks.push,
            "result": results.push,
            "profile": profiles.push,
            "governance": self.governance.push,
            "access": AccessPolicyPusher(ctx).push,
        }
        expected_bodies = {
            "run": self._runs.expected_bodies,
            "result": results.expected_bodies,
            "profile": profiles.expected_bodies,
        }
        self._comparison = OpenMetadataComparison(ctx, NAME, lookup, self._edge_store, expected_bodies, self._pool)
        self._items = items
        self._deleter = EntityDeleter(client, items, self._edge_store, self._requests, options.max_deletions)

    def prepare(self) -> None:
        """Nothing to prepare: the queries of this target need no extra indexes."""

    def probe(self) -> None:
        """Check that the server responds and accepts the token."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        self._requests.start_batch()
        if kind in self._pushers:
            return self._pushers[kind](items)
        if kind == DELETION:
            return BatchResult(self._deleter.push(items))
        desired, completed = self._desired(kind, items)
        abandoned, abandoned_remotes = self._entities.find_abandoned_creations(
            [_without_remote(result) for result in completed]
        )
        results = abandoned + self._entities.push(desired)
        orphaned = abandoned_remotes + [
            remote for result in results if isinstance(result, Completed) and (remote := _orphaned(result))
        ]
        return BatchResult(results, affected=self._affected_by_results(kind, results), orphaned=orphaned)

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
        steps += [
            step for diff in sorted(diffs, key=lambda diff: diff.name or "") if diff.name for step in diff.steps()
        ]
        for item in items:
            if item.kind == DELETION and (remote := remote_of(item)) and self._deleter.is_orphan(item):
                steps.append(PlanStep("delete", remote.type, remote.name))
        return steps

    def _unchanged_steps(self, results: Sequence[Completed | Failure]) -> Iterator[PlanStep]:
        """Steps for items that a push would leave unchanged, with the reason."""
        keys, graph = {result.item.key for result in results}, LineageGraph(self._db, self._org)
        names = {**graph.dataset_names(keys), **graph.job_names(keys)}
        for result in results:
            qualified_name = names[result.item.key]
            name = (
                result.item.remote.name if result.item.remote else f"{qualified_name.namespace} {qualified_name.name}"
            )
            if isinstance(result, Failure):
                yield PlanStep("failed", result.item.kind, name, str(result.error))
            else:
                action = "leave" if result.outcome is Outcome.UNCHANGED else result.outcome.value
                yield PlanStep(action, result.item.kind, name, result.reason)

    def _desired(self, kind: str, items: Sequence[SyncItem]) -> tuple[list[DesiredEntity], list[Completed]]:
        read_desired = desired_datasets if kind == "dataset" else desired_pipelines
        desired = list(read_desired(self._db, self._org, self._options, items))
        return [entity for entity in desired if isinstance(entity, DesiredEntity)], [
            result for result in desired if isinstance(result, Completed)
        ]

    def _affected_by_results(self, kind: str, results: Sequence[Completed | Failure]) -> set[tuple[str, bytes]]:
        """Items that have to be pushed again after entities moved or their columns changed.

        These are the lineage of the entities, and all items that refer to the entities.
        """
        changed = {result.item.key for result in results if isinstance(result, Completed) and _changed(result)}
        if kind == "dataset":
            merged = [
                result.item.key for result in results if isinstance(result, Completed) and _became_alias(result)
            ]
            changed |= set(group_ids(self._db, self._org, merged).values())
        if kind == "job":
            members = set().union(*family_members(self._db, self._org, self._options.folding, changed).values())
            written = {dataset for (dataset,) in self._db.fetch_for_ids(_WRITTEN_BY_JOBS, sorted(members), self._org)}
            readers = self._edge_store.targets_of_jobs(changed) | written  # jobs may be endpoints themselves
        else:
            readers = {
                evidence.target for evidence in EdgeEvidenceReader(self._db, self._org).out_of(sorted(changed))
            }
            jobs = {job for (job,) in self._db.fetch_for_ids(_READERS, sorted(changed), self._org)}
            for shown_as in logical_jobs(self._db, self._org, self._options.folding, jobs).values():
                readers |= shown_as
        affected = {("lineage", key) for key in changed | readers | self._edge_store.targets_of_sources(changed)}
        if kind == "job":
            return affected | self._runs_of_jobs(changed)
        relocated = {
            result.item.key
            for result in results
            if isinstance(result, Completed) and result.item.remote != result.remote
        }
        return affected | self._observations_of_datasets(changed, relocated)

    def _observations_of_datasets(self, datasets: set[bytes], relocated: set[bytes]) -> set[tuple[str, bytes]]:
        """Checks, results and runs that have to be pushed again because their datasets changed.

        The result also includes profiles and governance of relocated datasets, which now have another entity.
        """
        checks = set(self._items.get("check", checks_of_datasets(self._db, self._org, datasets)))
        results = self._items.get("result", results_of_checks(self._db, self._org, checks))
        alias_ids = member_ids(self._db, self._org, datasets)
        relocated_ids = member_ids(self._db, self._org, relocated) | relocated
        profiles = self._items.find_by_key_prefix("profile", relocated_ids)
        governance = set(self._items.get("governance", relocated))
        affected = {"check": checks, "result": set(results), "profile": profiles, "run": self._runs_using(alias_ids)}
        affected["governance"] = governance
        return {(kind, key) for kind, keys in affected.items() for key in keys}

    def _runs_using(self, datasets: set[bytes]) -> set[bytes]:
        """Pushed runs that read or wrote datasets."""
        runs = {run for sql in _RUNS_USING for (run,) in self._db.fetch_for_ids(sql, sorted(datasets), self._org)}
        for _ in range(2):  # a run may be shown as its application, or as the parent of the application
            runs |= {run for (run,) in self._db.fetch_for_ids(_PARENT_RUNS, sorted(runs), self._org)}
        return set(self._items.get("run", runs))

    def _runs_of_jobs(self, jobs: set[bytes]) -> set[tuple[str, bytes]]:
        """Pushed runs of jobs and of their children."""
        children = {job for (job,) in self._db.fetch_for_ids(_CHILD_JOBS, sorted(jobs), self._org)}
        runs = {run for (run,) in self._db.fetch_for_ids(_RUNS_OF_JOBS, sorted(jobs | children), self._org)}
        return {("run", run) for run in self._items.get("run", runs)}

    def count_expected(self) -> Iterator[ExpectedCount]:
        yield from (
            ExpectedCount(*counts) for counts in self._items.count_expected() if counts[0] not in _COUNTED_BY_EDGE
        )
        yield from self._lineage.count_expected()

    def compare(self) -> Iterator[ComparedBatch]:
        self.clear_cache()  # the server may have been restored from a backup
        return self._comparison.compare()

    def clear_cache(self) -> None:
        """Discard everything that was cached, because the server may have been restored."""
        self._entities.clear_cache()
        self.governance.clear_cache()
        self._checks.clear_cache()

    def close(self) -> None:
        self._pool.shutdown()
        self._client.close()


def _by_name(step: PlanStep) -> str:
    return step.name


def _without_remote(completed: Completed) -> Completed:
    """Remove the remote entity from an item that is unwanted."""
    return completed._replace(remote=None, fingerprint=None) if completed.outcome is Outcome.UNWANTED else completed


def _changed(completed: Completed) -> bool:
    before, item = completed.item.remote, completed.item
    return before != completed.remote or any(item.record.get(key) != completed.record.get(key) for key in _SHAPE_KEYS)


def _became_alias(completed: Completed) -> bool:
    """Whether a dataset was a separate entity and is now an alias of another dataset."""
    return completed.outcome is Outcome.UNWANTED and completed.item.outcome != Outcome.UNWANTED


def _orphaned(completed: Completed) -> RemoteReference | None:
    """The entity that this bridge created for an item and that the item no longer refers to, if any."""
    before = completed.item.remote
    is_orphaned = (
        before is not None
        and completed.item.created_by_us
        and (completed.remote is None or completed.remote.id != before.id)
    )
    return before if is_orphaned else None
