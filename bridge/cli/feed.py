"""`lineage-bridge feed`: tables of runs, as files or asked of a database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings
from mappers.legacy.technology import Technology

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

feed = typer.Typer(name="feed", help="Runs out of tables: of a run manager, or any other.", no_args_is_help=True)

TechnologyOption = Annotated[Technology, typer.Option(help="What the runs are of, where rows do not say it.")]
Zone = Annotated[str, typer.Option("--timezone", help="Of times that have none, such as Europe/London.")]


@feed.command()
def take(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV with a header, or JSON.")],
    technology: TechnologyOption = Technology.runmgr,
    timezone: Zone = "UTC",
    historical: Annotated[bool, typer.Option("--historical", help="Mark the runs as history.")] = False,
    config: Config = None,
) -> None:
    """Take the runs of files, a row each; again does no harm."""
    from contextlib import closing

    from bridge.bootstrap.intake import make_feed_row_reader
    from bridge.bootstrap.store import make_writer
    from bridge.cli.ingest_report import print_rejections
    from bridge.intake.feed import FeedImporter
    from bridge.intake.feed_files import read_rows
    from bridge.intake.feed_rows import FeedInputKind
    from bridge.intake.source import IntakeReport

    settings = load_settings(config)
    delivery = FeedInputKind(technology.value, read_zone(timezone).key, historical)
    taken = IntakeReport()
    with closing(make_writer(settings)) as writer:
        one = FeedImporter(make_feed_row_reader(settings), writer, delivery)
        for file in files:
            taken = taken.add(one.import_rows(read_rows(file)))
    typer.echo(f"{taken.accepted} runs taken from {len(files)} file(s)")
    print_rejections(taken.rejected, 0)
    if taken.rejected:
        raise typer.Exit(1)


@feed.command()
def poll(
    name: Annotated[str, typer.Argument(help="What this source is called; how far it was read is kept by it.")],
    database: Annotated[
        str,
        typer.Option(
            help="The database, as SQLAlchemy has it; best given in the variable.", envvar="LINEAGE_BRIDGE_FEED_URL"
        ),
    ],
    query: Annotated[
        str,
        typer.Option(help="Gives a row a run; `:since` is the last value of the watermark, null at first."),
    ],
    watermark: Annotated[str, typer.Option(help="The column that grows, such as the time of the last change.")],
    technology: TechnologyOption = Technology.runmgr,
    timezone: Zone = "UTC",
    every: Annotated[float | None, typer.Option(min=0.1, help="Ask again after so many seconds; else once.")] = None,
    config: Config = None,
) -> None:
    """Ask a database for runs, and go on where it was left."""
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
    told = IngestReporter("runs", f"{name}: ")
    with closing(make_writer(settings)) as writer, closing(open_version_registry(settings)) as registry:
        one = FeedImporter(
            make_feed_row_reader(settings), writer, FeedInputKind(technology.value, read_zone(timezone).key)
        )
        with closing(
            FeedPoller(FeedQuery(name, database, query, watermark), one, registry.db, settings.org)
        ) as poller:
            if every is None:
                report = poller.poll()
                told.of(report)
                if report.rejected:
                    raise typer.Exit(1)
            else:
                poll_until_stopped(poller, every, told.of, told.failed, threading.Event())


def read_zone(name: str) -> "ZoneInfo":
    """Read the name of a time zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise typer.BadParameter(f"--timezone {name}: is no time zone, such as Europe/London") from error
