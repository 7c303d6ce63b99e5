"""What is told of a source that is asked again and again."""

from typing import TYPE_CHECKING, NamedTuple

import typer

from bridge.cli.events import tell_troubles

if TYPE_CHECKING:
    from bridge.intake.source import Report
    from mappers.errors import TransientError


class Told(NamedTuple):
    """Says what was taken, in whose words."""

    what: str
    before: str = ""

    def of(self, report: "Report") -> None:
        """Say what was taken, and what was not."""
        typer.echo(f"{self.before}{report.accepted} {self.what} taken")
        tell_troubles(report.rejected, report.unmerged)

    def failed(self, error: "TransientError") -> None:
        """Say that it is tried again."""
        typer.echo(f"error: {error}; it is asked again", err=True)
