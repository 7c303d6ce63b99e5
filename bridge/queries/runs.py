"""Queries: runs, runs of a job, and one run."""

from datetime import datetime
from typing import Annotated

import msgspec

from bridge.errors import NotFound
from bridge.queries.facets import read_received_facets
from bridge.queries.quality import CheckResult, check_results_of_run
from bridge.queries.query import MAX_PAGE_SIZE, Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from bridge.queries.subject import JobSubjectQuery
from bridge.store.references import NodeReference, format_id, iso_or_none, node_reference, parse_id
from bridge.store.run_history import (
    FIRST_PAGE,
    RunHistoryEntry,
    find_jobs,
    find_run,
    recent_runs,
    recent_steps,
)
from mappers.canonical.identity import run_id
from mappers.logical_job import step_name
from mappers.timestamps import from_datetime

FailedField = Annotated[bool, msgspec.Meta(description="Only failed runs.")]
JobNameField = Annotated[
    str, msgspec.Meta(description="Only runs of jobs with this name, in any namespace.", min_length=1)
]
_TIME_SCHEMA = {"format": "date-time"}
SinceField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Only runs that started then or later; UTC unless it has a time zone.",
        extra_json_schema=_TIME_SCHEMA,
    ),
]
UntilField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Only runs that started before then; UTC unless it has a time zone.",
        extra_json_schema=_TIME_SCHEMA,
    ),
]


class RunRecord(msgspec.Struct, frozen=True):
    """A run; times are in UTC."""

    run_id: str
    namespace: str
    job: str
    status: str
    status_derived: bool
    start_ts: str
    end_ts: str | None
    duration_seconds: float | None
    last_activity_ts: str
    rows_written: int | None
    error_message: str | None
    #: Name of a step of an application; null for a run that is not a step.
    step: str | None = None
    #: The newest steps of a run, up to the requested number, and whether there are more.
    steps: list["RunRecord"] = []
    more_steps: bool = False
    #: Exit code of the command, if the producer reports it.
    exit_code: int | None = None
    #: False for an application that was only mentioned: its status and its times are those of its actions.
    reported: bool = True


class RunsQuery(Query[Page[RunRecord]], frozen=True, kw_only=True):
    """Runs of all logical jobs, or of the jobs with a name, newest first."""

    path = "/runs"
    result_type = Page[RunRecord]
    job: JobNameField | None = None
    failed: FailedField = False
    since: SinceField = None
    until: UntilField = None
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[RunRecord]:
        jobs = None if self.job is None else find_jobs(ctx.db, ctx.org, self.job)
        if jobs == []:
            raise NotFound(f"no job {self.job!r} in the store")
        return _run_page(ctx, self, jobs)


class JobRunsQuery(JobSubjectQuery[Page[RunRecord]], frozen=True, kw_only=True):
    """Runs of a job, newest first, optionally with their steps."""

    path = "/runs"
    result_type = Page[RunRecord]
    failed: FailedField = False
    since: SinceField = None
    until: UntilField = None
    steps: Annotated[int, msgspec.Meta(ge=0, le=MAX_PAGE_SIZE, description="Maximum number of steps per run.")] = 0
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[RunRecord]:
        return _run_page(ctx, self, [self.job_id(ctx)], self.steps)


def _run_page(
    ctx: QueryContext, query: RunsQuery | JobRunsQuery, jobs: list[bytes] | None, max_steps: int = 0
) -> Page[RunRecord]:
    """Read a page of the runs of some jobs, or of all logical jobs."""
    after = parse_cursor(query.after, tuple[int, bytes]) or FIRST_PAGE
    entries = recent_runs(
        ctx.db, ctx.org, query.limit + 1, jobs=jobs, failed=query.failed,
        since=_to_micros(query.since), until=_to_micros(query.until), cursor=after,
    )  # fmt: skip
    page, next_cursor = paginate(entries, query.limit, lambda entry: (entry.started_at, bytes(entry.position)))
    return Page([run_record(ctx, entry, max_steps=max_steps) for entry in page], next_cursor)


def _to_micros(time: datetime | None) -> int | None:
    return None if time is None else from_datetime(time)


def run_record(
    ctx: QueryContext, run: RunHistoryEntry, *, max_steps: int = 0, application: RunHistoryEntry | None = None
) -> RunRecord:
    """Build the record of a run with its newest steps, or the record of a step of an application."""
    step_entries = recent_steps(ctx.db, ctx.org, max_steps + 1, run.run_id) if max_steps else []
    return RunRecord(
        run.run_uuid,
        run.namespace,
        run.job,
        run.status,
        run.status_derived,
        run.start_ts,
        run.end_ts,
        None if run.duration_us is None else run.duration_us / 1_000_000,
        run.last_activity_ts,
        run.rows_written,
        run.error_message,
        step_name(ctx.rule, run.job, application.job, run.output_name) if application else None,
        [run_record(ctx, step, application=run) for step in step_entries[:max_steps]],
        len(step_entries) > max_steps,
        run.exit_code,
        run.reported,
    )


