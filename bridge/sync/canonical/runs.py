"""Reads runs of logical jobs with their steps, inputs and outputs."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import read_facet_bodies
from bridge.store.job_families import family_members
from mappers.logical_job import FoldingRule, is_action

_ROWS = """
SELECT r.run_id, r.job_id, j.integration, j.job_type, r.parent_run_id, r.parent_job_id,
  CASE WHEN r.least_claimant IS NULL THEN 0 ELSE 1 END AS reported
FROM ol_run r JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
WHERE r.org_id = ?1 AND r.run_id {ids}
"""
_OUTCOMES = """
SELECT r.run_id, r.run_uuid, r.started_at, r.nominal_start_time, r.nominal_end_time, o.status, o.ended_at, o.error
FROM ol_run r JOIN run_outcome o ON o.org_id = r.org_id AND o.run_id = r.run_id
WHERE r.org_id = ?1 AND r.run_id {ids}
"""
_CHILDREN = """
SELECT r.parent_run_id, r.run_id, r.job_id, j.integration, j.job_type
FROM ol_run r JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
WHERE r.org_id = ?1 AND r.parent_run_id {ids}
"""
_INPUTS = """
SELECT i.run_id, d.class_id, max(i.row_count), max(i.byte_count), min(i.version) FROM ol_run_input i
JOIN ol_dataset d ON d.org_id = i.org_id AND d.dataset_id = i.dataset_id
WHERE i.org_id = ?1 AND i.run_id {ids} GROUP BY i.run_id, d.class_id
"""
_OUTPUTS = """
SELECT t.run_id, d.class_id, max(v.row_count), max(v.byte_count), min(v.version_tag) FROM ol_run_output t
JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
LEFT JOIN dataset_version v ON v.org_id = t.org_id AND v.dataset_id = t.dataset_id AND v.writer_id = t.run_id
WHERE t.org_id = ?1 AND t.run_id {ids} GROUP BY t.run_id, d.class_id
"""
_NEWEST = """
SELECT r.job_id, r.run_id, r.started_at FROM ol_job j
JOIN ol_run r ON r.org_id = j.org_id AND r.run_id = (
  SELECT n.run_id FROM ol_run n
  WHERE n.org_id = j.org_id AND n.job_id = j.job_id AND n.least_claimant IS NOT NULL AND n.started_at IS NOT NULL
  ORDER BY n.started_at DESC, n.run_id LIMIT 1)
WHERE j.org_id = ?1 AND j.job_id {ids}
"""
_APPLICATION = "APPLICATION"


class CanonicalDatasetUsage(NamedTuple):
    """A dataset that a run read or wrote, with row and byte counts."""

    dataset: bytes
    rows: int | None
    bytes: int | None
    version: str | None


class CanonicalStepRun(NamedTuple):
    """A run of a Spark action; times are microseconds."""

    job: bytes
    status: str
    started_at: int | None
    ended_at: int | None


class CanonicalRun(NamedTuple):
    """A run of a logical job; times are microseconds."""

    job: bytes
    run_uuid: str
    started_at: int
    nominal: tuple[int | None, int | None]
    status: str
    ended_at: int | None
    error: str | None
    inputs: tuple[CanonicalDatasetUsage, ...]
    outputs: tuple[CanonicalDatasetUsage, ...]
    steps: tuple[CanonicalStepRun, ...]


class _Row(NamedTuple):
    """The columns that determine the logical run for a run."""

    job: bytes
    integration: str | None
    job_type: str | None
    parent: bytes | None
    parent_job: bytes | None
    reported: bool

    @property
    def is_action(self) -> bool:
        return is_action(self.integration, self.job_type)

    @property
    def is_application(self) -> bool:
        return (self.job_type or "").upper() == _APPLICATION


class _OutcomeRow(NamedTuple):
    """Columns of `_OUTCOMES` after the run id."""

    run_uuid: str
    started_at: int | None
    nominal_start: int | None
    nominal_end: int | None
    status: str
    ended_at: int | None
    error: str | None


class LogicalRun(NamedTuple):
    """The run that represents a run (possibly itself), and the job of the representing run."""

    run: bytes
    job: bytes


class LogicalRuns:
    """Maps runs to logical runs: a run is shown as itself, or as the run into which it is folded."""

    def __init__(self, db: Database, org: str, rule: FoldingRule, runs: Iterable[bytes]) -> None:
        self._rule = rule
        self._rows: dict[bytes, _Row] = {}
        run_ids = set(runs)
        for _ in range(3):  # the run may be an action: also read its application, and the parent of the application
            rows = {
                run: _Row._make((*row[:-1], bool(row[-1])))
                for run, *row in db.fetch_for_ids(_ROWS, sorted(run_ids), org)
            }
            self._rows |= rows
            run_ids = {row.parent for row in rows.values() if row.parent} - self._rows.keys()

    def find(self, run: bytes) -> LogicalRun | None:
        """Return the logical run of a run, or None if no event reported the run."""
        row = self._rows.get(run)
        if row is None:
            return None
        is_application = row.is_application
        if row.is_action and row.parent in self._rows:
            run, row, is_application = row.parent, self._rows[row.parent], True
        if is_application and self._rule.job == "parent" and row.parent in self._rows:
            parent = self._rows[row.parent]
            if parent.reported:
                return LogicalRun(row.parent, parent.job)
            return LogicalRun(run, row.parent_job or parent.job)
        return LogicalRun(run, row.job) if row.reported else None


def read_runs(db: Database, org: str, rule: FoldingRule, runs: Collection[bytes]) -> dict[bytes, CanonicalRun]:
    """Read the runs that are logical runs. Runs that are folded into another run are skipped."""
    logical_runs = LogicalRuns(db, org, rule, runs)
    jobs: dict[bytes, bytes] = {}
    for run in runs:
        logical = logical_runs.find(run)
        if logical is not None and logical.run == run:
            jobs[run] = logical.job
    actions, descendants = _descendants(db, org, jobs, with_applications=rule.job == "parent")
    all_runs = sorted({*jobs, *(run for descendant_runs in descendants.values() for run in descendant_runs)})
    outcomes = {run: _OutcomeRow._make(row) for run, *row in db.fetch_for_ids(_OUTCOMES, all_runs, org)}
    # the largest count of an input, but the sum of the counts of an output
    inputs = _usages(descendants, db.fetch_for_ids(_INPUTS, all_runs, org), max)
    outputs = _usages(descendants, db.fetch_for_ids(_OUTPUTS, all_runs, org), sum)
    exit_code_messages = _exit_code_messages(db, org, [run for run in jobs if outcomes[run].status == "FAILED"])
    canonical_runs = {}
    for run, job in jobs.items():
        outcome = outcomes[run]
        if outcome.started_at is None:
            continue
        steps = sorted(
            CanonicalStepRun(actions[step], outcomes[step].status, outcomes[step].started_at, outcomes[step].ended_at)
            for step in descendants[run]
            if step in actions
        )
        canonical_runs[run] = CanonicalRun(
            job, outcome.run_uuid, outcome.started_at, (outcome.nominal_start, outcome.nominal_end), outcome.status,
            outcome.ended_at, outcome.error or exit_code_messages.get(run), inputs[run], outputs[run], tuple(steps),
        )  # fmt: skip
    return canonical_runs


def read_newest_runs(db: Database, org: str, rule: FoldingRule, jobs: Collection[bytes]) -> dict[bytes, CanonicalRun]:
    """Return the newest run of each logical job. A job that reports no runs has those of its applications."""
    members_by_job = family_members(db, org, rule, jobs)
    all_members = sorted({member for members in members_by_job.values() for member in members})
    newest_by_member = {job: (started, run) for job, run, started in db.fetch_for_ids(_NEWEST, all_members, org)}
    newest_by_job: dict[bytes, bytes] = {}
    for job, members in members_by_job.items():
        newest = max((newest_by_member[member] for member in members if member in newest_by_member), default=None)
        if newest is not None:
            newest_by_job[job] = newest[1]
    logical_runs = LogicalRuns(db, org, rule, newest_by_job.values())
    logical_by_job = {
        job: logical.run for job, run in newest_by_job.items() if (logical := logical_runs.find(run)) is not None
    }
    runs = read_runs(db, org, rule, set(logical_by_job.values()))
    return {job: runs[run] for job, run in logical_by_job.items() if run in runs}


def _exit_code_messages(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, str]:
    """Return a message with the exit code of each run's command, for use if the run has no error message."""
    bodies = read_facet_bodies(db, org, runs, "exitCode")
    exit_codes = {run: body.get("value") for run, body in bodies.items()}
    return {run: f"exit code {code}" for run, code in exit_codes.items() if isinstance(code, int | str)}


