"""`lineage-bridge redact`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.intake.redaction import RedactionReport


def redact(
    existing: Annotated[
        bool, typer.Option("--existing", help="Redact the events and rejected inputs that are stored already")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count inputs with secrets")] = False,
    config: Config = None,
) -> None:
    """Remove secrets that earlier versions stored; stop all services first."""
    if not existing:
        raise typer.BadParameter("specify --existing: new events are always redacted")
    settings = load_settings(config)
    from contextlib import closing

    from bridge.bootstrap.intake import make_store_redaction
    from bridge.bootstrap.store import make_indexer, open_for_writing

    with closing(open_for_writing(settings)) as db:
        redaction = make_store_redaction(settings, db)
        if dry_run:
            report = redaction.count()
            echo(f"found secrets in {_report_text(report)}")
            return
        report = redaction.run()
        with closing(make_indexer(settings)) as indexer:
            indexer.index_all()
        # Deleted rows remain in the file until it is rewritten. PostgreSQL overwrites them after its own vacuum.
        db.execute("VACUUM")
    echo(f"redacted {_report_text(report)}")


def _report_text(report: "RedactionReport") -> str:
    return f"{count_of(report.events, 'event')} and {count_of(report.rejected, 'rejected input')}"
