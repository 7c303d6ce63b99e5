"""How runs ended: of all jobs that people know, or of one."""

from typing import Annotated

import msgspec

from bridge.catalogue.question import MOST_A_PAGE, After, Limit, Page, Question, View, after, page
from bridge.catalogue.things import AboutProcess
from bridge.store.runs import NEWEST, Run, newest_runs, newest_steps
from mappers.folding import step_name

Failed = Annotated[bool, msgspec.Meta(description="Only runs that failed.")]


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


class Runs(Question[Page[RunRecord]], frozen=True, kw_only=True):
    """How runs ended, newest first: of all jobs that people know."""

    path = "/runs"
    answer = Page[RunRecord]
    failed: Failed = False
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[RunRecord]:
        """Read a page."""
        return _page(view, None, failed=self.failed, limit=self.limit, cursor=self.after)


class ProcessRuns(AboutProcess[Page[RunRecord]], frozen=True, kw_only=True):
    """How the runs of a job ended, newest first, with their steps if so asked."""

    path = "/runs"
    answer = Page[RunRecord]
    failed: Failed = False
    steps: Annotated[int, msgspec.Meta(ge=0, le=MOST_A_PAGE, description="How many of the steps of each run.")] = 0
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[RunRecord]:
        """Read a page."""
        job = self.job(view)
        return _page(view, job, failed=self.failed, limit=self.limit, cursor=self.after, steps=self.steps)


def _page(
    view: View, job: bytes | None, *, failed: bool, limit: int, cursor: str | None, steps: int = 0
) -> Page[RunRecord]:
    behind = after(cursor, tuple[int, bytes]) or NEWEST
    found = newest_runs(view.db, view.org, limit + 1, job=job, failed=failed, behind=behind)
    runs, following = page(found, limit, lambda run: (run.began, bytes(run.run_id)))
    return Page([tell_run(view, run, steps=steps) for run in runs], following)


def tell_run(view: View, run: Run, *, steps: int = 0, of: Run | None = None) -> RunRecord:
    """Give a run, or a step of one, with as many of its newest steps."""
    beneath = newest_steps(view.db, view.org, steps + 1, run.run_id) if steps else []
    return RunRecord(
        run.run_uuid,
        run.namespace,
        run.job,
        run.status,
        run.status_derived,
        run.start_ts,
        run.end_ts,
        None if run.lasted is None else run.lasted / 1_000_000,
        run.last_activity_ts,
        run.rows_written,
        run.error_message,
        step_name(view.rule, run.job, of.job, run.wrote) if of else None,
        [tell_run(view, step, of=run) for step in beneath[:steps]],
        len(beneath) > steps,
    )