def _descendants(
    db: Database, org: str, runs: Iterable[bytes], *, with_applications: bool
) -> tuple[dict[bytes, bytes], dict[bytes, set[bytes]]]:
    """Return the job of each action below the runs, and the descendants of each run."""
    descendants: dict[bytes, set[bytes]] = {run: set() for run in runs}
    logical_run_of = {run: run for run in descendants}
    actions: dict[bytes, bytes] = {}
    level = set(descendants)
    for _ in range(2):
        next_level = set()
        for parent, run, job, integration, job_type in db.fetch_for_ids(_CHILDREN, sorted(level), org):
            if run in logical_run_of:
                continue
            if is_action(integration, job_type):
                actions[run] = job
            elif not with_applications or (job_type or "").upper() != _APPLICATION:
                continue  # shown as a run of its own
            logical_run_of[run] = logical_run_of[parent]
            descendants[logical_run_of[run]].add(run)
            next_level.add(run)
        level = next_level
    return actions, descendants


def _usages(
    descendants: dict[bytes, set[bytes]], rows: Iterable[tuple[Any, ...]], aggregate: Callable[[list[int]], int]
) -> dict[bytes, tuple[CanonicalDatasetUsage, ...]]:
    """Return datasets that runs and their descendants read or wrote.

    `aggregate` combines the row and byte counts of the same dataset.
    """
    logical_run_of = {
        member: run for run, descendant_runs in descendants.items() for member in (run, *descendant_runs)
    }
    usages_by_run: dict[bytes, dict[bytes, list[CanonicalDatasetUsage]]] = {run: {} for run in descendants}
    for run, dataset, *values in rows:
        usage = CanonicalDatasetUsage(dataset, *values)
        usages_by_run[logical_run_of[run]].setdefault(dataset, []).append(usage)
    return {
        run: tuple(_combine(dataset, usages, aggregate) for dataset, usages in sorted(usages_by_dataset.items()))
        for run, usages_by_dataset in usages_by_run.items()
    }


def _combine(
    dataset: bytes, usages: list[CanonicalDatasetUsage], aggregate: Callable[[list[int]], int]
) -> CanonicalDatasetUsage:
    """Combine the usages of a dataset by a run and its descendants."""
    rows = [usage.rows for usage in usages if usage.rows is not None]
    sizes = [usage.bytes for usage in usages if usage.bytes is not None]
    versions = [usage.version for usage in usages if usage.version is not None]
    return CanonicalDatasetUsage(
        dataset, aggregate(rows) if rows else None, aggregate(sizes) if sizes else None, min(versions, default=None)
    )
