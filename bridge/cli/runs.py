"""`lineage-bridge runs`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url, parse_time
from bridge.cli.output import MORE_RESULTS, OutputFormat, OutputOption, echo, escape, print_json
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.queries.query import Page
    from bridge.queries.runs import RunRecord

_COLUMNS = "{:<19}  {:<10}  {:>8}  {:>4}  {:>12}  {:<36}  {}"
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
        raise typer.BadParameter("specify both NAMESPACE and NAME of a job, or neither")
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
    _print_table(history)


def _parse_datetime(option: str, text: str | None) -> "datetime | None":
    from mappers.timestamps import to_datetime

    micros = parse_time(option, text)
    return None if micros is None else to_datetime(micros)


def _print_table(history: "Page[RunRecord]") -> None:
    runs = history.items
    if not runs:
        echo("no runs", err=True)
        return
    header = _COLUMNS.format("STARTED (UTC)", "STATUS", "DURATION", "EXIT", "ROWS WRITTEN", "RUN", "JOB")
    echo(header, bold=True)
    for run in runs:
        _print_run(run, f"{run.namespace} {run.job}")
        for step in run.steps:
            _print_run(step, f"  {step.step}")
        if run.more_steps:
            echo(MORE_RESULTS)
    if history.next:
        echo(MORE_RESULTS)
    if any(record.status_derived and record.reported for run in runs for record in (run, *run.steps)):
        echo(_DERIVED)
    if not all(run.reported for run in runs):
        echo(_MENTIONED)


def _print_run(run: "RunRecord", job: str) -> None:
    """Print the table row of a run and, if the run failed, the first line of the error."""
    marker = "*" if run.status_derived else ""
    status = ("running" if run.status == "STARTED" else run.status) + marker
    duration = "" if run.duration_seconds is None else _format_duration(round(run.duration_seconds * 1_000_000))
    rows = "" if run.rows_written is None else str(run.rows_written)
    activity = "" if run.end_ts else f"   (last activity {_format_time(run.last_activity_ts)})"
    exit_code = "" if run.exit_code is None else run.exit_code
    columns = (_format_time(run.start_ts), status, duration, exit_code, rows, run.run_id, escape(job))
    echo(_COLUMNS.format(*columns) + activity, color=_COLORS.get(run.status))
    error = next((line for line in (run.error_message or "").splitlines() if line.strip()), None)
    if error:
        echo(_truncate(escape(f"    {error.strip()}")))


def _truncate(line: str) -> str:
    """Truncate a line to the width of the terminal. Lines that go to a file or pipe are not truncated."""
    import shutil
    import sys

    width = shutil.get_terminal_size().columns
    if len(line) <= width or not sys.stdout.isatty():
        return line
    return f"{line[: width - 1]}…"


def _format_time(iso: str) -> str:
    """Format a timestamp without fraction and time zone."""
    seconds, _, _ = iso.partition(".")
    return seconds.replace("T", " ")


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
