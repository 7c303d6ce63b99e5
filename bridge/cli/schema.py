"""`lineage-bridge schema ddl`."""

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from bridge.warehouse.dialect import WarehouseDialect

schema = typer.Typer(help="Warehouse tables for other databases.", no_args_is_help=True, rich_markup_mode=None)


WithOpenLineage = Annotated[bool, typer.Option("--openlineage", "-o", help="Include the OpenLineage tables")]
OpenLineageOnly = Annotated[bool, typer.Option("--openlineage-only", help="Only the OpenLineage tables")]
_DAY = ["%Y-%m-%d"]


@schema.callback()
def _group() -> None:
    """Keeps `ddl` a subcommand; without it, typer runs a single command directly."""


@schema.command()
def ddl(
    dialect: Annotated[WarehouseDialect, typer.Option(help="SQL dialect")],
    openlineage: WithOpenLineage = False,
    openlineage_only: OpenLineageOnly = False,
    drop: Annotated[bool, typer.Option("--drop", help="Print DROP statements instead, children first")] = False,
    from_day: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="First daily partition (default: first day of this month)"),
    ] = None,
    to_day: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="Last daily partition (default: end of the month of --from-day)"),
    ] = None,
) -> None:
    """Print the warehouse DDL: tables, indexes, partitions, views and grants."""
    from bridge.warehouse import ddl as ddl_writer
    from bridge.warehouse.partitions import date_range
    from bridge.warehouse.table_sets import select_tables

    tables = select_tables(openlineage=openlineage, openlineage_only=openlineage_only)
    if drop:
        statements = ddl_writer.drop_statements(dialect, tables)
    else:
        first = from_day.date() if from_day else None
        last = to_day.date() if to_day else None
        statements = ddl_writer.create_statements(dialect, tables, date_range(datetime.now(UTC).date(), first, last))
    for statement in statements:
        sys.stdout.write(statement)
