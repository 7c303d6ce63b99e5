"""`lineage-bridge import`."""

import sys
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.ingest_report import print_rejections, show_progress
from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo, escape
from mappers.counts import count_of

#: Maximum number of damaged lines that are reported individually.
_MAX_REPORTED = 20


def import_events(
    file: Annotated[
        Path, typer.Argument(help="Output of `export --events`, optionally gzipped; - reads standard input")
    ],
    config: Config = None,
) -> None:
    """Import the output of `export --events`; safe to repeat after an interruption."""
    settings = load_settings(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from contextlib import closing

    from bridge.bootstrap.intake import make_event_importer, tune_garbage_collector
    from connectors.openlineage.files import open_event_file

    is_stdin = str(file) == "-"
    if not is_stdin and not file.is_file():
        raise typer.BadParameter(f"no such file: {file}")
    tune_garbage_collector()
    problem_numbers = count(1)

    def report_damaged(problem: str) -> None:
        if next(problem_numbers) <= _MAX_REPORTED:
            echo(escape(f"error: {file}: {problem}"), err=True)

    with closing(make_event_importer(settings)) as importer:
        if is_stdin:
            report = importer.run(sys.stdin.buffer, report_damaged)
        else:
            with show_progress(file) as progress, open_event_file(file) as stream:
                report = importer.run(stream, report_damaged, progress)
    counts = f"{count_of(report.events, 'event')} and {count_of(report.rejected, 'rejected input')}"
    echo(f"imported {counts}; already stored: {report.known:,}")
    if report.damaged:
        echo(f"skipped {count_of(report.damaged, 'damaged line')}", err=True)
    print_rejections(0, report.unmerged)
    if report.damaged or report.unmerged:
        raise typer.Exit(1)
