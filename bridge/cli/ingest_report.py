"""Progress bar and summaries of commands that load events."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.cli.output import echo
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.intake.file_ingester import ProgressCallback
    from bridge.intake.source import IntakeReport
    from mappers.errors import TransientError


class IngestReporter(NamedTuple):
    """Prints the results of a source."""

    noun: str
    prefix: str = ""

    def print_report(self, report: "IntakeReport") -> None:
        echo(f"{self.prefix}{count_of(report.accepted, self.noun)} imported")
        print_rejections(report.rejected, report.unmerged)

    def print_retry(self, error: "TransientError") -> None:
        echo(f"error: {error}; retrying", err=True)


def print_rejections(rejected_count: int, unmerged_count: int) -> None:
    """Print how many inputs were rejected or not merged, if any."""
    if rejected_count or unmerged_count:
        counts = f"{rejected_count} rejected, {unmerged_count} stored but not merged"
        echo(f"{counts}: see `lineage-bridge rejected list`", err=True)


@contextmanager
def show_progress(path: Path) -> "Iterator[ProgressCallback]":
    """Show a progress bar if stderr is a terminal. Yields a function that reports the position in the file."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as ProgressBar

    with ProgressBar(console=Console(stderr=True)) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        yield lambda position: bar.update(task, completed=position)
