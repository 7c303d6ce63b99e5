"""Queries: runs, runs of a job, and one run."""

from typing import Annotated

import msgspec

from bridge.errors import NotFound
from bridge.queries.facets import read_facets_of
from bridge.queries.quality import CheckResult, check_results_of_run
from bridge.queries.query import MAX_PAGE_SIZE, Cursor, Limit, Page, Query, QueryContext, paginate, read_cursor
from bridge.queries.subject import JobSubjectQuery
from bridge.store.references import NodeReference, format_id, iso_or_none, node_reference, parse_id
from bridge.store.run_history import FIRST_PAGE, RunHistoryEntry, find_run, recent_runs, recent_steps
from mappers.canonical.identity import run_id
from mappers.logical_job import step_name

FailedField = Annotated[bool, msgspec.Meta(description="Only runs that failed.")]


class RunRecord(msgspec.Struct, frozen=True):
    """One run as people read it; times are UTC."""

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
    #: What the step of an application is called; null for a run that is no step.
    step: str | None = None
    #: The newest steps of a run, as many as are asked for, and whether there are more.
    steps: list["RunRecord"] = []
    more_steps: bool = False


class RunsQuery(Query[Page[RunRecord]], frozen=True, kw_only=True):
    """How runs ended, newest first: of all jobs that people know."""

    path = "/runs"
    result_type = Page[RunRecord]
    failed: FailedField = False
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[RunRecord]:
        """Read a page."""
        return _page(view, None, failed=self.failed, limit=self.limit, cursor=self.after)


class JobRunsQuery(JobSubjectQuery[Page[RunRecord]], frozen=True, kw_only=True):
    """How the runs of a job ended, newest first, with their steps if so asked."""

    path = "/runs"
    result_type = Page[RunRecord]
    failed: FailedField = False
    steps: Annotated[int, msgspec.Meta(ge=0, le=MAX_PAGE_SIZE, description="How many of the steps of each run.")] = 0
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[RunRecord]:
        """Read a page."""
        job = self.job_id(view)
        return _page(view, job, failed=self.failed, limit=self.limit, cursor=self.after, steps=self.steps)


def _page(
    view: QueryContext, job: bytes | None, *, failed: bool, limit: int, cursor: str | None, steps: int = 0
) -> Page[RunRecord]:
    behind = read_cursor(cursor, tuple[int, bytes]) or FIRST_PAGE
    found = recent_runs(view.db, view.org, limit + 1, job=job, failed=failed, behind=behind)
    runs, following = paginate(found, limit, lambda run: (run.started_at, bytes(run.run_id)))
    return Page([run_record(view, run, steps=steps) for run in runs], following)


def run_record(
    view: QueryContext, run: RunHistoryEntry, *, steps: int = 0, of: RunHistoryEntry | None = None
) -> RunRecord:
    """Give a run, or a step of one, with as many of its newest steps."""
    beneath = recent_steps(view.db, view.org, steps + 1, run.run_id) if steps else []
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
        step_name(view.rule, run.job, of.job, run.output_name) if of else None,
        [run_record(view, step, of=run) for step in beneath[:steps]],
        len(beneath) > steps,
    )


_RUN = """
SELECT r.run_id, r.job_id, r.parent_run_uuid, r.parent_job_id, r.nominal_start_time, r.nominal_end_time, r.producer,
  CASE WHEN r.least_claimant <> r.greatest_claimant THEN 1 ELSE 0 END
FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {ids} AND r.least_claimant IS NOT NULL
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
    """A dataset that a run read or wrote, in which version, and how much of it."""

    dataset: NodeReference
    version: str | None
    rows: int | None
    bytes: int | None
    files: int | None


class RunDetailsResult(msgspec.Struct, frozen=True):
    """A run with its newest steps, what it read and wrote, and what was checked in it."""

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
    """A run by the UUID that its events carry: how it ended, what it read and wrote, in which versions."""

    subject = "run"
    result_type = RunDetailsResult
    id: Annotated[str, msgspec.Meta(description="The UUID of the run.", min_length=1, max_length=64)]

    def run(self, view: QueryContext) -> RunDetailsResult:
        """Look it up."""
        own = run_id(view.org, format_id(parse_id(self.id)))
        rows = view.db.fetch_for_ids(_RUN, [own], view.org)
        found = find_run(view.db, view.org, own)
        if not rows or found is None:
            raise NotFound(f"no run {self.id} in the store")
        run, job, parent, parent_job, nominal_start, nominal_end, producer, disputed = rows[0]
        jobs = view.graph().job_names(one for one in (job, parent_job) if one)
        return RunDetailsResult(
            run=run_record(view, found, steps=_SHOWN_STEPS),
            job=node_reference(job, jobs[job]),
            parent_run_id=parent,
            parent_job=node_reference(parent_job, jobs[parent_job]) if parent_job else None,
            nominal_start=iso_or_none(nominal_start),
            nominal_end=iso_or_none(nominal_end),
            producer=producer,
            claim_disputed=bool(disputed),
            inputs=_touched(view, _READ, run),
            outputs=_touched(view, _WRITTEN, run),
            quality=check_results_of_run(view, run),
            facets=read_facets_of(view, run),
        )


def _touched(view: QueryContext, sql: str, run: bytes) -> list[DatasetUsageResult]:
    """Give what a run touched; what was told under several names of a dataset, or by several jobs, once."""
    found: dict[bytes, tuple[str | int | None, ...]] = {}
    for dataset, *said in view.db.fetch_all(sql, view.org, run):
        known = found.get(dataset, (None,) * len(said))
        found[dataset] = tuple(old if old is not None else new for old, new in zip(known, said, strict=True))
    names = view.graph().dataset_names(found)
    return [
        DatasetUsageResult(node_reference(dataset, names[dataset]), *found[dataset])  # type: ignore[arg-type] # rows are untyped
        for dataset in sorted(found, key=lambda dataset: names[dataset])
    ]
