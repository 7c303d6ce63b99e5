"""`lineage-bridge import`."""

import sys
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.events import show_progress, tell_troubles
from bridge.cli.options import Config, load

#: How many damaged lines are named one by one.
_MOST_NAMED = 20


def import_events(
    file: Annotated[
        Path, typer.Argument(help="What `export --events` printed, gzipped or not; - reads standard input.")
    ],
    config: Config = None,
) -> None:
    """Take all that another store held, events and refused inputs; may be repeated, also when it was cut off."""
    settings = load(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from contextlib import closing

    from bridge.bootstrap import calm_collector, make_import
    from connectors.openlineage.files import open_events

    standard = str(file) == "-"
    if not standard and not file.is_file():
        raise typer.BadParameter(f"no such file: {file}")
    calm_collector()
    named = count(1)

    def tell(fault: str) -> None:
        if next(named) <= _MOST_NAMED:
            typer.echo(escape(f"error: {file}: {fault}"), err=True)

    with closing(make_import(settings)) as store:
        if standard:
            report = store.take(sys.stdin.buffer, tell)
        else:
            with show_progress(file) as progress, open_events(file) as opened:
                report = store.take(opened, tell, progress)
    typer.echo(f"{report.events} events and {report.rejected} refused inputs taken, {report.known} known before")
    if report.damaged:
        typer.echo(f"{report.damaged} damaged: what they held is not in the store", err=True)
    tell_troubles(0, report.unmerged)
    if report.damaged or report.unmerged:
        raise typer.Exit(1)
