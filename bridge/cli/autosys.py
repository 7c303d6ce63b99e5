"""`lineage-bridge autosys`: the estate of an Autosys instance, and its history."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import Config, Output, load, print_answer

autosys = typer.Typer(name="autosys", help="Jobs of Autosys: definitions and history.", no_args_is_help=True)

Printed = Annotated[Output, typer.Option(help="For people, or one JSON object.")]
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
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    from bridge.bootstrap import make_legacy_reader, make_reader, make_writer
    from bridge.intake.definitions import read_estate
    from bridge.intake.reports import Where, take_reports

    settings = load(config)
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise typer.BadParameter(f"--timezone {timezone}: is no time zone, such as Europe/London") from error
    estate = read_estate(jil or ())
    boxes = {job.name: estate.boxes_of(job) for job in estate.jobs.values()}
    called = instance or settings.legacy.autosys_instance
    with closing(make_writer(settings)) as writer:
        legacy = make_legacy_reader(settings, make_reader(settings))
        taken = take_reports(files, Where(called, zone, dates.value if dates else None, boxes), legacy, writer)
    lines = [*taken.problems, f"{taken.runs} runs taken, {taken.rejected} refused, {len(taken.problems)} remarks"]
    print_answer(taken._asdict(), map(escape, lines), as_json=output is Output.json)
    if taken.rejected or any(": error: " in one for one in taken.problems):
        raise typer.Exit(1)
