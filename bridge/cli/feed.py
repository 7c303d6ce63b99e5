"""`lineage-bridge feed`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo
from mappers.counts import count_of
from mappers.legacy.technology import Technology

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

feed = typer.Typer(name="feed", help="Import runs from tables (files or databases).", no_args_is_help=True)

TechnologyOption = Annotated[Technology, typer.Option(help="Technology of the runs if the rows do not name it")]
Zone = Annotated[str, typer.Option("--timezone", help="Time zone of times without one, e.g. Europe/London")]


@feed.command("take", hidden=True)  # former name
@feed.command()
def load(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV files with a header, or JSON files")],
    technology: TechnologyOption = Technology.runmgr,
    timezone: Zone = "UTC",
    historical: Annotated[bool, typer.Option("--historical", help="Mark runs as historical (backfill)")] = False,
    config: Config = None,
) -> None:
    """Import runs from files, one run per row (idempotent)."""
    from contextlib import closing

    from bridge.bootstrap.intake import make_feed_row_reader
    from bridge.bootstrap.store import make_writer
    from bridge.cli.ingest_report import print_rejections
    from bridge.intake.feed import FeedImporter
    from bridge.intake.feed_files import read_rows
    from bridge.intake.feed_rows import FeedInputKind
    from bridge.intake.source import IntakeReport

    settings = load_settings(config)
    input_kind = FeedInputKind(technology.value, parse_time_zone(timezone).key, historical)
    report = IntakeReport()
    with closing(make_writer(settings)) as writer:
        importer = FeedImporter(make_feed_row_reader(settings), writer, input_kind)
        for file in files:
            report = report.add(importer.import_rows(read_rows(file)))
    echo(f"imported {count_of(report.accepted, 'run')} from {count_of(len(files), 'file')}")
    print_rejections(report.rejected, 0)
    if report.rejected:
        raise typer.Exit(1)


@feed.command()
def poll(
    name: Annotated[str, typer.Argument(help="Name of this source; its watermark is stored under it")],
    database: Annotated[
        str,
        typer.Option(
            help="SQLAlchemy database URL; prefer the environment variable", envvar="LINEAGE_BRIDGE_FEED_URL"
        ),
    ],
    query: Annotated[
        str,
        typer.Option(help="Query with one row per run; :since is the watermark (null on the first poll)"),
    ],
    watermark: Annotated[str, typer.Option(help="Increasing column, e.g. the last modification time")],
    technology: TechnologyOption = Technology.runmgr,
    timezone: Zone = "UTC",
    every: Annotated[
        float | None, typer.Option(min=0.1, help="Poll interval in seconds (default: poll once)")
    ] = None,
    config: Config = None,
) -> None:
    """Import runs from a database query, starting at the watermark."""
    import threading
    from contextlib import closing

    from bridge.bootstrap.intake import make_feed_row_reader
    from bridge.bootstrap.store import make_writer
    from bridge.bootstrap.versions import open_version_registry
    from bridge.cli.ingest_report import IngestReporter
    from bridge.intake.feed import FeedImporter, FeedPoller, FeedQuery
    from bridge.intake.feed_rows import FeedInputKind
    from bridge.intake.source import poll_until_stopped

    settings = load_settings(config)
    reporter = IngestReporter("run", f"{name}: ")
    with closing(make_writer(settings)) as writer, closing(open_version_registry(settings)) as registry:
        input_kind = FeedInputKind(technology.value, parse_time_zone(timezone).key)
        importer = FeedImporter(make_feed_row_reader(settings), writer, input_kind)
        feed_query = FeedQuery(name, database, query, watermark)
        with closing(FeedPoller(feed_query, importer, registry.db, settings.org)) as poller:
            if every is None:
                report = poller.poll()
                reporter.print_report(report)
                if report.rejected:
                    raise typer.Exit(1)
            else:
                poll_until_stopped(poller, every, reporter.print_report, reporter.print_retry, threading.Event())


def parse_time_zone(name: str) -> "ZoneInfo":
    """Return the time zone with this name. Raises BadParameter if it is unknown."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise typer.BadParameter(f"--timezone {name}: unknown time zone (example: Europe/London)") from error
