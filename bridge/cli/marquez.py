"""`lineage-bridge marquez`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings, parse_time

if TYPE_CHECKING:
    from bridge.intake.source import EventSource, IntakeReport

marquez = typer.Typer(name="marquez", help="Import history from a Marquez server.", no_args_is_help=True)


@marquez.command()
def pull(
    server: Annotated[
        str | None,
        typer.Argument(metavar="URL", help="Server URL, e.g. http://127.0.0.1:5000 (default: marquez.url)"),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Start at this time instead of the watermark, e.g. 2026-11-01T00:00:00Z")
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
    overrides = {key: value for key, value in (("url", url), ("rate", rate)) if value is not None}
    marquez_settings = settings.marquez.model_copy(update=overrides)
    with ExitStack() as stack:
        writer = stack.enter_context(closing(make_writer(settings)))
        log_source: EventSource = make_marquez_log_importer(
            settings, marquez_settings, writer, parse_time("--since", since), lookback
        )
        stack.enter_context(closing(log_source))
        sources = {"event": log_source}
        if lists:
            metadata_source = make_marquez_metadata_importer(settings, marquez_settings, writer)
            sources["missing definition"] = stack.enter_context(closing(metadata_source))
        is_complete = _import_all(sources, every if follow else None)
        if follow:
            _import_new_events(log_source, every)
        elif not is_complete:
            raise typer.Exit(1)


def _import_all(sources: "dict[str, EventSource]", retry_seconds: float | None) -> bool:
    """Import from sources, which are by the noun for their inputs. Return True if all inputs were merged.

    With `retry_seconds`, an unavailable source is tried again at this interval instead of raising an error.
    """
    import time

    from bridge.cli.ingest_report import IngestReporter
    from mappers.errors import TransientError

    is_complete = True
    for noun, source in sources.items():
        reporter = IngestReporter(noun)
        while True:
            try:
                report = source.poll()
                break
            except TransientError as error:
                if retry_seconds is None:
                    raise
                reporter.print_retry(error)
                time.sleep(retry_seconds)
        reporter.print_report(report)
        is_complete = is_complete and not (report.rejected or report.unmerged)
    return is_complete


def _import_new_events(log_source: "EventSource", interval_seconds: float) -> None:
    """Poll the event log until interrupted."""
    import threading

    from bridge.cli.ingest_report import IngestReporter
    from bridge.intake.source import poll_until_stopped

    reporter = IngestReporter("new event")

    def print_unless_empty(report: "IntakeReport") -> None:
        if report.accepted or report.rejected or report.unmerged:
            reporter.print_report(report)

    poll_until_stopped(log_source, interval_seconds, print_unless_empty, reporter.print_retry, threading.Event())
