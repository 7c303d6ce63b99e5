"""Determines which sync items a change affects."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.sync.canonical.governance import ACCESS_POLICIES_KEY, datasets_with_governance, datasets_with_results
from bridge.sync.canonical.jobs import facet_texts
from bridge.sync.canonical.quality import checks_of_jobs
from bridge.sync.canonical.runs import LogicalRuns
from bridge.sync.expiry import runs_crossing_retirement
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import Outcome
from bridge.sync.target import Affected, ItemKey
from mappers.canonical.identity import digest
from mappers.logical_job import FoldingRule, is_action

_OF_RUNS = "SELECT DISTINCT dataset_id FROM {table} WHERE org_id = ?1 AND run_id {{ids}}"
_OUTPUTS, _INPUTS = _OF_RUNS.format(table="ol_run_output"), _OF_RUNS.format(table="ol_run_input")
_SHOWN = "SELECT DISTINCT target_id FROM column_head WHERE org_id = ?1 AND run_id {ids}"
_CHILD_RUNS = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND parent_run_id {ids}"
_KINDS = """
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
_SPOKEN_OF = "SELECT DISTINCT target_id FROM column_head WHERE org_id = ?1 AND job_id {ids}"
_CHECKS = "SELECT qdef_id FROM quality_check_def WHERE org_id = ?1 AND dataset_id {ids}"
_WRITERS = """
SELECT DISTINCT e.source_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.target_id = d.dataset_id AND e.edge_role = 'PRODUCES'
WHERE d.org_id = ?1 AND d.class_id {ids} AND e.target_type = 'dataset'
"""
_FOLDS = "SELECT key, fold FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = 'job' AND key {ids}"


#: Marks that are items of the same kind and key.
_AS_THEY_ARE = ("check", "result", "profile")


class _ChangedKeys(NamedTuple):
    """What marks mean: datasets whose lineage may have changed too, datasets, and jobs."""

    into: set[bytes]
    datasets: set[bytes]
    jobs: set[bytes]


