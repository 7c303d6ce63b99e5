"""`lineage-bridge runs`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url, parse_time
from bridge.cli.output import MORE_RESULTS, OutputFormat, OutputOption, echo, escape, print_json, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.table import Column, Row, Table, short_time, text_column, time_column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from bridge.queries.query import Page
    from bridge.queries.runs import RunRecord

_LINE = "{:<19}  {:<10}  {:>8}  {:>4}  {:>12}  {:<36}  {}"
_COLUMNS = (
    time_column("STARTED (UTC)"), Column("STATUS"), Column("DURATION", right=True), Column("EXIT", right=True),
    Column("ROWS WRITTEN", right=True), Column("RUN"), text_column("JOB"),
)  # fmt: skip
#: Colors of rows on a terminal.
_COLORS = {"FAILED": "red", "STARTED": "yellow"}
_DERIVED = (
    "* derived: FAILED* reported COMPLETE, but its last action failed; UNKNOWN* reported no end before its"
    " application ended"
)
_MENTIONED = "* derived: the application reported no event, so its status and its times are those of its actions"


def runs(
    namespace: Annotated[str | None, typer.Argument(help="Job namespace (default: all jobs)")] = None,
    name: Annotated[str | None, typer.Argument(help="Job name")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of runs, and of steps per run")] = 20,
    job: Annotated[
        str | None, typer.Option(help="Only runs of jobs with this name, in any namespace", metavar="NAME")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed runs")] = False,
    since: Annotated[
        str | None, typer.Option(help="Only runs that started at this time or later (UTC)", metavar="TIME")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only runs that started before this time (UTC)", metavar="TIME")
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Show the steps (Spark actions) of each run")] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List runs, newest first, of all logical jobs or of one job."""
    if (namespace is None) != (name is None):
        raise typer.BadParameter("specify NAMESPACE and NAME of a job, or --job NAME for a job in any namespace")
    if job is not None and name is not None:
        raise typer.BadParameter("specify NAMESPACE and NAME of a job, or --job, but not both")
    if steps and name is None:
        raise typer.BadParameter("--steps requires NAMESPACE and NAME of a job")
    from bridge.queries.runs import JobRunsQuery, RunsQuery

    since_time, until_time = _parse_datetime("--since", since), _parse_datetime("--until", until)
    query: RunsQuery | JobRunsQuery
    if name is None:
        query = RunsQuery(job=job, failed=failed, since=since_time, until=until_time, limit=limit)
    else:
        query = JobRunsQuery(
            namespace=namespace, name=name, failed=failed, since=since_time, until=until_time,
            steps=limit if steps else 0, limit=limit,
        )  # fmt: skip
    history = QueryRunner(config, url, api_key).run_or_exit(query)
    if output is OutputFormat.json:
        for run in history.items:
            print_json(run)
        return
    if not history.items:
        echo("no runs", err=True)
        return
    notes = [MORE_RESULTS] if history.next else []
    if any(record.status_derived and record.reported for run in history.items for record in (run, *run.steps)):
        notes.append(_DERIVED)
    if not all(run.reported for run in history.items):
        notes.append(_MENTIONED)
    rows = [row for run in history.items for row in _table_rows(run)]
    print_result(history, _plain_lines(history, notes), as_json=False, table=lambda: Table(_COLUMNS, rows, notes))


def _parse_datetime(option: str, text: str | None) -> "datetime | None":
    from mappers.timestamps import to_datetime

    micros = parse_time(option, text)
    return None if micros is None else to_datetime(micros)


def _plain_lines(history: "Page[RunRecord]", notes: list[str]) -> "Iterator[str]":
    yield _LINE.format(*(column.header for column in _COLUMNS))
    for run in history.items:
        for row in _run_rows(run):
            yield escape(_LINE.format(*row.cells))
            yield from (escape(f"    {detail}") for detail in row.details)
        if run.more_steps:
            yield MORE_RESULTS
    yield from notes


def _table_rows(run: "RunRecord") -> list[Row]:
    """Return the rows of a run on a terminal, with a note below the last step if there are more."""
    *rows, last_row = _run_rows(run)
    notes = [MORE_RESULTS] if run.more_steps else []
    return [*rows, last_row._replace(details=[*last_row.details, *notes])]


def _run_rows(run: "RunRecord") -> "Iterator[Row]":
    """Return the rows of a run and its steps."""
    yield _row(run, f"{run.namespace} {run.job}")
    for step in run.steps:
        yield _row(step, f"  {step.step}")


def _row(run: "RunRecord", job: str) -> Row:
    """Return the row of a run and, if the run failed, the first line of the error."""
    marker = "*" if run.status_derived else ""
    status = ("running" if run.status == "STARTED" else run.status) + marker
    duration = "" if run.duration_seconds is None else _format_duration(round(run.duration_seconds * 1_000_000))
    rows = "" if run.rows_written is None else str(run.rows_written)
    activity = "" if run.end_ts else f"   (last activity {short_time(run.last_activity_ts)})"
    exit_code = "" if run.exit_code is None else str(run.exit_code)
    cells = (short_time(run.start_ts), status, duration, exit_code, rows, run.run_id, f"{job}{activity}")
    error = next((line for line in (run.error_message or "").splitlines() if line.strip()), None)
    return Row(cells, _COLORS.get(run.status), [error.strip()] if error else [])


def _format_duration(micros: int) -> str:
    """Format a duration in its two largest units or, below a minute, in seconds with a fraction."""
    seconds = micros // 1_000_000
    for unit_seconds, unit, subunit_seconds, subunit in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if seconds >= unit_seconds:
            return f"{seconds // unit_seconds}{unit}{seconds % unit_seconds // subunit_seconds:02}{subunit}"
    return f"{micros // 100_000 / 10:.1f}s"
