"""`lineage-bridge autosys`: the estate of an Autosys instance, and its history."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import OutputFormat, escape, print_result

autosys = typer.Typer(name="autosys", help="Jobs of Autosys: definitions and history.", no_args_is_help=True)

OutputOption = Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")]
JilFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Files of JIL, which are applied in this order; or folders of them."),
]
Instance = Annotated[str | None, typer.Option(help="The instance; else legacy.autosys_instance.")]


class DateOrder(StrEnum):
    """In which order dates are written."""

    mdy = "mdy"
    dmy = "dmy"
    ymd = "ymd"


@autosys.command()
def history(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="What `autorep -J % -s` or `-d` printed, or scheduler logs."),
    ],
    instance: Instance = None,
    timezone: Annotated[str, typer.Option(help="The time zone of the scheduler, such as Europe/London.")] = "UTC",
    dates: Annotated[DateOrder | None, typer.Option(help="The order of dates; else it is guessed.")] = None,
    jil: Annotated[
        list[Path] | None,
        typer.Option(help="Definitions that say in which boxes jobs lie; several times if need be."),
    ] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Take the runs that reports tell of, without touching a job; again does no harm."""
    from contextlib import closing

    from bridge.bootstrap.intake import make_event_reader, make_legacy_reader
    from bridge.bootstrap.store import make_writer
    from bridge.cli.autosys_text import history_lines
    from bridge.cli.feed import read_zone
    from bridge.intake.autorep_import import AutorepImportOptions, import_reports
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.job_events import awaited_statuses
    from mappers.legacy.jil.schedule import success_rule

    settings = load_settings(config)
    estate = read_job_catalog(jil or ())
    boxes = {job.name: estate.enclosing_boxes(job) for job in estate.jobs.values()}
    waits = {job.name: awaited_statuses(job) for job in estate.jobs.values()}
    successes = {job.name: success_rule(job) or {} for job in estate.jobs.values()}
    called = instance or settings.legacy.autosys_instance
    with closing(make_writer(settings)) as writer:
        legacy = make_legacy_reader(settings, make_event_reader(settings))
        where = AutorepImportOptions(
            called, read_zone(timezone), dates.value if dates else None, boxes, waits, successes
        )
        taken = import_reports(files, where, legacy, writer)
    print_result(taken.as_json(), map(escape, history_lines(taken)), as_json=output is OutputFormat.json)
    if taken.rejected or not taken.runs or any(": error: " in one for one in taken.problems):
        raise typer.Exit(1)


@autosys.command()
def scan(
    files: JilFiles,
    instance: Instance = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing in the store: only look.")] = False,
    retire_most: Annotated[
        bool, typer.Option("--retire-most", help="Retire jobs even where that is most of those that are known.")
    ] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Take an estate into the store: new, changed and retired jobs, with all that they wait for and speak of."""
    from contextlib import closing
    from datetime import UTC, datetime

    from bridge.bootstrap.intake import make_event_reader
    from bridge.bootstrap.store import make_writer
    from bridge.bootstrap.versions import open_version_registry
    from bridge.cli.autosys_text import estate_lines, scan_json
    from bridge.errors import StateConflict
    from bridge.intake.autosys_scan import apply_scan, plan_scan, read_job_catalog
    from bridge.versions.command import current_user
    from mappers.legacy.jil.job_events import ScanOptions
    from mappers.legacy.jil.programs import OptionConventions

    settings = load_settings(config)
    of = settings.autosys
    conventions = OptionConventions(frozenset(of.input_options), frozenset(of.output_options))
    called = instance or settings.legacy.autosys_instance
    how = ScanOptions(called, datetime.now(UTC).isoformat(), conventions, of.least_confidence)
    estate = read_job_catalog(files)
    with closing(make_writer(settings)) as writer, closing(open_version_registry(settings)) as registry:
        scanned = plan_scan(registry, estate, how.instance)
        if scanned.retires_most and not (retire_most or dry_run):
            for one in estate.problems:
                typer.echo(escape(str(one)), err=True)  # what went wrong with the files is why
            gone = f"{len(scanned.retired)} jobs of {how.instance} are not in these files, which is most of them"
            raise StateConflict(f"{gone}: were all files named, did the export end well? --retire-most retires them")
        if not dry_run:
            scanned = apply_scan(registry, make_event_reader(settings), writer, estate, how, current_user())
    told = scan_json(estate, scanned, how)
    print_result(told, map(escape, estate_lines(estate, scanned)), as_json=output is OutputFormat.json)
    if scanned.refused or any(one.level == "error" for one in estate.problems):
        raise typer.Exit(1)


@autosys.command()
def lint(
    files: JilFiles,
    instance: Annotated[
        str | None, typer.Option(help="The instance that they are of: a job of it is a job in these files.")
    ] = None,
    output: OutputOption = OutputFormat.text,
) -> None:
    """Say what is wrong with definitions: lines, conditions, jobs that never start, boxes that never end."""
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.lint import lint as look

    estate = read_job_catalog(files)
    problems = sorted([*estate.problems, *look(estate, instance)], key=lambda one: (one.file, one.line))
    errors = sum(one.level == "error" for one in problems)
    lines = [*map(str, problems), f"{len(estate.jobs)} jobs, {errors} errors, {len(problems) - errors} warnings"]
    answer = {"jobs": len(estate.jobs), "errors": errors, "problems": [one.as_json() for one in problems]}
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)
    raise typer.Exit(1 if errors else 0)


@autosys.command()
def diff(
    before: Annotated[Path, typer.Argument(help="A file or folder of JIL as it was.")],
    after: Annotated[Path, typer.Argument(help="As it is.")],
    output: OutputOption = OutputFormat.text,
) -> None:
    """Say what differs between two estates: jobs, and attributes of jobs."""
    from bridge.cli.autosys_text import difference_lines
    from bridge.intake.autosys_scan import read_job_catalog
    from mappers.legacy.jil.definition import diff_catalogs

    found = diff_catalogs(read_job_catalog([before]), read_job_catalog([after]))
    answer = {"differences": [one.as_json() for one in found]}
    print_result(answer, map(escape, difference_lines(found)), as_json=output is OutputFormat.json)
    raise typer.Exit(5 if found else 0)
