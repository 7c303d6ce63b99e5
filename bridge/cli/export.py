"""`lineage-bridge export`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.schema import OpenLineageOnly, WithOpenLineage
from bridge.warehouse.dialect import WarehouseDialect

if TYPE_CHECKING:
    from bridge.settings.model import Settings


def export(
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Canonical state; identical for identical events")
    ] = False,
    without_times: Annotated[
        bool, typer.Option("--without-times", help="With --canonical: omit all timestamps")
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="All original events and rejected input, for `import`")
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="INSERT statements for the tables of `schema ddl` (requires --dialect)")
    ] = False,
    dialect: Annotated[WarehouseDialect | None, typer.Option(help="SQL dialect of --sql")] = None,
    openlineage: WithOpenLineage = False,
    openlineage_only: OpenLineageOnly = False,
    config: Config = None,
) -> None:
    """Export the canonical state (JSON lines or SQL) or all events."""
    if [canonical, events, sql].count(True) != 1:
        raise typer.BadParameter("specify exactly one of --canonical, --sql and --events")
    if sql != (dialect is not None) or (not sql and (openlineage or openlineage_only)):
        raise typer.BadParameter(
            "--sql requires --dialect; --dialect, --openlineage and --openlineage-only require --sql"
        )
    if without_times and not canonical:
        raise typer.BadParameter("--without-times requires --canonical")
    settings = load_settings(config)
    if dialect is not None:
        lines = _insert_statement_lines(settings, dialect, openlineage=openlineage, openlineage_only=openlineage_only)
    elif events:
        lines = _event_lines(settings)
    else:
        lines = _canonical_lines(settings, without_times=without_times)
    for line in lines:
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _canonical_lines(settings: "Settings", *, without_times: bool) -> Iterator[bytes]:
    from bridge.bootstrap.store import open_store
    from bridge.store.canonical_export import export_canonical

    return export_canonical(open_store(settings), settings.org, without_times=without_times)


def _event_lines(settings: "Settings") -> Iterator[bytes]:
    from bridge.bootstrap.store import open_store
    from bridge.intake.event_export import export_events

    return export_events(open_store(settings), settings.org)


def _insert_statement_lines(
    settings: "Settings", dialect: WarehouseDialect, *, openlineage: bool, openlineage_only: bool
) -> Iterator[bytes]:
    from bridge.bootstrap.store import open_store
    from bridge.warehouse.inserts import insert_statements
    from bridge.warehouse.table_sets import select_tables

    tables = select_tables(openlineage=openlineage, openlineage_only=openlineage_only)
    return (
        statement.encode() for statement in insert_statements(open_store(settings), settings.org, dialect, tables)
    )
