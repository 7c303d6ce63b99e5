"""`lineage-bridge runs`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, Output, load

if TYPE_CHECKING:
    from bridge.settings import Settings
    from bridge.store.database import Database
    from bridge.store.runs import Run

_COLUMNS = "{:<19}  {:<10}  {:>8}  {:>12}  {}"
_DERIVED = (
    "* derived: FAILED* reported COMPLETE, but its last action failed; UNKNOWN* reported no end before its"
    " application ended"
)
_MORE = "… there is more: raise --limit"


def runs(
    namespace: Annotated[str | None, typer.Argument(help="The job's namespace, with NAME; all jobs without.")] = None,
    name: Annotated[str | None, typer.Argument(help="The job's name.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many runs, and how many steps of each.")] = 20,
    failed: Annotated[bool, typer.Option("--failed", help="Only runs that failed.")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="Show the actions of each run of the job.")] = False,
    output: Annotated[Output, typer.Option(help="A table, or JSON lines.")] = Output.text,
    config: Config = None,
) -> None:
    """Show how runs ended, newest first: of all jobs that people know, or of one."""
    if (namespace is None) != (name is None):
        raise typer.BadParameter("give a job's namespace and its name, or neither")
    if steps and name is None:
        raise typer.BadParameter("--steps shows the steps of one job: give its namespace and name")
    settings = load(config)
    from bridge.bootstrap import open_store

    db = open_store(settings)
    job = _find(db, settings, namespace, name)
    history = list(_history(db, settings.org, limit, job, failed=failed, steps=steps))
    for line in _json(history, limit) if output is Output.json else _table(history, limit, settings):
        typer.echo(line)


def _find(db: "Database", settings: "Settings", namespace: str | None, name: str | None) -> bytes | None:
    from bridge.store.runs import find_job

    if namespace is None or name is None:
        return None
    job = find_job(db, settings.org, namespace, name)
    if job is None:
        typer.echo(f"error: no job {name!r} in namespace {namespace!r} in the store", err=True)
        raise typer.Exit(1)
    return job


def _history(
    db: "Database", org: str, limit: int, job: bytes | None, *, failed: bool, steps: bool
) -> "Iterator[tuple[Run, list[Run]]]":
    """Give runs with their steps; one more of each than asked for tells that there are more."""
    from bridge.store.runs import newest_runs, newest_steps

    for run in newest_runs(db, org, limit + 1, job=job, failed=failed):
        yield run, newest_steps(db, org, limit + 1, run.run_id) if steps else []


def _table(history: "list[tuple[Run, list[Run]]]", limit: int, settings: "Settings") -> Iterator[str]:
    from bridge.bootstrap import folding_rule
    from mappers.folding import step_name

    rule = folding_rule(settings)
    if not history:
        typer.echo("no runs to show", err=True)
        return
    yield _COLUMNS.format("BEGAN (UTC)", "STATUS", "LASTED", "ROWS WRITTEN", "JOB")
    for run, steps in history[:limit]:
        yield from _lines(run, f"{run.namespace} {run.job}")
        for step in steps[:limit]:
            yield from _lines(step, f"  {step_name(rule, step.job, run.job, step.wrote)}")
        if len(steps) > limit:
            yield _MORE
    if len(history) > limit:
        yield _MORE
    if any(shown.status_derived for run, steps in history[:limit] for shown in (run, *steps[:limit])):
        yield _DERIVED


def _lines(run: "Run", job: str) -> Iterator[str]:
    """Give a line of the table, and one with the beginning of the error."""
    from bridge.cli.escape import escape

    status = "running" if run.status == "STARTED" else run.status + "*" * run.status_derived
    lasted = "" if run.lasted is None else _duration(run.lasted)
    rows = "" if run.rows_written is None else str(run.rows_written)
    alive = "" if run.end_ts else f"   (last activity {_moment(run.last_activity_ts)})"
    yield _COLUMNS.format(_moment(run.start_ts), status, lasted, rows, escape(job)) + alive
    said = next((line for line in (run.error_message or "").splitlines() if line.strip()), None)
    if said:
        yield _fitting(escape(f"    {said.strip()}"))


def _fitting(line: str) -> str:
    """Cut a line to the width of the terminal; elsewhere it stays whole."""
    import shutil
    import sys

    width = shutil.get_terminal_size().columns
    return line if len(line) <= width or not sys.stdout.isatty() else f"{line[: width - 1]}…"


def _moment(iso: str) -> str:
    return iso.partition(".")[0].replace("T", " ")


def _duration(micros: int) -> str:
    seconds = micros // 1_000_000
    for size, unit, part, smaller in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // part:02}{smaller}"
    return f"{micros // 100_000 / 10:.1f}s"


def _json(history: "list[tuple[Run, list[Run]]]", limit: int) -> Iterator[str]:
    for run, steps in history[:limit]:
        yield _record(run, None)
        yield from (_record(step, run.run_uuid) for step in steps[:limit])


def _record(run: "Run", step_of: str | None) -> str:
    import json

    return json.dumps({
        "run_id": run.run_uuid, "namespace": run.namespace, "job": run.job, "step_of": step_of,
        "status": run.status, "status_derived": run.status_derived,
        "start_ts": run.start_ts, "end_ts": run.end_ts,
        "duration_seconds": None if run.lasted is None else run.lasted / 1_000_000,
        "last_activity_ts": run.last_activity_ts, "rows_written": run.rows_written,
        "error_message": run.error_message,
    })  # fmt: skip
