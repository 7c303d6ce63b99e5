"""OpenMetadata as a target of the reconciler."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids, member_ids
from bridge.store.job_families import logical_jobs
from bridge.store.lineage.evidence import EdgeEvidenceReader
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.lineage import family_members
from bridge.sync.canonical.quality import checks_of, results_of
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.access_policies import AccessPolicyPusher
from bridge.sync.openmetadata.affected_items import FoldedAffectedItems
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
from bridge.sync.openmetadata.quality_checks import TestCasePusher
from bridge.sync.openmetadata.run_statuses import RunStatusPusher
from bridge.sync.openmetadata.test_results import TestResultPusher
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import DELETION, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import AffectedItems, BatchResult, ComparedBatch, ExpectedCount, PlanStep, TargetIdentity
from connectors.openmetadata.client import OpenMetadataClient

NAME = "openmetadata"
#: How many items are worked on at once: as many as make lists of what there is worth their calls, and as many whose
#: edges take seconds at most.
_ENTITIES, _LINEAGES, _RUNS, _CHECKS, _REMOVALS = 2_000, 200, 500, 200, 100
#: Kinds of items that stand for several things.
_BY_EDGES = ("lineage",)
#: Where the columns of an entity are remembered: of ours, and of those of others.
_COLUMNS = ("shape", "columns", "tasks")
_READERS = """
SELECT DISTINCT e.target_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.source_id = d.dataset_id AND e.edge_role = 'CONSUMES'
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_USED = (
    "SELECT run_id FROM ol_run_output WHERE org_id = ?1 AND dataset_id {ids}",
    "SELECT run_id FROM ol_run_input WHERE org_id = ?1 AND dataset_id {ids}",
)
_ABOVE = "SELECT parent_run_id FROM ol_run WHERE org_id = ?1 AND run_id {ids} AND parent_run_id IS NOT NULL"
_CHILD_JOBS = "SELECT target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'"
_RUNS_OF = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {ids}"
_WRITTEN = """
SELECT DISTINCT d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""


class OpenMetadataTarget:
    """Keeps an OpenMetadata server like a store. Not for several threads at once."""

    name = NAME
    batch_sizes = {  # noqa: RUF012 - fixed
        "dataset": _ENTITIES,
        "job": _ENTITIES,
        "lineage": _LINEAGES,
        "run": _RUNS,
        "check": _CHECKS,
        "result": _CHECKS,
        "profile": _CHECKS,
        "governance": _CHECKS,
        "access": 1,
        DELETION: _REMOVALS,
    }
    compared_kinds: AbstractSet[str] = frozenset({"dataset", "job", "lineage", "run", "check", "result", "profile"})
    slow_kinds: AbstractSet[str] = frozenset({"lineage", "run", "check", "result", "profile", "governance"})

    def __init__(
        self,
        db: Database,
        org: str,
        client: OpenMetadataClient,
        rules: OpenMetadataOptions,
        items: SyncItemStore,
        clock: Callable[[], int],
    ) -> None:
        self._db = db
        self._org = org
        self._client = client
        self._rules = rules
        self._pool = ThreadPoolExecutor(rules.concurrency, thread_name_prefix="openmetadata")
        self._states = EdgeStore(db, org, NAME)
        self.affected: AffectedItems = FoldedAffectedItems(db, org, NAME, items, rules.folding)
        self._workers = RequestPool(self._pool, client.probe)
        asked = rules._replace(batch_size=0, concurrency=0, most_deletions=0)
        self.settings = TargetIdentity(client.url, fingerprint(repr(asked)).hex())
        directory = EntityLookup(client, self._pool, rules.layout.service, clock)
        self._entities = EntityPusher(client, directory, rules, items, self._workers, clock)
        at = OpenMetadataContext(db, org, client, rules, items, self._workers)
        self._lineages = LineagePusher(at, self._states)
        self._runs = RunStatusPusher(at)
        self.governance = GovernancePusher(at)
        self._checks = TestCasePusher(at)
        results, profiles = TestResultPusher(at), ProfilePusher(at)
        self._pushers = {
            "lineage": self._lineages.push,
            "run": self._runs.push,
            "check": self._checks.push,
            "result": results.push,
            "profile": profiles.push,
            "governance": self.governance.push,
            "access": AccessPolicyPusher(at).push,
        }
        said = {
            "run": self._runs.expected_bodies,
            "result": results.expected_bodies,
            "profile": profiles.expected_bodies,
        }
        self._comparison = OpenMetadataComparison(at, NAME, directory, self._states, said, self._pool)
        self._items = items
        self._removals = EntityDeleter(client, items, self._states, self._workers, rules.most_deletions)

    def prepare(self) -> None:
        """Make nothing ready: all that is asked of the store lies ready."""

    def probe(self) -> None:
        """Ask whether the server answers, and takes the token."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server say what the store says of items."""
        self._workers.start_batch()
        if kind in self._pushers:
            return self._pushers[kind](items)
        if kind == DELETION:
            return BatchResult(self._removals.push(items))
        wanted, settled = self._wanted(kind, items)
        given_up, begun = self._entities.find_abandoned_creations([_without_remote(one) for one in settled])
        results = given_up + self._entities.push(wanted)
        left = begun + [remote for one in results if isinstance(one, Completed) and (remote := _left(one))]
        return BatchResult(results, affected=self._affected_by_results(kind, results), orphaned=left)

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        """Say what a push would do."""
        steps: list[PlanStep] = []
        made: dict[bytes, str] = {}
        for kind in ("dataset", "job"):
            wanted, settled = self._wanted(kind, [item for item in items if item.kind == kind])
            planned, others, named = self._entities.plan(wanted)
            steps += sorted([*planned, *self._steps([*others, *settled])], key=_by_name)
            made |= named
        steps += sorted(self._lineages.plan([item for item in items if item.kind == "lineage"], made), key=_by_name)
        steps += self._runs.plan([item for item in items if item.kind == "run"], made)
        looked = self.governance.diff([item for item in items if item.kind == "governance"])
        steps += [
            step for look in sorted(looked, key=lambda one: one.name or "") if look.name for step in look.steps()
        ]
        for item in items:
            if item.kind == DELETION and (remote := remote_of(item)) and self._removals.is_orphan(item):
                steps.append(PlanStep("delete", remote.type, remote.name))
        return steps

    def _steps(self, results: Sequence[Completed | Failure]) -> Iterator[PlanStep]:
        """Tell of what would be left as it is, and why."""
        keys, graph = {one.item.key for one in results}, LineageGraph(self._db, self._org)
        names = {**graph.dataset_names(keys), **graph.job_names(keys)}
        for one in results:
            named = names[one.item.key]
            name = one.item.remote.name if one.item.remote else f"{named.namespace} {named.name}"
            if isinstance(one, Failure):
                yield PlanStep("failed", one.item.kind, name, str(one.error))
            else:
                action = "leave" if one.outcome is Outcome.UNCHANGED else one.outcome.value
                yield PlanStep(action, one.item.kind, name, one.reason)

    def _wanted(self, kind: str, items: Sequence[SyncItem]) -> tuple[list[DesiredEntity], list[Completed]]:
        want = desired_datasets if kind == "dataset" else desired_pipelines
        found = list(want(self._db, self._org, self._rules, items))
        return [one for one in found if isinstance(one, DesiredEntity)], [
            one for one in found if isinstance(one, Completed)
        ]

    def _affected_by_results(self, kind: str, results: Sequence[Completed | Failure]) -> set[tuple[str, bytes]]:
        """Say whose lineage is to be looked at: of what has become another entity, or has other columns."""
        moved = {one.item.key for one in results if isinstance(one, Completed) and _moved(one)}
        if kind == "dataset":
            fused = [one.item.key for one in results if isinstance(one, Completed) and _fused(one)]
            moved |= set(group_ids(self._db, self._org, fused).values())
        if kind == "job":
            leaves = set().union(*family_members(self._db, self._org, self._rules.folding, moved).values())
            written = {dataset for (dataset,) in self._db.fetch_for_ids(_WRITTEN, sorted(leaves), self._org)}
            readers = self._states.targets_of_jobs(moved) | written  # they may be ends themselves, and were missing
        else:
            readers = {found.target for found in EdgeEvidenceReader(self._db, self._org).out_of(sorted(moved))}
            jobs = {job for (job,) in self._db.fetch_for_ids(_READERS, sorted(moved), self._org)}
            for shown in logical_jobs(self._db, self._org, self._rules.folding, jobs).values():
                readers |= shown
        followed = {("lineage", key) for key in moved | readers | self._states.targets_of_sources(moved)}
        if kind == "job":
            return followed | self._told_as(moved)
        others = {one.item.key for one in results if isinstance(one, Completed) and one.item.remote != one.remote}
        return followed | self._checked(moved, others)

    def _checked(self, datasets: set[bytes], others: set[bytes]) -> set[tuple[str, bytes]]:
        """Find the checks of datasets that are tables with other columns now, and how they ended.

        Of those that have become other tables, or gave way to another one, the figures too: they are told anew.
        """
        checks = set(self._items.get("check", checks_of(self._db, self._org, datasets)))
        results = self._items.get("result", results_of(self._db, self._org, checks))
        members = member_ids(self._db, self._org, datasets)
        within = member_ids(self._db, self._org, others) | others
        profiles = self._items.find_by_key_prefix("profile", within)
        governed = set(self._items.get("governance", others))
        followed = {"check": checks, "result": set(results), "profile": profiles, "run": self._that_used(members)}
        followed["governance"] = governed
        return {(kind, key) for kind, keys in followed.items() for key in keys}

    def _that_used(self, datasets: set[bytes]) -> set[bytes]:
        """Find the runs that are told, and read or wrote datasets: of those that have become other entities."""
        runs = {run for sql in _USED for (run,) in self._db.fetch_for_ids(sql, sorted(datasets), self._org)}
        for _ in range(2):  # they are told as their application, or as what started that
            runs |= {run for (run,) in self._db.fetch_for_ids(_ABOVE, sorted(runs), self._org)}
        return set(self._items.get("run", runs))

    def _told_as(self, jobs: set[bytes]) -> set[tuple[str, bytes]]:
        """Find the runs that are told as statuses of pipelines that have become others."""
        beneath = {job for (job,) in self._db.fetch_for_ids(_CHILD_JOBS, sorted(jobs), self._org)}
        runs = {run for (run,) in self._db.fetch_for_ids(_RUNS_OF, sorted(jobs | beneath), self._org)}
        return {("run", run) for run in self._items.get("run", runs)}

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count what shall be there, bit by bit, as the store says."""
        yield from (ExpectedCount(*counts) for counts in self._items.count_expected() if counts[0] not in _BY_EDGES)
        yield from self._lineages.count_expected()

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare everything that is there with what was left there, bit by bit."""
        self.clear_cache()  # somebody may have restored an older state
        return self._comparison.compare()

    def clear_cache(self) -> None:
        """Believe nothing of the server any more: somebody may have restored it."""
        self._entities.clear_cache()
        self.governance.clear_cache()
        self._checks.clear_cache()

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()


def _by_name(step: PlanStep) -> str:
    return step.name


def _without_remote(settled: Completed) -> Completed:
    """Let what shall not be there stand for no entity."""
    return settled._replace(remote=None, fingerprint=None) if settled.outcome is Outcome.UNWANTED else settled


def _moved(settled: Completed) -> bool:
    before, item = settled.item.remote, settled.item
    return before != settled.remote or any(item.record.get(key) != settled.record.get(key) for key in _COLUMNS)


def _fused(settled: Completed) -> bool:
    """Tell whether it has become another name of something, which may have been there before."""
    return settled.outcome is Outcome.UNWANTED and settled.item.outcome != Outcome.UNWANTED


def _left(settled: Completed) -> RemoteReference | None:
    """Give the entity that we made and that the item stood for until now."""
    before = settled.item.remote
    gone = (
        before is not None
        and settled.item.created_by_us
        and (settled.remote is None or settled.remote.id != before.id)
    )
    return before if gone else None