class FoldedAffectedItems:
    """Finds the items that marks mean. Not for several threads at once."""

    def __init__(self, db: Database, org: str, target: str, items: SyncItemStore, folding: FoldingRule) -> None:
        self._folding = folding
        self._db = db
        self._org = org
        self._target = target
        self._items = items

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Say which items marks mean; where jobs are shown decides for what lies beneath them."""
        runs = marks.get("run", set())
        told, of_jobs = self._run_items(runs)
        expired = runs_crossing_retirement(self._db, self._org, self._folding, of_jobs)
        within = runs | expired | self._among(_CHILD_RUNS, marks.get("children", set()))
        into = self._among(_OUTPUTS, within) | self._among(_SHOWN, within)
        folds, moved = self._family_hashes(marks.get("job", set()))
        into |= self._among(_PRODUCED, moved) | self._among(_SPOKEN_OF, moved)
        touched = _ChangedKeys(
            into | marks.get("dataset", set()), self._among(_INPUTS, runs), set(folds) | self._parent_jobs(set(folds))
        )
        as_they_are = {(kind, key) for kind in _AS_THEY_ARE for key in marks.get(kind, ())}
        readers, governed = self._consumer_items(of_jobs), self._governance_items(marks)
        return Affected(self._items_of(touched) | told | readers | governed | as_they_are, folds)

    def _governance_items(self, of: Mapping[str, set[bytes]]) -> set[ItemKey]:
        """Find the datasets of which a steward says something, or once did, and those of which checks have ended."""
        marked = of.get("dataset", set())
        said = datasets_with_governance(self._db, self._org, marked)
        classes = said | datasets_with_results(self._db, self._org, of.get("result", set()))
        access = {("access", ACCESS_POLICIES_KEY)} if said else set()
        return access | {("governance", key) for key in classes | self._items.get("governance", marked).keys()}

    def _consumer_items(self, jobs: Collection[bytes]) -> set[ItemKey]:
        """Find the jobs into which lineage leads that their newest runs may not show any more."""
        return {("lineage", job) for job in self._items.get("lineage", jobs)} if self._folding.retire_after else set()

    def _run_items(self, runs: set[bytes]) -> tuple[set[ItemKey], list[bytes]]:
        """Find the runs that these are told as, and those that were told, and may be told as others now.

        Gives the jobs as well, each once for each of its runs.
        """
        if not runs:
            return set(), []
        places = LogicalRuns(self._db, self._org, self._folding, runs)
        shown = {place for run in runs if (place := places.shown(run))}
        told = self._items.get("run", runs | self._among(_CHILD_RUNS, runs))
        return {("run", run) for run in {run for run, _ in shown} | told.keys()}, [job for _, job in shown]

    def _items_of(self, touched: _ChangedKeys) -> set[ItemKey]:
        class_of = group_ids(self._db, self._org, touched.into | touched.datasets)
        found = {("dataset", class_id) for class_id in class_of.values()}
        found |= {("lineage", class_of[dataset]) for dataset in touched.into if dataset in class_of}
        known = self._items.get("dataset", set(class_of))
        for dataset in known:
            if dataset != class_of[dataset]:  # it was a dataset of its own
                found |= {("dataset", dataset), ("lineage", dataset)}
        renamed = {
            class_of[dataset]
            for dataset, item in known.items()
            if (dataset != class_of[dataset]) != (item.outcome == Outcome.UNWANTED)
        }
        jobs = touched.jobs | self._writer_jobs(renamed)
        members = {dataset for dataset, class_id in class_of.items() if class_id in renamed}
        checks = self._among(_CHECKS, members) | checks_of_jobs(self._db, self._org, touched.jobs)
        found |= {("check", check) for check in checks}
        found |= {(kind, job) for job in jobs for kind in ("job", "lineage")}
        return found

    def _writer_jobs(self, renamed: set[bytes]) -> set[bytes]:
        """Find the jobs whose tasks are named after datasets that are called otherwise now."""
        return self._parent_jobs(self._among(_WRITERS, renamed)) if renamed else set()

    def _family_hashes(self, jobs: set[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
        """Say in a hash where jobs are shown and what SQL they run, and for which of them it is not as before.

        Their edges tell both. Where a job moves, so do those beneath it.
        """
        children = self._among(_CHILD_JOBS, jobs)
        parents: dict[bytes, list[bytes]] = {}
        for job, parent in self._db.fetch_for_ids(_PARENTS, sorted(jobs), self._org):
            parents.setdefault(job, []).append(parent)
        sql = facet_texts(self._db, self._org, jobs, "sql", "query")
        folds = {
            job: digest(repr((kind, sorted(parents.get(job, ())), sql.get(job))).encode())
            for job, *kind in self._db.fetch_for_ids(_KINDS, sorted(jobs), self._org)
        }
        known = dict(self._db.fetch_for_ids(_FOLDS, sorted(folds), self._org, self._target))
        moved = {job for job, fold in folds.items() if known.get(job) != fold}
        if moved and children:
            moved |= self._among(_CHILD_JOBS, moved)
        return folds, moved

    def _parent_jobs(self, jobs: set[bytes]) -> set[bytes]:
        """Find the jobs above actions, one and two levels up: their tasks are these actions."""
        actions = {
            job for job, *kind in self._db.fetch_for_ids(_KINDS, sorted(jobs), self._org) if is_action(*kind[:2])
        }
        above = {parent for _, parent in self._db.fetch_for_ids(_PARENTS, sorted(actions), self._org)}
        return above | {parent for _, parent in self._db.fetch_for_ids(_PARENTS, sorted(above), self._org)}

    def _among(self, sql: str, ids: Collection[bytes]) -> set[bytes]:
        return {found for (found,) in self._db.fetch_for_ids(sql, sorted(ids), self._org)} if ids else set()
