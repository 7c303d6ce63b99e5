"""Reads runs of logical jobs with their steps, inputs and outputs."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from bridge.store.database import Database
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
_BENEATH = """
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
_APPLICATION = "APPLICATION"


class CanonicalDatasetUsage(NamedTuple):
    """A dataset that a run read or wrote, by its class, and how much of it."""

    dataset: bytes
    rows: int | None
    bytes: int | None
    version: str | None


class CanonicalStepRun(NamedTuple):
    """A run of an action; times are microseconds."""

    job: bytes
    status: str
    started_at: int | None
    ended_at: int | None


class CanonicalRun(NamedTuple):
    """A run of a job that people know; times are microseconds."""

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
    """A run as far as it decides where it is shown."""

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


class LogicalRuns:
    """Under which runs, and of which jobs, runs are shown."""

    def __init__(self, db: Database, org: str, rule: FoldingRule, runs: Iterable[bytes]) -> None:
        self._rule = rule
        self._rows: dict[bytes, _Row] = {}
        wanted = set(runs)
        for _ in range(3):  # an action, its application, and what started that
            found = {
                run: _Row._make((*row[:-1], bool(row[-1])))
                for run, *row in db.fetch_for_ids(_ROWS, sorted(wanted), org)
            }
            self._rows |= found
            wanted = {row.parent for row in found.values() if row.parent} - self._rows.keys()

    def shown(self, run: bytes) -> tuple[bytes, bytes] | None:
        """Give the run that stands for a run, and the job that it is shown as; None when nobody reported of it."""
        row = self._rows.get(run)
        if row is None:
            return None
        starts = row.is_application
        if row.is_action and row.parent in self._rows:
            run, row, starts = row.parent, self._rows[row.parent], True
        if starts and self._rule.job == "parent" and row.parent in self._rows:
            above = self._rows[row.parent]
            return (row.parent, above.job) if above.reported else (run, row.parent_job or above.job)
        return (run, row.job) if row.reported else None


def read_runs(db: Database, org: str, rule: FoldingRule, runs: Collection[bytes]) -> dict[bytes, CanonicalRun]:
    """Read runs of jobs that people know; one that is shown as another run is not among them."""
    places = LogicalRuns(db, org, rule, runs)
    jobs = {run: shown[1] for run in runs if (shown := places.shown(run)) and shown[0] == run}
    actions, within = _beneath(db, org, jobs, with_applications=rule.job == "parent")
    everybody = sorted({*jobs, *(run for found in within.values() for run in found)})
    outcomes = {run: row for run, *row in db.fetch_for_ids(_OUTCOMES, everybody, org)}
    inputs = _usages(within, db.fetch_for_ids(_INPUTS, everybody, org), max)
    outputs = _usages(within, db.fetch_for_ids(_OUTPUTS, everybody, org), sum)
    found = {}
    for run, job in jobs.items():
        uuid, began, nominal_start, nominal_end, status, ended, error = outcomes[run]
        if began is None:
            continue
        steps = sorted(
            (CanonicalStepRun(actions[one], outcomes[one][4], outcomes[one][1], outcomes[one][5]))
            for one in within[run]
            if one in actions
        )
        found[run] = CanonicalRun(
            job, uuid, began, (nominal_start, nominal_end), status, ended, error,
            inputs[run], outputs[run], tuple(steps),
        )  # fmt: skip
    return found


def _beneath(
    db: Database, org: str, runs: Iterable[bytes], *, with_applications: bool
) -> tuple[dict[bytes, bytes], dict[bytes, set[bytes]]]:
    """Find the runs within runs, down to the actions of applications that they started: all of them, and actions."""
    within: dict[bytes, set[bytes]] = {run: set() for run in runs}
    of = {run: run for run in within}
    actions: dict[bytes, bytes] = {}
    level = set(within)
    for _ in range(2):
        below = set()
        for parent, run, job, *kind in db.fetch_for_ids(_BENEATH, sorted(level), org):
            if run in of:
                continue
            if is_action(*kind):
                actions[run] = job
            elif not with_applications or (kind[1] or "").upper() != _APPLICATION:
                continue  # it is shown by itself
            of[run] = of[parent]
            within[of[run]].add(run)
            below.add(run)
        level = below
    return actions, within


def _usages(
    within: dict[bytes, set[bytes]], rows: Iterable[tuple[Any, ...]], together: Callable[[list[int]], int]
) -> dict[bytes, tuple[CanonicalDatasetUsage, ...]]:
    """Tell what runs and those within them read or wrote: what each of them read is one, what it wrote adds up."""
    top = {one: run for run, found in within.items() for one in (run, *found)}
    found: dict[bytes, dict[bytes, list[tuple[Any, ...]]]] = {run: {} for run in within}
    for run, dataset, *counts in rows:
        found[top[run]].setdefault(dataset, []).append(tuple(counts))
    return {
        run: tuple(_usage(dataset, counts, together) for dataset, counts in sorted(usages.items()))
        for run, usages in found.items()
    }


def _usage(
    dataset: bytes, counts: list[tuple[Any, ...]], together: Callable[[list[int]], int]
) -> CanonicalDatasetUsage:
    rows, sizes, versions = ([value for value in column if value is not None] for column in zip(*counts, strict=True))
    return CanonicalDatasetUsage(
        dataset, together(rows) if rows else None, together(sizes) if sizes else None, min(versions, default=None)
    )
