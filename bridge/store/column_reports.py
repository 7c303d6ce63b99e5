"""Assigns every report of column lineage to the application run that it counts for."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from bridge.store.database import Database, Insert
from mappers.canonical.identity import NO_ID, digest
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import JobRow, RunLineageRow, RunRow
from mappers.logical_job import is_action

#: Target, job and run of a report. Declarations have NO_ID as their run.
ReportKey = tuple[bytes, bytes, bytes]
#: A target, and an application that reports its column lineage.
TargetPair = tuple[bytes, bytes]

_NEVER = -(1 << 63)
_SUCCESS = "COMPLETE"
_OF_RUNS = """
SELECT c.target_id, c.application_id, c.succeeded, c.run_start, c.unit_id, c.job_id, c.run_id, c.content
FROM column_report c WHERE c.org_id = ?1 AND c.run_id {ids}
"""
_OF_DECLARATIONS = """
SELECT c.target_id, c.application_id, c.succeeded, c.run_start, c.unit_id, c.job_id, c.run_id, c.content
FROM {keys} g
JOIN column_report c ON c.target_id = g.a AND c.application_id = g.b AND c.run_id = g.c AND c.org_id = ?1
"""
_OF_JOBS = "SELECT target_id, job_id, run_id FROM column_report WHERE org_id = ?1 AND job_id {ids}"
_DECLARED_TARGETS = """
SELECT DISTINCT target_id, job_id, unit_id FROM column_head WHERE org_id = ?1 AND job_id {ids} AND unit_id = ?2
"""
_FACTS = """
SELECT l.target_id, l.job_id, l.run_id, l.explicit, l.columns_set, l.columns_order,
  r.started_at, r.event_type, r.parent_run_id, r.parent_job_id,
  j.job_id, j.integration, j.job_type, j.declared_io, j.declared_lineage
FROM {keys} g
JOIN run_lineage l ON l.target_id = g.a AND l.job_id = g.b AND l.run_id = g.c AND l.org_id = ?1
LEFT JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
LEFT JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
"""
_EXPLICIT_SETS = """
SELECT e.target_id, e.job_id, e.run_id, e.set_id FROM {keys} g
JOIN run_explicit e ON e.target_id = g.a AND e.job_id = g.b AND e.run_id = g.c AND e.org_id = ?1
"""
_DELETE = """
DELETE FROM column_report WHERE org_id = ?1 AND target_id = ?2 AND application_id = ?3 AND succeeded = ?4
  AND run_start = ?5 AND unit_id = ?6 AND job_id = ?7 AND run_id = ?8
