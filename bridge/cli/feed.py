"""`lineage-bridge feed`: tables of runs, as files or asked of a database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load
from mappers.legacy.technologies import Technology

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

feed = typer.Typer(name="feed", help="Runs out of tables: of a run manager, or any other.", no_args_is_help=True)

Of = Annotated[Technology, typer.Option(help="What the runs are of, where rows do not say it.")]
Zone = Annotated[str, typer.Option("--timezone", help="Of times that have none, such as Europe/London.")]


@feed.command()
def take(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV with a header, or JSON.")],
    technology: Of = Technology.runmgr,
    timezone: Zone = "UTC",
    historical: Annotated[bool, typer.Option("--historical", help="Mark the runs as history.")] = False,
    config: Config = None,
) -> None:
    """Take the runs of files, a row each; again does no harm."""
    from contextlib import closing

    from bridge.bootstrap import make_row_reader, make_writer
    from bridge.cli.events import tell_troubles
    from bridge.intake.feeds import Feed
    from bridge.intake.row_files import rows_of
    from bridge.intake.rows import RowDelivery
    from bridge.intake.source import Report

    settings = load(config)
    delivery = RowDelivery(technology.value, read_zone(timezone).key, historical)
    taken = Report()
    with closing(make_writer(settings)) as writer:
        one = Feed(make_row_reader(settings), writer, delivery)
        for file in files:
            taken = taken.plus(one.take(rows_of(file)))
    typer.echo(f"{taken.accepted} runs taken from {len(files)} file(s)")
    tell_troubles(taken.rejected, 0)
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
    technology: Of = Technology.runmgr,
    timezone: Zone = "UTC",
    every: Annotated[float | None, typer.Option(min=0.1, help="Ask again after so many seconds; else once.")] = None,
    config: Config = None,
) -> None:
    """Ask a database for runs, and go on where it was left."""
    import threading
    from contextlib import closing

    from bridge.bootstrap import make_row_reader, make_writer, open_registry
    from bridge.cli.following import Told
    from bridge.intake.feeds import Feed, Poll, Poller
    from bridge.intake.following import follow
    from bridge.intake.rows import RowDelivery

    settings = load(config)
    told = Told("runs", f"{name}: ")
    with closing(make_writer(settings)) as writer, closing(open_registry(settings)) as registry:
        one = Feed(make_row_reader(settings), writer, RowDelivery(technology.value, read_zone(timezone).key))
        with closing(Poller(Poll(name, database, query, watermark), one, registry.db, settings.org)) as poller:
            if every is None:
                report = poller.once()
                told.of(report)
                if report.rejected:
                    raise typer.Exit(1)
            else:
                follow(poller, every, told.of, told.failed, threading.Event())


def read_zone(name: str) -> "ZoneInfo":
    """Read the name of a time zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise typer.BadParameter(f"--timezone {name}: is no time zone, such as Europe/London") from error