_RUN = """
SELECT r.run_id, r.job_id, r.parent_run_uuid, r.parent_job_id, r.nominal_start_time, r.nominal_end_time, r.producer,
  CASE WHEN r.least_claimant <> r.greatest_claimant THEN 1 ELSE 0 END
FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {ids}
"""
_READ = """
SELECT d.class_id, i.version, i.row_count, i.byte_count, i.file_count FROM ol_run_input i
JOIN ol_dataset d ON d.org_id = i.org_id AND d.dataset_id = i.dataset_id
WHERE i.org_id = ?1 AND i.run_id = ?2 ORDER BY d.class_id, i.dataset_id, i.job_id
"""
_WRITTEN = """
SELECT d.class_id, v.version_tag, v.row_count, v.byte_count, v.file_count FROM ol_run_output o
JOIN ol_dataset d ON d.org_id = o.org_id AND d.dataset_id = o.dataset_id
LEFT JOIN dataset_version v ON v.org_id = o.org_id AND v.dataset_id = o.dataset_id AND v.writer_id = o.run_id
WHERE o.org_id = ?1 AND o.run_id = ?2 ORDER BY d.class_id, o.dataset_id, o.job_id
"""
_SHOWN_STEPS = 200


class DatasetUsageResult(msgspec.Struct, frozen=True):
    """A dataset that a run read or wrote, with version and size."""

    dataset: NodeReference
    version: str | None
    rows: int | None
    bytes: int | None
    files: int | None


class RunDetailsResult(msgspec.Struct, frozen=True):
    """A run with its newest steps, its inputs and outputs, and its check results."""

    run: RunRecord
    job: NodeReference
    parent_run_id: str | None
    parent_job: NodeReference | None
    nominal_start: str | None
    nominal_end: str | None
    producer: str | None
    #: Whether several jobs claim the run.
    claim_disputed: bool
    inputs: list[DatasetUsageResult]
    outputs: list[DatasetUsageResult]
    quality: list[CheckResult]
    facets: dict[str, msgspec.Raw]


class RunQuery(Query[RunDetailsResult], frozen=True, kw_only=True):
    """A run by the UUID in its events: its outcome, and the versions that it read and wrote."""

    subject = "run"
    result_type = RunDetailsResult
    id: Annotated[str, msgspec.Meta(description="The UUID of the run.", min_length=1, max_length=64)]

    def run(self, ctx: QueryContext) -> RunDetailsResult:
        run_key = run_id(ctx.org, format_id(parse_id(self.id)))
        rows = ctx.db.fetch_for_ids(_RUN, [run_key], ctx.org)
        entry = find_run(ctx.db, ctx.org, run_key)
        if not rows or entry is None:
            raise NotFound(f"no run {self.id} in the store")
        ((run, job, parent_run_id, parent_job, nominal_start, nominal_end, producer, is_disputed),) = rows
        job_names = ctx.graph().job_names(job_id for job_id in (job, parent_job) if job_id)
        return RunDetailsResult(
            run=run_record(ctx, entry, max_steps=_SHOWN_STEPS),
            job=node_reference(job, job_names[job]),
            parent_run_id=parent_run_id,
            parent_job=node_reference(parent_job, job_names[parent_job]) if parent_job else None,
            nominal_start=iso_or_none(nominal_start),
            nominal_end=iso_or_none(nominal_end),
            producer=producer,
            claim_disputed=bool(is_disputed),
            inputs=_dataset_usage(ctx, _READ, run),
            outputs=_dataset_usage(ctx, _WRITTEN, run),
            quality=check_results_of_run(ctx, run),
            facets=read_received_facets(ctx, run),
        )


def _dataset_usage(ctx: QueryContext, sql: str, run: bytes) -> list[DatasetUsageResult]:
    """List each dataset of a run once, although several jobs may report the dataset under several names.

    Of each value, such as the row count, the first that is known is used.
    """
    values_by_dataset: dict[bytes, list[str | int | None]] = {}
    for dataset, *reported_values in ctx.db.fetch_all(sql, ctx.org, run):
        earlier_values = values_by_dataset.get(dataset, [None] * len(reported_values))
        values_by_dataset[dataset] = [
            reported if earlier is None else earlier
            for earlier, reported in zip(earlier_values, reported_values, strict=True)
        ]
    names = ctx.graph().dataset_names(values_by_dataset)
    return [
        DatasetUsageResult(node_reference(dataset, names[dataset]), *values_by_dataset[dataset])  # type: ignore[arg-type] # rows are untyped
        for dataset in sorted(values_by_dataset, key=lambda dataset: names[dataset])
    ]