"""
_INSERT = Insert(
    "column_report",
    {
        "org_id": str, "target_id": bytes, "application_id": bytes, "succeeded": bool, "run_start": int,
        "unit_id": bytes, "job_id": bytes, "run_id": bytes, "content": bytes,
    },
    "ON CONFLICT DO NOTHING",
)  # fmt: skip


class ColumnReport(NamedTuple):
    """The column lineage of a target that a run reported, and the application run that it counts for.

    The application run is the parent of an action of a Spark application, and the run itself otherwise.
    """

    target: bytes
    application: bytes
    succeeded: bool
    run_start: int
    #: The application run; NO_ID for a declaration.
    unit: bytes
    job: bytes
    run: bytes
    #: Hash of `sets`.
    content: bytes
    #: The reported sets of column lineage; empty if a newer declaration replaced them, or if not read.
    sets: tuple[bytes, ...] = ()

    @property
    def key(self) -> ReportKey:
        return self.target, self.job, self.run

    @property
    def pair(self) -> TargetPair:
        return self.target, self.application


class ReportChange(NamedTuple):
    """A report as it was stored, and as it is now."""

    before: ColumnReport | None
    after: ColumnReport | None


class ColumnReports:
    """Maintains the table `column_report`, which is derived from reports, runs and jobs."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def affected_keys(self, changes: Reducer, retyped_jobs: set[bytes]) -> set[ReportKey]:
        """Return the reports in the changes, and stored ones whose job or declaration the changes concern."""
        keys = {(row.target_id, row.job_id, row.run_id) for row in changes.rows(RunLineageRow)}
        declaring_jobs = [row.job_id for row in changes.rows(JobRow) if row.declared_io or row.declared_lineage]
        keys.update(self._db.fetch_for_ids(_DECLARED_TARGETS, declaring_jobs, self._org, NO_ID))
        keys.update(self._db.fetch_for_ids(_OF_JOBS, sorted(retyped_jobs), self._org))
        return keys

    def find_changes(self, keys: set[ReportKey], changes: Reducer) -> list[ReportChange]:
        """Compare stored reports, those of changed runs included, with what runs and jobs now imply."""
        runs = {run for _, _, run in keys} | {row.run_id for row in changes.rows(RunRow)}
        stored = {report.key: report for report in self._stored(runs - {NO_ID}, keys)}
        current = {report.key: report for report in self.read(keys | stored.keys())}
        return [
            ReportChange(stored.get(key), current.get(key))
            for key in sorted(stored.keys() | current.keys())
            if stored.get(key) != _without_sets(current.get(key))
        ]

    def save(self, report_changes: Iterable[ReportChange]) -> None:
        before = [change.before for change in report_changes if change.before]
        after = [change.after for change in report_changes if change.after]
        self._db.execute_many(_DELETE, [(self._org, *report[:7]) for report in before])
        self._db.insert(_INSERT, [(self._org, *report[:8]) for report in after])

    def read(self, keys: Collection[ReportKey]) -> list[ColumnReport]:
        """Derive reports from runs, jobs and what runs reported."""
        rows = self._db.fetch_for_keys(_FACTS, sorted(keys), self._org)
        explicit_keys = [row[:3] for row in rows if row[3]]
        explicit_sets: dict[tuple[bytes, ...], list[bytes]] = {}
        for *key, set_id in self._db.fetch_for_keys(_EXPLICIT_SETS, explicit_keys, self._org):
            explicit_sets.setdefault(tuple(key), []).append(set_id)
        return [_derive_report(*row, explicit_sets=explicit_sets.get(row[:3], [])) for row in rows]

    def _stored(self, runs: set[bytes], keys: Iterable[ReportKey]) -> Iterator[ColumnReport]:
        rows = self._db.fetch_for_ids(_OF_RUNS, sorted(runs), self._org)
        declarations = sorted(key for key in keys if key[2] == NO_ID)
        rows += self._db.fetch_for_keys(_OF_DECLARATIONS, declarations, self._org)
        for target, application, succeeded, *others in rows:
            yield ColumnReport(target, application, bool(succeeded), *others)


def _without_sets(report: ColumnReport | None) -> ColumnReport | None:
    return report and report._replace(sets=())


def _derive_report(
    target: bytes,
    job: bytes,
    run: bytes,
    explicit: Any,
    columns_set: bytes | None,
    columns_order: bytes | None,
    started_at: int | None,
    event_type: str | None,
    parent_run: bytes | None,
    parent_job: bytes | None,
    known_job: bytes | None,
    integration: str | None,
    job_type: str | None,
    declared_io: bytes | None,
    declared_lineage: bytes | None,
    *,
    explicit_sets: Iterable[bytes],
) -> ColumnReport:
    sets = tuple(sorted(explicit_sets)) if explicit else (columns_set,) if columns_set else ()
    declared = columns_order if run == NO_ID and known_job else None
    if declared and declared_io != declared[1:] and declared_lineage != declared:
        sets = ()  # a newer declaration of the job replaced this one
    application, unit = job, run
    if parent_run and parent_job and is_action(integration, job_type):
        application, unit = parent_job, parent_run
    start = _NEVER if started_at is None else started_at
    return ColumnReport(
        target, application, event_type == _SUCCESS, start, unit, job, run, digest(b"".join(sets)), sets
    )
