"""`lineage-bridge autosys`: the estate of an Autosys instance, and its history."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import Config, Output, load, print_answer

autosys = typer.Typer(name="autosys", help="Jobs of Autosys: definitions and history.", no_args_is_help=True)

Printed = Annotated[Output, typer.Option(help="For people, or one JSON object.")]
JilFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Files of JIL, which are applied in this order; or folders of them."),
]
Instance = Annotated[str | None, typer.Option(help="The instance; else legacy.autosys_instance.")]


class Dates(StrEnum):
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
    dates: Annotated[Dates | None, typer.Option(help="The order of dates; else it is guessed.")] = None,
    jil: Annotated[
        list[Path] | None,
        typer.Option(help="Definitions that say in which boxes jobs lie; several times if need be."),
    ] = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Take the runs that reports tell of, without touching a job; again does no harm."""
    from contextlib import closing

    from bridge.bootstrap import make_legacy_reader, make_reader, make_writer
    from bridge.cli.autosys_text import history_lines
    from bridge.cli.feed import read_zone
    from bridge.intake.definitions import read_estate
    from bridge.intake.reports import Where, take_reports
    from mappers.legacy.jil.events import statuses_waited_for
    from mappers.legacy.jil.schedule import success_of

    settings = load(config)
    estate = read_estate(jil or ())
    boxes = {job.name: estate.boxes_of(job) for job in estate.jobs.values()}
    waits = {job.name: statuses_waited_for(job) for job in estate.jobs.values()}
    successes = {job.name: success_of(job) or {} for job in estate.jobs.values()}
    called = instance or settings.legacy.autosys_instance
    with closing(make_writer(settings)) as writer:
        legacy = make_legacy_reader(settings, make_reader(settings))
        where = Where(called, read_zone(timezone), dates.value if dates else None, boxes, waits, successes)
        taken = take_reports(files, where, legacy, writer)
    print_answer(taken._asdict(), map(escape, history_lines(taken)), as_json=output is Output.json)
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
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Take an estate into the store: new, changed and retired jobs, with all that they wait for and speak of."""
    from contextlib import closing
    from datetime import UTC, datetime

    from bridge.bootstrap import make_reader, make_writer, open_registry
    from bridge.cli.autosys_text import estate_lines, estate_told
    from bridge.intake.definitions import read_estate
    from bridge.intake.scanning import compare, take_estate
    from bridge.orders.signer import user
    from mappers.errors import Conflict
    from mappers.legacy.jil.events import Telling
    from mappers.legacy.jil.programs import Conventions

    settings = load(config)
    of = settings.autosys
    conventions = Conventions(frozenset(of.input_options), frozenset(of.output_options))
    called = instance or settings.legacy.autosys_instance
    how = Telling(called, datetime.now(UTC).isoformat(), conventions, of.least_confidence)
    estate = read_estate(files)
    with closing(make_writer(settings)) as writer, closing(open_registry(settings)) as registry:
        scanned = compare(registry, estate, how.instance)
        if scanned.most_retired and not (retire_most or dry_run):
            for one in estate.problems:
                typer.echo(escape(str(one)), err=True)  # what went wrong with the files is why
            gone = f"{len(scanned.retired)} jobs of {how.instance} are not in these files, which is most of them"
            raise Conflict(f"{gone}: were all files named, did the export end well? --retire-most retires them")
        if not dry_run:
            scanned = take_estate(registry, make_reader(settings), writer, estate, how, user())
    told = estate_told(estate, scanned, how)
    print_answer(told, map(escape, estate_lines(estate, scanned)), as_json=output is Output.json)
    if scanned.refused or any(one.level == "error" for one in estate.problems):
        raise typer.Exit(1)


@autosys.command()
def lint(
    files: JilFiles,
    instance: Annotated[
        str | None, typer.Option(help="The instance that they are of: a job of it is a job in these files.")
    ] = None,
    output: Printed = Output.text,
) -> None:
    """Say what is wrong with definitions: lines, conditions, jobs that never start, boxes that never end."""
    from bridge.intake.definitions import read_estate
    from mappers.legacy.jil.lint import lint as look

    estate = read_estate(files)
    problems = sorted([*estate.problems, *look(estate, instance)], key=lambda one: (one.file, one.line))
    errors = sum(one.level == "error" for one in problems)
    lines = [*map(str, problems), f"{len(estate.jobs)} jobs, {errors} errors, {len(problems) - errors} warnings"]
    answer = {"jobs": len(estate.jobs), "errors": errors, "problems": [one._asdict() for one in problems]}
    print_answer(answer, map(escape, lines), as_json=output is Output.json)
    raise typer.Exit(1 if errors else 0)


@autosys.command()
def diff(
    before: Annotated[Path, typer.Argument(help="A file or folder of JIL as it was.")],
    after: Annotated[Path, typer.Argument(help="As it is.")],
    output: Printed = Output.text,
) -> None:
    """Say what differs between two estates: jobs, and attributes of jobs."""
    from bridge.cli.autosys_text import difference_lines
    from bridge.intake.definitions import read_estate
    from mappers.legacy.jil.difference import differences

    found = differences(read_estate([before]), read_estate([after]))
    answer = {"differences": [one._asdict() for one in found]}
    print_answer(answer, map(escape, difference_lines(found)), as_json=output is Output.json)
    raise typer.Exit(5 if found else 0)
