"""`lineage-bridge marquez`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings

if TYPE_CHECKING:
    from bridge.intake.source import EventSource

marquez = typer.Typer(name="marquez", help="Import history from a Marquez server.", no_args_is_help=True)


@marquez.command()
def pull(
    server: Annotated[
        str | None,
        typer.Argument(metavar="URL", help="Server URL, e.g. http://127.0.0.1:5000 (default: marquez.url)"),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Read from this time on, such as 2026-11-01T00:00:00Z, whatever was read.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep importing new events until interrupted")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="With --follow: poll interval in seconds")] = 10.0,
    lookback: Annotated[float, typer.Option(min=0, help="Seconds before the watermark to read again")] = 3_600.0,
    rate: Annotated[float | None, typer.Option(min=0.1, help="Maximum requests per second")] = None,
    lists: Annotated[
        bool, typer.Option("--lists/--no-lists", help="Also import datasets and jobs that are missing from the log")
    ] = True,
    config: Config = None,
) -> None:
    """Import the event log of a Marquez server, then datasets and jobs missing from it; resumes at the watermark."""
    from contextlib import ExitStack, closing

    from bridge.bootstrap.marquez import make_marquez_log_importer, make_marquez_metadata_importer
    from bridge.bootstrap.store import make_writer
    from bridge.log import configure_log
    from bridge.settings.base import API_PATH_SUFFIX

    settings = load_settings(config)
    configure_log(settings.log)
    url = None if server is None else API_PATH_SUFFIX.sub("", server)
    asked = {key: value for key, value in (("url", url), ("rate", rate)) if value is not None}
    given = settings.marquez.model_copy(update=asked)
    with ExitStack() as opened:
        writer = opened.enter_context(closing(make_writer(settings)))
        log: EventSource = make_marquez_log_importer(settings, given, writer, _micros(since), lookback)
        opened.enter_context(closing(log))
        sources = {"events of its log": log}
        if lists:
            model = opened.enter_context(closing(make_marquez_metadata_importer(settings, given, writer)))
            sources["datasets and jobs that only its lists tell of"] = model
        is_whole = _take(sources, every if follow else None)
        if follow:
            _follow(log, every)
        elif not is_whole:
            raise typer.Exit(1)


def _take(sources: "dict[str, EventSource]", patience: float | None) -> bool:
    """Take from sources, one after the other; with patience one that does not answer is waited for."""
    import threading

    from bridge.cli.ingest_report import IngestReporter
    from mappers.errors import TransientError

    is_whole = True
    for what, source in sources.items():
        told = IngestReporter(what)
        while True:
            try:
                report = source.poll()
                break
            except TransientError as error:
                if patience is None:
                    raise
                told.failed(error)
                threading.Event().wait(patience)
        told.of(report)
        is_whole = is_whole and not (report.rejected or report.unmerged)
    return is_whole


def _follow(log: "EventSource", every: float) -> None:
    import threading

    from bridge.cli.ingest_report import IngestReporter
    from bridge.intake.source import poll_until_stopped

    told = IngestReporter("new events")
    poll_until_stopped(
        log, every, lambda report: told.of(report) if any(report[:3]) else None, told.failed, threading.Event()
    )


def _micros(since: str | None) -> int | None:
    from mappers.timestamps import parse_timestamp

    if since is None:
        return None
    try:
        return parse_timestamp(since)[0]
    except ValueError as error:
        raise typer.BadParameter(f"--since {since}: is no time, such as 2026-11-01T00:00:00Z") from error
