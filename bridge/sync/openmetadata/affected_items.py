"""Determines which sync items a change affects."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import CONTRACT, EXPECTATIONS, datasets_with_facet, read_facet_texts
from bridge.store.identity_groups import group_ids, member_ids
from bridge.store.job_families import family_members, logical_jobs
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EdgeEvidenceReader
from bridge.store.lineage.retirement import RetirementPolicy
from bridge.sync.canonical.governance import ACCESS_POLICIES_KEY, datasets_with_governance, datasets_with_results
from bridge.sync.canonical.quality import checks_of_datasets, checks_of_jobs, checks_of_results, results_of_checks
from bridge.sync.canonical.runs import LogicalRuns
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import EntityRecord
from bridge.sync.sync_item import Completed, Outcome
from bridge.sync.target import Affected, ItemKey
from mappers.canonical.identity import digest
from mappers.logical_job import FoldingRule, is_action, is_scheduled

_DATASETS_OF_RUNS = "SELECT DISTINCT dataset_id FROM {table} WHERE org_id = ?1 AND run_id {{ids}}"
_OUTPUTS, _INPUTS = _DATASETS_OF_RUNS.format(table="ol_run_output"), _DATASETS_OF_RUNS.format(table="ol_run_input")
_COLUMN_TARGETS_OF_RUNS = "SELECT DISTINCT target_id FROM column_report WHERE org_id = ?1 AND run_id {ids}"
_CHILD_RUNS = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND parent_run_id {ids}"
_JOB_KINDS = """
SELECT job_id, integration, job_type, emits_snapshots, declared_io, declared_lineage FROM ol_job
WHERE org_id = ?1 AND job_id {ids}
"""
_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
_CHILD_JOBS = """
SELECT target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""
_PRODUCED = """
SELECT DISTINCT target_id FROM lineage_edge
WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PRODUCES' AND target_type = 'dataset'
"""
_COLUMN_TARGETS_OF_JOBS = "SELECT DISTINCT target_id FROM column_head WHERE org_id = ?1 AND job_id {ids}"
_CHECKS = "SELECT qdef_id FROM quality_check_def WHERE org_id = ?1 AND dataset_id {ids}"
_WRITERS = """
SELECT DISTINCT e.source_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.target_id = d.dataset_id AND e.edge_role = 'PRODUCES'
WHERE d.org_id = ?1 AND d.class_id {ids} AND e.target_type = 'dataset'
"""
_JOB_FAMILY_HASHES = (
    "SELECT key, fold FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = 'job' AND key {ids}"
)
_READERS = """
SELECT DISTINCT e.target_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.source_id = d.dataset_id AND e.edge_role = 'CONSUMES'
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_RUNS_OF_DATASETS = "SELECT run_id FROM {table} WHERE org_id = ?1 AND dataset_id {{ids}}"
_WRITING_RUNS = _RUNS_OF_DATASETS.format(table="ol_run_output")
_READING_RUNS = _RUNS_OF_DATASETS.format(table="ol_run_input")
_PARENT_RUNS = "SELECT parent_run_id FROM ol_run WHERE org_id = ?1 AND run_id {ids} AND parent_run_id IS NOT NULL"
_RUNS_OF_JOBS = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {ids}"
_RUNS_BETWEEN = """
SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {ids} AND started_at >= ?2 AND started_at < ?3
"""
#: What a run and the siblings that began during it wrote; if it encloses a sibling, it takes over the profile.
_WRITES_DURING_RUNS = """
SELECT DISTINCT t.dataset_id, t.run_id FROM ol_run o
JOIN ol_run s ON s.org_id = o.org_id AND s.parent_run_id = o.parent_run_id
  AND s.started_at >= o.started_at AND s.started_at <= o.updated_at
