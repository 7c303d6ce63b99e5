"""`lineage-bridge rejected`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo, escape, print_result
from bridge.cli.table import Column, Row, Table, short_time, text_column, time_column
from mappers.counts import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.settings.model import Settings
    from bridge.store.database import Database
    from bridge.store.event_log import IncomingEvent
    from bridge.store.failed_inputs import FailedInput

rejected = typer.Typer(
    name="rejected", help="List, show, retry and drop rejected or unmerged input.", no_args_is_help=True
)


_LINE = "{:<16}  {:<8}  {:<5}  {:<19}  {:<{source_width}}  {}"
_COLUMNS = (
    Column("HASH"), Column("KIND"), Column("TIMES"), time_column("LAST (UTC)"), text_column("SOURCE"),
    text_column("REASON"),
)  # fmt: skip


@rejected.command("list")
def list_rejected(
    limit: Annotated[int | None, typer.Option(min=1, help="Show only the newest inputs")] = None,
    config: Config = None,
) -> None:
    """List rejected input and events that were stored but not merged, oldest first."""
    _, _, inputs = open_failed_inputs(config)
    from mappers.timestamps import format_timestamp

    shown_inputs = inputs[-limit:] if limit else inputs
    rows = []
    for failed_input in shown_inputs:
        path = f" at {failed_input.path}" if failed_input.path else ""
        evicted = " (payload evicted)" if failed_input.evicted else ""
        rows.append((
            failed_input.hash.hex()[:16], failed_input.kind, f"x{failed_input.receipts}",
            short_time(format_timestamp(failed_input.last_at)), escape(failed_input.source),
            escape(f"{failed_input.reason}{path}{evicted}"),
        ))  # fmt: skip
    notes = []
    if len(shown_inputs) < len(inputs):
        notes.append(f"… {count_of(len(inputs) - len(shown_inputs), 'older input')}: raise --limit")
    if not rows:
        echo("no rejected or unmerged input", err=True)
    print_result(
        rows, _list_lines(rows, notes), as_json=False, table=lambda: Table(_COLUMNS, list(map(Row, rows)), notes)
    )


def _list_lines(rows: "Sequence[tuple[str, ...]]", notes: "Sequence[str]") -> "Iterator[str]":
    if rows:
        source_width = max(len(row[4]) for row in rows)
        for row in ([column.header for column in _COLUMNS], *rows):
            yield _LINE.format(*row, source_width=source_width)
    yield from notes


@rejected.command("drop")
def drop_rejected(
    prefix: Annotated[str, typer.Argument(metavar="HASH", help="Hash or unique prefix")], config: Config = None
) -> None:
    """Delete a rejected input that will never be valid."""
    settings, _, inputs = open_failed_inputs(config)
    from bridge.bootstrap.store import make_writer

    failed_input = _find_failed_input(inputs, prefix)
    if failed_input.kind != "rejected":
        raise typer.BadParameter(f"{prefix} is a stored event that was not merged: use `rejected retry`")
    make_writer(settings).delete_rejected(failed_input.hash)
    echo(f"dropped {failed_input.hash.hex()[:16]} from {escape(failed_input.source)}")


@rejected.command("show")
def show_rejected(
    prefix: Annotated[str, typer.Argument(metavar="HASH", help="Hash or unique prefix")], config: Config = None
) -> None:
    """Print the original payload of an input."""
    settings, store, inputs = open_failed_inputs(config)
    from bridge.store.failed_inputs import read_payload

    failed_input = _find_failed_input(inputs, prefix)
    payload = read_payload(store, settings.org, failed_input)
    if payload is None:
        raise typer.BadParameter(f"payload of {prefix} was evicted (intake.keep_rejected); send it again")
    location = f" at {failed_input.path}" if failed_input.path else ""
    receipts = count_of(failed_input.receipts, "time")
    echo(f"{failed_input.kind} from {failed_input.source}, {receipts}: {failed_input.reason}{location}", err=True)
    sys.stdout.buffer.write(payload)
    if sys.stdout.isatty():
        typer.echo()


@rejected.command("retry")
def retry_rejected(
    prefix: Annotated[str | None, typer.Argument(metavar="HASH", help="Hash or unique prefix (default: all)")] = None,
    config: Config = None,
) -> None:
    """Retry rejected or unmerged input, for example after an upgrade."""
    settings, store, inputs = open_failed_inputs(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from bridge.bootstrap.intake import make_event_reader, make_legacy_reader
    from bridge.bootstrap.store import make_writer
    from bridge.intake.retry import InputRetry
    from bridge.store.failed_inputs import read_payload

    selected_inputs = [_find_failed_input(inputs, prefix)] if prefix else inputs
    reader = make_event_reader(settings)
    writer = make_writer(settings)
    retry = InputRetry(reader, make_legacy_reader(settings, reader))
    ingested_count = 0
    for failed_input in selected_inputs:
        payload = read_payload(store, settings.org, failed_input)
        events_or_problem: list[IncomingEvent] | str
        if payload is None:
            events_or_problem = "payload was evicted (intake.keep_rejected); send it again"
        else:
            events_or_problem = retry.read(failed_input, payload)
        if isinstance(events_or_problem, str):
            echo(f"{failed_input.hash.hex()[:16]}  {failed_input.source}  {events_or_problem}", err=True)
            continue
        writer.write(events_or_problem)
        if failed_input.kind == "rejected":
            writer.delete_rejected(failed_input.hash)
        ingested_count += 1
    rejected_count = len(selected_inputs) - ingested_count
    echo(f"{ingested_count} ingested, {rejected_count} still rejected")
    if rejected_count:
        raise typer.Exit(1)


def open_failed_inputs(config: Config) -> "tuple[Settings, Database, list[FailedInput]]":
    """Open the store, and return the settings, the store, and all rejected or unmerged inputs."""
    settings = load_settings(config)
    from bridge.bootstrap.store import open_store
    from bridge.store.failed_inputs import list_failed_inputs

    store = open_store(settings)
    return settings, store, list(list_failed_inputs(store, settings.org))


def _find_failed_input(inputs: "list[FailedInput]", prefix: str) -> "FailedInput":
    matches = [failed_input for failed_input in inputs if failed_input.hash.hex().startswith(prefix.lower())]
    if len(matches) != 1:
        found = "several inputs" if matches else "no input"
        raise typer.BadParameter(f"{found} with a hash that starts with {prefix}: see `rejected list`")
    (match,) = matches
    return match
