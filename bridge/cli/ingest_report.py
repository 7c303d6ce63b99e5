"""Progress bar and summaries of commands that load events."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

if TYPE_CHECKING:
    from bridge.intake.file_ingester import Progress
    from bridge.intake.source import IntakeReport
    from mappers.errors import TransientError


class IngestReporter(NamedTuple):
    """Says what was taken, in whose words."""

    what: str
    before: str = ""

    def of(self, report: "IntakeReport") -> None:
        """Say what was taken, and what was not."""
        typer.echo(f"{self.before}{report.accepted} {self.what} taken")
        print_rejections(report.rejected, report.unmerged)

    def failed(self, error: "TransientError") -> None:
        """Say that it is tried again."""
        typer.echo(f"error: {error}; it is asked again", err=True)


def print_rejections(refused: int, unmerged: int) -> None:
    """Say how much was not taken or merged, and where it is listed."""
    if refused or unmerged:
        typer.echo(
            f"{refused} rejected, {unmerged} kept but not merged: see `lineage-bridge rejected list`", err=True
        )


@contextmanager
def show_progress(path: Path) -> "Iterator[Progress]":
    """Show a progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        yield lambda position: bar.update(task, completed=position)
