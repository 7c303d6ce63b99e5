"""`lineage-bridge process`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import MORE_RESULTS, OutputFormat, OutputOption, echo, escape, print_result
from bridge.cli.query import QueryRunner
from bridge.cli.table import Column, Row, Table, short_time, text_column, time_column
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.processes import RegisteredProcess
    from bridge.queries.runs import RunRecord

process = typer.Typer(name="process", help="Define, run and inspect processes (YAML and SQL).", no_args_is_help=True)


@process.command()
def init(
    name: Annotated[str, typer.Argument(help="Process name, e.g. sales.daily")],
    file: Annotated[Path | None, typer.Option(help="File to create (default: ./NAME.yaml)")] = None,
) -> None:
    """Create a process file from a template."""
    from bridge.process.definition import ProcessDefinition
    from bridge.process.template import render_template
    from bridge.settings.yaml_model import read_model
    from connectors.errors import ConfigError

    path = file or Path(f"{name}.yaml")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(render_template(name, str(path), str(path.parent.absolute() / "lake")))
    except FileExistsError as error:
        raise ConfigError(f"{path} already exists; choose another path with --file") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    try:
        read_model(path, ProcessDefinition)
    except ConfigError:
        path.unlink()
        raise
    echo(f"{path}: try it with `lineage-bridge process run {path}`, then edit its inputs, steps and outputs")


@process.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Process files")],
    output: OutputOption = OutputFormat.text,
) -> None:
    """Validate process files and their SQL without Spark; errors name file, line and key."""
    from bridge.process.launcher import require_process_extra

    require_process_extra()
    from bridge.process.validation import read_valid_definition
    from connectors.errors import ConfigError

    names: list[str] = []
    problems: list[str] = []
    for file in files:
        try:
            names.append(read_valid_definition(file).process.name)
        except ConfigError as error:
            problems += str(error).splitlines()
    answer = {"files": len(files), "processes": names, "problems": problems}
    counts = (
        count_of(len(files), "file"), count_of(len(names), "valid process", "valid processes"),
        count_of(len(problems), "problem"),
    )  # fmt: skip
    lines = [*problems, ", ".join(counts)]
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if problems else 0)


@process.command()
def schema() -> None:
    """Print the JSON Schema of process files (same as configs/process.schema.json)."""
    from bridge.process.definition import ProcessDefinition
    from bridge.settings.yaml_model import json_schema

    typer.echo(json_schema(ProcessDefinition, "A process file of lineage-bridge"), nl=False)


_LINE = "{:<10}  {:<9}  {:<10}  {:<19}  {:<24}  {}"
_COLUMNS = (
    Column("VERSION"), Column("TRIGGER"), Column("LAST RUN"), time_column("ENDED (UTC)"), text_column("OWNER"),
    text_column("PROCESS"),
)  # fmt: skip


def processes(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results")] = 100,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List registered processes with their last run."""
    from bridge.queries.processes import RegisteredProcessesQuery

    page = QueryRunner(config, url, api_key).run_or_exit(RegisteredProcessesQuery(limit=limit))
    as_json = output is OutputFormat.json
    if not page.items and not as_json:
        echo("no registered processes", err=True)
        return
    rows = [_process_cells(process) for process in page.items]
    notes = [MORE_RESULTS] if page.next else []
    lines = (escape(_LINE.format(*row)) for row in ([column.header for column in _COLUMNS], *rows))
    print_result(page, (*lines, *notes), as_json=as_json, table=lambda: Table(_COLUMNS, list(map(Row, rows)), notes))


def _process_cells(process: "RegisteredProcess") -> tuple[str, ...]:
    status, ended_at = _status_and_end(process.last_run)
    name = f"{process.namespace} {process.name}"
    return (
        process.version, process.trigger_mode or "-", status, ended_at, ", ".join(process.owners) or "-", name
    )  # fmt: skip


def _status_and_end(run: "RunRecord | None") -> tuple[str, str]:
    """Return the cells for status and end of the last run."""
    if run is None:
        return "never", ""
    marker = "*" if run.status_derived else ""
    status = "running" if run.status == "STARTED" else f"{run.status}{marker}"
    return status, short_time(run.end_ts)
