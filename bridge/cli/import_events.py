"""`lineage-bridge import`."""

import sys
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.ingest_report import print_rejections, show_progress
from bridge.cli.options import Config, load_settings
from bridge.cli.output import escape

#: How many damaged lines are named one by one.
_MAX_NAMED = 20


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

    standard = str(file) == "-"
    if not standard and not file.is_file():
        raise typer.BadParameter(f"no such file: {file}")
    tune_garbage_collector()
    named = count(1)

    def tell(fault: str) -> None:
        if next(named) <= _MAX_NAMED:
            typer.echo(escape(f"error: {file}: {fault}"), err=True)

    with closing(make_event_importer(settings)) as store:
        if standard:
            report = store.run(sys.stdin.buffer, tell)
        else:
            with show_progress(file) as progress, open_event_file(file) as opened:
                report = store.run(opened, tell, progress)
    typer.echo(f"{report.events} events and {report.rejected} refused inputs taken, {report.known} known before")
    if report.damaged:
        typer.echo(f"{report.damaged} damaged: what they held is not in the store", err=True)
    print_rejections(0, report.unmerged)
    if report.damaged or report.unmerged:
        raise typer.Exit(1)
