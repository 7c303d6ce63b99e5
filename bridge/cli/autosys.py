"""`lineage-bridge autosys`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result
from mappers.counts import count_of

autosys = typer.Typer(
    name="autosys", help="Import Autosys job definitions (JIL) and run history.", no_args_is_help=True
)

JilFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="JIL files or directories, applied in this order"),
]
Instance = Annotated[str | None, typer.Option(help="Autosys instance (default: legacy.autosys_instance)")]


class DateOrder(StrEnum):
    """Order of day, month and year in a date."""

    mdy = "mdy"
    dmy = "dmy"
    ymd = "ymd"


@autosys.command()
def history(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Output of `autorep -J % -s` or `-d`, or scheduler logs"),
    ],
    instance: Instance = None,
    timezone: Annotated[str, typer.Option(help="Time zone of the scheduler, e.g. Europe/London")] = "UTC",
    dates: Annotated[DateOrder | None, typer.Option(help="Date order: mdy, dmy or ymd (default: detected)")] = None,
    jil: Annotated[
        list[Path] | None,
        typer.Option(help="JIL files that define the boxes of the jobs; repeatable"),
    ] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Import run history from autorep reports and scheduler logs (idempotent)."""
    from contextlib import closing

    from bridge.bootstrap.intake import make_event_reader, make_legacy_reader
    from bridge.bootstrap.store import make_writer
    from bridge.cli.autosys_text import history_lines
    from bridge.cli.feed import parse_time_zone
    from bridge.intake.autorep_import import AutorepImportOptions, import_reports
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.job_events import awaited_statuses
    from mappers.legacy.jil.schedule import success_rule

    settings = load_settings(config)
    catalog = read_job_catalog(jil or ())
    boxes = {job.name: catalog.enclosing_boxes(job) for job in catalog.jobs.values()}
    awaited_by_job = {job.name: awaited_statuses(job) for job in catalog.jobs.values()}
    success_rules = {job.name: success_rule(job) or {} for job in catalog.jobs.values()}
    instance_name = instance or settings.legacy.autosys_instance
    with closing(make_writer(settings)) as writer:
        legacy = make_legacy_reader(settings, make_event_reader(settings))
        options = AutorepImportOptions(
            instance_name,
            parse_time_zone(timezone),
            dates.value if dates else None,
            boxes,
            awaited_by_job,
            success_rules,
        )
        result = import_reports(files, options, legacy, writer)
    print_result(result.as_json(), map(escape, history_lines(result)), as_json=output is OutputFormat.json)
    if result.rejected or not result.runs or any(": error: " in problem for problem in result.problems):
        raise typer.Exit(1)


@autosys.command()
def scan(
    files: JilFiles,
    instance: Instance = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show changes without writing to the store")] = False,
    retire_most: Annotated[
        bool, typer.Option("--retire-most", help="Allow retiring more than half of the known jobs")
    ] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Import job definitions from JIL: new, changed and retired jobs with dependencies and datasets."""
    from contextlib import closing
    from datetime import UTC, datetime

    from bridge.bootstrap.intake import make_event_reader
    from bridge.bootstrap.store import make_writer
    from bridge.bootstrap.versions import open_version_registry
    from bridge.cli.autosys_text import catalog_lines, scan_json
    from bridge.errors import StateConflict
    from bridge.intake.autosys_scan import apply_scan, plan_scan, read_job_catalog
    from bridge.versions.command import current_user
    from mappers.legacy.jil.job_events import ScanOptions
    from mappers.legacy.jil.programs import OptionConventions

    settings = load_settings(config)
    autosys_settings = settings.autosys
    conventions = OptionConventions(
        frozenset(autosys_settings.input_options), frozenset(autosys_settings.output_options)
    )
    instance_name = instance or settings.legacy.autosys_instance
    options = ScanOptions(
        instance_name, datetime.now(UTC).isoformat(), conventions, autosys_settings.least_confidence
    )
    catalog = read_job_catalog(files)
    with closing(make_writer(settings)) as writer, closing(open_version_registry(settings)) as registry:
        result = plan_scan(registry, catalog, options.instance)
        if result.retires_most and not (retire_most or dry_run):
            for problem in catalog.problems:
                echo(escape(str(problem)), err=True)  # parse errors explain the missing jobs
            message = f"these files lack {count_of(len(result.retired), 'job')} of {options.instance}, more than half"
            raise StateConflict(
                f"{message}: check that the export is complete; --retire-most retires the jobs anyway"
            )
        if not dry_run:
            result = apply_scan(registry, make_event_reader(settings), writer, catalog, options, current_user())
    answer = scan_json(catalog, result, options)
    lines = catalog_lines(catalog, result, options.instance)
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    if result.refused or any(problem.level == "error" for problem in catalog.problems):
        raise typer.Exit(1)


@autosys.command()
def lint(
    files: JilFiles,
    instance: Annotated[
        str | None, typer.Option(help="Autosys instance of these files; its jobs must be defined in them")
    ] = None,
    output: OutputOption = OutputFormat.text,
) -> None:
    """Report problems in JIL: syntax, conditions, jobs that never start, boxes that never end."""
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.definition_checks import incomplete_definitions
    from mappers.legacy.jil.lint import lint as find_problems

    catalog = read_job_catalog(files)
    problems = sorted(
        [*catalog.problems, *find_problems(catalog, instance), *incomplete_definitions(catalog)],
        key=lambda problem: (problem.file, problem.line),
    )
    error_count = sum(problem.level == "error" for problem in problems)
    warning_count = len(problems) - error_count
    counts = (
        count_of(len(catalog.jobs), "job"), count_of(error_count, "error"), count_of(warning_count, "warning")
    )  # fmt: skip
    lines = [*map(str, problems), ", ".join(counts)]
    answer = {
        "jobs": len(catalog.jobs),
        "errors": error_count,
        "problems": [problem.as_json() for problem in problems],
    }
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if error_count else 0)


@autosys.command()
def diff(
    before: Annotated[Path, typer.Argument(help="Old JIL file or directory")],
    after: Annotated[Path, typer.Argument(help="New JIL file or directory")],
    output: OutputOption = OutputFormat.text,
) -> None:
    """Compare two sets of JIL by job and attribute (exit code 5 if they differ)."""
    from bridge.cli.autosys_text import difference_lines
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.definition import diff_catalogs

    changes = diff_catalogs(read_job_catalog([before]), read_job_catalog([after]))
    answer = {"differences": [change.as_json() for change in changes]}
    print_result(answer, map(escape, difference_lines(changes)), as_json=output is OutputFormat.json)
    raise typer.Exit(5 if changes else 0)