JOIN ol_run_output t ON t.org_id = s.org_id AND t.run_id = s.run_id
WHERE o.org_id = ?1 AND o.run_id {ids}
"""

#: Kinds whose dirty marks have the same keys as their items.
_SAME_KEY_KINDS = ("check", "result", "profile")


class _ChangedKeys(NamedTuple):
    """Datasets with possibly changed lineage, further changed datasets, and changed jobs."""

    lineage_targets: set[bytes]
    datasets: set[bytes]
    jobs: set[bytes]


class OpenMetadataAffectedItems:
    """Determines which items a change affects, with Spark actions folded into logical jobs. Not thread-safe."""

    def __init__(self, db: Database, org: str, target: str, items: SyncItemStore, folding: FoldingRule) -> None:
        self._folding = folding
        self._db = db
        self._org = org
        self._target = target
        self._items = items
        self._edges = EdgeStore(db, org, target)

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Return items that dirty marks affect.

        If a job is now shown as a different job, its descendants are affected too.
        """
        runs = marks.get("run", set())
        run_items, jobs_of_runs = self._run_items(runs)
        crossing_runs = _runs_crossing_retirement(self._db, self._org, self._folding, jobs_of_runs)
        all_runs = runs | crossing_runs | self._select(_CHILD_RUNS, marks.get("children", set()))
        lineage_targets = self._select(_OUTPUTS, all_runs) | self._select(_COLUMN_TARGETS_OF_RUNS, all_runs)
        hashes, changed_jobs = self._family_hashes(marks.get("job", set()))
        lineage_targets |= self._select(_PRODUCED, changed_jobs) | self._select(_COLUMN_TARGETS_OF_JOBS, changed_jobs)
        written = lineage_targets | self._select(_PRODUCED, self._members(jobs_of_runs))
        last_runs = {("last_run", key) for key in group_ids(self._db, self._org, written).values()}
        last_runs |= self._stored("last_run", marks.get("dataset", set()))
        changed_keys = _ChangedKeys(
            lineage_targets | marks.get("dataset", set()),
            self._select(_INPUTS, runs),
            set(hashes) | self._parent_jobs(set(hashes)),
        )
        same_key_items = {(kind, key) for kind in _SAME_KEY_KINDS for key in marks.get(kind, ())}
        # newer runs may have retired the incoming edges of these jobs or made them redundant
        consumers, governance = self._stored("lineage", jobs_of_runs), self._governance_items(marks)
        changed_groups = set(group_ids(self._db, self._org, marks.get("dataset", set())).values())
        checks = self._check_items(changed_groups, marks.get("result", set()))
        with_contract = datasets_with_facet(self._db, self._org, changed_groups, CONTRACT)
        contracts = {("contract", key) for key in with_contract}
        return Affected(
            self._dependents_of_keys(changed_keys)
            | run_items
            | last_runs
            | consumers
            | governance
            | contracts
            | checks
            | same_key_items
            | self._profiles_of_actions(runs),
            hashes,
        )

    def of_results(self, kind: str, results: Iterable[Completed]) -> set[ItemKey]:
        """Return items that refer to entities or test cases that moved, or to columns or tasks that changed."""
        completed = list(results)
        relocated = {result.item.key for result in completed if result.item.remote != result.remote}
        if kind == "check":
            return self._stored("result", results_of_checks(self._db, self._org, relocated))
        changed = relocated | {result.item.key for result in completed if _columns_or_tasks_changed(result)}
        if kind == "job":
            return self._dependents_of_jobs(changed)
        merged = [result.item.key for result in completed if _became_alias(result)]
        return self._dependents_of_datasets(changed | set(group_ids(self._db, self._org, merged).values()), relocated)

    def _dependents_of_jobs(self, jobs: set[bytes]) -> set[ItemKey]:
        """Return the lineage of jobs, and the pushed runs of the jobs and their children."""
        written = set(group_ids(self._db, self._org, self._select(_PRODUCED, self._members(jobs))).values())
        targets = jobs | written | self._edges.targets_of_jobs(jobs) | self._edges.targets_of_sources(jobs)
        runs = self._select(_RUNS_OF_JOBS, jobs | self._select(_CHILD_JOBS, jobs))
        lineage = {("lineage", key) for key in targets}
        return lineage | self._stored("run", runs) | self._stored("last_run", written)

    def _members(self, jobs: Iterable[bytes]) -> set[bytes]:
        """Return jobs with the jobs that are shown as them."""
        return set().union(*family_members(self._db, self._org, self._folding, set(jobs)).values())

    def _dependents_of_datasets(self, datasets: set[bytes], relocated: set[bytes]) -> set[ItemKey]:
        """Return lineage, checks, results and runs of datasets, and profiles and governance of relocated ones."""
        evidence = EdgeEvidenceReader(self._db, self._org).out_of(sorted(datasets))
        targets = datasets | {edge.target for edge in evidence} | self._edges.targets_of_sources(datasets)
        readers = self._select(_READERS, datasets)
        targets.update(*logical_jobs(self._db, self._org, self._folding, readers).values())
        checks = self._stored("check", checks_of_datasets(self._db, self._org, datasets))
        results = results_of_checks(self._db, self._org, {key for _, key in checks})
        relocated_ids = member_ids(self._db, self._org, relocated) | relocated
        profiles = self._items.find_by_key_prefix("profile", relocated_ids)
        affected = {("lineage", key) for key in targets} | {("profile", key) for key in profiles}
        affected |= checks | self._stored("result", results) | self._stored("governance", relocated)
        affected |= self._stored("last_run", relocated) | self._stored("contract", datasets)
        return affected | self._stored("run", self._runs_using(member_ids(self._db, self._org, datasets)))

    def _runs_using(self, datasets: set[bytes]) -> set[bytes]:
        """Return runs that read or wrote datasets, and the parents and grandparents that may represent these runs."""
        runs = self._select(_WRITING_RUNS, datasets) | self._select(_READING_RUNS, datasets)
        parents = self._select(_PARENT_RUNS, runs)
        return runs | parents | self._select(_PARENT_RUNS, parents)

    def _profiles_of_actions(self, runs: set[bytes]) -> set[ItemKey]:
        """Return the profiles of runs, and of actions that these runs may enclose."""
        writes = self._db.fetch_for_ids(_WRITES_DURING_RUNS, sorted(runs), self._org)
        return self._stored("profile", {dataset + run for dataset, run in writes})

    def _stored(self, kind: str, keys: Collection[bytes]) -> set[ItemKey]:
        return {(kind, key) for key in self._items.get(kind, keys)}

    def _check_items(self, groups: set[bytes], results: set[bytes]) -> set[ItemKey]:
        """Return checks that may have been removed from asset files, and removed checks that have new results."""
        with_expectations = datasets_with_facet(self._db, self._org, groups, EXPECTATIONS)
        checks = self._stored("check", checks_of_datasets(self._db, self._org, with_expectations))
        reported = self._items.get("check", checks_of_results(self._db, self._org, results))
        return checks | {("check", key) for key, item in reported.items() if item.outcome == Outcome.UNWANTED}

    def _governance_items(self, marks: Mapping[str, set[bytes]]) -> set[ItemKey]:
        """Return datasets that have or had a governance facet, and datasets with new check results."""
        datasets = marks.get("dataset", set())
        with_governance = datasets_with_governance(self._db, self._org, datasets)
        groups = with_governance | datasets_with_results(self._db, self._org, marks.get("result", set()))
        access = {("access", ACCESS_POLICIES_KEY)} if with_governance else set()
        return access | {("governance", key) for key in groups | self._items.get("governance", datasets).keys()}

    def _run_items(self, runs: set[bytes]) -> tuple[set[ItemKey], list[bytes]]:
        """Return affected run items, and the jobs of the logical runs of `runs`.

        The items are these logical runs, and pushed runs that may now belong to another logical run.
        """
        if not runs:
            return set(), []
        logical_runs = LogicalRuns(self._db, self._org, self._folding, runs)
        found = {logical_run for run in runs if (logical_run := logical_runs.find(run))}
        pushed = self._items.get("run", runs | self._select(_CHILD_RUNS, runs))
        affected_runs = {logical_run.run for logical_run in found} | pushed.keys()
        return {("run", run) for run in affected_runs}, [logical_run.job for logical_run in found]

    def _dependents_of_keys(self, changed: _ChangedKeys) -> set[ItemKey]:
        """Return datasets, jobs, lineage and checks that depend on changed keys."""
        group_by_dataset = group_ids(self._db, self._org, changed.lineage_targets | changed.datasets)
        items = {("dataset", group_id) for group_id in group_by_dataset.values()}
        items |= {
            ("lineage", group_by_dataset[dataset])
            for dataset in changed.lineage_targets
            if dataset in group_by_dataset
        }
        # groups whose preferred name may have changed
        regrouped: set[bytes] = set()
        stored = self._items.get("dataset", set(group_by_dataset))
        for dataset, item in stored.items():
            group_id = group_by_dataset[dataset]
            is_alias, was_alias = dataset != group_id, item.outcome == Outcome.UNWANTED
            if is_alias:
                items |= {("dataset", dataset), ("lineage", dataset)}
            if is_alias != was_alias:
                regrouped.add(group_id)
        jobs = changed.jobs | self._writer_jobs(regrouped)
        members = {dataset for dataset, group_id in group_by_dataset.items() if group_id in regrouped}
        # a dataset without an item may have been an alias until now; descriptions of derived datasets name it
        regrouped_or_new = sorted(regrouped | (set(group_by_dataset.values()) - stored.keys()))
        derived = EdgeEvidenceReader(self._db, self._org).out_of(regrouped_or_new) if regrouped_or_new else ()
        items |= {("dataset", edge.target) for edge in derived}
        checks = self._select(_CHECKS, members) | checks_of_jobs(self._db, self._org, changed.jobs)
        items |= {("check", check) for check in checks}
        items |= {(kind, job) for job in jobs for kind in ("job", "lineage")}
        return items

    def _writer_jobs(self, groups: set[bytes]) -> set[bytes]:
        """Return jobs with tasks that are named after these datasets."""
        return self._parent_jobs(self._select(_WRITERS, groups)) if groups else set()

    def _family_hashes(self, jobs: set[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
        """Return the family hash of each job. Also return the jobs with a changed hash, and their children.

        A family hash covers a job's attributes, parents and SQL, on which edges depend.
        """
        children = self._select(_CHILD_JOBS, jobs)
        parents: dict[bytes, list[bytes]] = {}
        for job, parent in self._db.fetch_for_ids(_PARENTS, sorted(jobs), self._org):
            parents.setdefault(job, []).append(parent)
        sql = read_facet_texts(self._db, self._org, jobs, "sql", "query")
        hashes = {
            job: digest(repr((attributes, sorted(parents.get(job, ())), sql.get(job))).encode())
            for job, *attributes in self._db.fetch_for_ids(_JOB_KINDS, sorted(jobs), self._org)
        }
        stored = dict(self._db.fetch_for_ids(_JOB_FAMILY_HASHES, sorted(hashes), self._org, self._target))
        changed = {job for job, hash_ in hashes.items() if stored.get(job) != hash_}
        if changed and children:
            changed |= self._select(_CHILD_JOBS, changed)
        return hashes, changed

    def _parent_jobs(self, jobs: set[bytes]) -> set[bytes]:
        """Return the jobs of which these jobs may be tasks: parents and grandparents of actions, and boxes."""
        actions, scheduled_jobs = set(), set()
        for job, integration, job_type, *_ in self._db.fetch_for_ids(_JOB_KINDS, sorted(jobs), self._org):
            if is_action(integration, job_type):
                actions.add(job)
            elif is_scheduled(integration):
                scheduled_jobs.add(job)
        parents = self._parents(actions)
        return parents | self._parents(parents) | self._parents(scheduled_jobs)

    def _parents(self, jobs: set[bytes]) -> set[bytes]:
        return {parent for _, parent in self._db.fetch_for_ids(_PARENTS, sorted(jobs), self._org)}

    def _select(self, sql: str, ids: Collection[bytes]) -> set[bytes]:
        return {id_ for (id_,) in self._db.fetch_for_ids(sql, sorted(ids), self._org)} if ids else set()


def _columns_or_tasks_changed(completed: Completed) -> bool:
    before = completed.item.read_record(EntityRecord)
    after = completed.item._replace(record=completed.record).read_record(EntityRecord)
    return (before.columns_version, before.tasks) != (after.columns_version, after.tasks)


def _became_alias(completed: Completed) -> bool:
    """True if a dataset was a separate entity and is now an alias of another dataset."""
    return completed.outcome is Outcome.UNWANTED and completed.item.outcome != Outcome.UNWANTED


def _runs_crossing_retirement(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> set[bytes]:
    """Return runs that entered or left the retirement window of these jobs.

    `jobs` contains a job once per changed run, because n changed runs move the window by at most n runs.
    """
    if not rule.retire_after:
        return set()
    retirement = RetirementPolicy(db, org, rule)
    runs: set[bytes] = set()
    for job, changed_runs in Counter(jobs).items():
        starts = retirement.complete_run_starts(job, rule.retire_after + changed_runs)
        if len(starts) >= rule.retire_after - changed_runs:
            newest_index = rule.retire_after - 1 - changed_runs
            until = starts[newest_index] + 1 if newest_index >= 0 and starts else NO_TIME_LIMIT
            since = starts[-1] if len(starts) == rule.retire_after + changed_runs else 0
            members = sorted(family_members(db, org, rule, [job])[job])
            runs |= {run for (run,) in db.fetch_for_ids(_RUNS_BETWEEN, members, org, since, until)}
    return runs
