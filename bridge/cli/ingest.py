"""`lineage-bridge ingest`."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.ingest_report import print_rejections, show_progress
from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.intake.file_ingester import ProgressCallback
    from bridge.intake.source import IntakeReport


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Event files or directories; - reads standard input")],
    config: Config = None,
    historical: Annotated[bool, typer.Option("--historical", help="Mark events as historical (backfill)")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Load files from the start, even if already loaded")
    ] = False,
) -> None:
    """Load events from files (NDJSON, JSON or JSON array, optionally gzipped); resumes where it stopped."""
    settings = load_settings(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from bridge.bootstrap.intake import make_event_reader, tune_garbage_collector
    from bridge.bootstrap.store import make_writer
    from bridge.intake.file_ingester import EventFileSource, FileIngester
    from bridge.intake.source import IntakeReport
    from connectors.openlineage.files import find_event_files

    files = find_event_files([path for path in paths if str(path) != "-"])
    missing_file = next((path for path in files if not path.exists()), None)
    if missing_file is not None:
        raise typer.BadParameter(f"no such file: {missing_file}")
    tune_garbage_collector()
    ingester = FileIngester(
        make_event_reader(settings),
        make_writer(settings),
        historical=historical,
        from_start=restart,
        max_line=int(settings.intake.max_unpacked_mb * (1 << 20)),
    )
    total = IntakeReport()
    for number, path in enumerate(files, 1):
        offset = 0

        def note_offset(position: int, show_offset: "ProgressCallback") -> None:
            nonlocal offset
            offset = position
            show_offset(position)

        try:
            with show_progress(path) as progress:
                callback = partial(note_offset, show_offset=progress)
                total = total.add(EventFileSource(ingester, path, callback).poll())
        except KeyboardInterrupt:
            echo(
                f"interrupted in file {number} of {len(files)} ({path}) after {count_of(offset, 'byte')}; ingested"
                f" {count_of(total.accepted, 'event')} from earlier files: run the command again to continue",
                err=True,
            )
            raise
    if any(str(path) == "-" for path in paths):
        total = total.add(ingester.ingest_stream(sys.stdin.buffer, "stdin"))
    _print_report(total, len(files) + ("-" in map(str, paths)))


def _print_report(report: "IntakeReport", file_count: int) -> None:
    """Print the report. Exit with an error if any input was not ingested completely."""
    summary = f"ingested {count_of(report.accepted, 'event')} from {count_of(file_count, 'file')}"
    if report.resumed_at:
        summary += f"; skipped {count_of(report.resumed_at, 'byte')} ingested earlier (--restart ingests them again)"
    echo(summary)
    for reason in report.unreadable:
        echo(f"error: cannot continue reading {reason}", err=True)
    print_rejections(report.rejected, report.unmerged)
    if report.rejected or report.unmerged or report.unreadable:
        raise typer.Exit(1)
