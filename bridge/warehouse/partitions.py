"""Daily partitions per dialect."""

from datetime import date, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from bridge.warehouse.dialect import WarehouseDialect
from connectors.errors import ConfigError

_DAY = timedelta(days=1)
_MIDNIGHT = "-00.00.00.000000"


class DateRange(NamedTuple):
    """First and last of the days that have their own partition."""

    first: date
    last: date

    @property
    def end(self) -> date:
        """The day after the last day."""
        return self.last + _DAY


def date_range(today: date, first: date | None = None, last: date | None = None) -> DateRange:
    """Build a date range; a missing bound is set to the first or last day of the month (default: this month)."""
    first = first or (last or today).replace(day=1)
    next_month = (first.replace(day=1) + timedelta(days=31)).replace(day=1)
    last = last or next_month - _DAY
    if first > last:
        raise ConfigError(f"--from-day {first} is after --to-day {last}; swap them")
    return DateRange(first, last)


def storage_clause(dialect: WarehouseDialect, table: sa.Table, days: DateRange) -> str:
    """Return the clauses at the end of CREATE TABLE that distribute and partition the rows."""
    column = str(table.info["by_day"]).upper()
    primary_index = f"\nPRIMARY INDEX ({_first_key_column(table)})" if dialect is WarehouseDialect.teradata else ""
    if not column:
        # Teradata makes a single-column primary key the primary index by default.
        return primary_index if len(table.primary_key.columns) > 1 else ""
    match dialect:
        case WarehouseDialect.postgresql:
            return f"\nPARTITION BY RANGE ({column})"
        case WarehouseDialect.db2:
            return (
                f"\nPARTITION BY RANGE ({column}) (\n"
                f"\tPARTITION EARLIER STARTING MINVALUE ENDING '{days.first}{_MIDNIGHT}' EXCLUSIVE,\n"
                f"\tSTARTING '{days.first}{_MIDNIGHT}' ENDING '{days.end}{_MIDNIGHT}' EXCLUSIVE EVERY 1 DAY,\n"
                f"\tPARTITION LATER STARTING '{days.end}{_MIDNIGHT}' ENDING MAXVALUE\n)"
            )
        case WarehouseDialect.teradata:
            return (
                f"{primary_index}\nPARTITION BY RANGE_N(CAST({column} AS DATE) BETWEEN DATE '{days.first}'"
                f" AND DATE '{days.last}' EACH INTERVAL '1' DAY, NO RANGE OR UNKNOWN)"
            )
        case WarehouseDialect.sqlite:
            return ""


def partition_statements(dialect: WarehouseDialect, table: sa.Table, days: DateRange) -> list[str]:
    """Return the statements that create partitions in PostgreSQL; other dialects create them with the table."""
    if dialect is not WarehouseDialect.postgresql or not table.info["by_day"]:
        return []
    name = table.name.upper()
    statements = [f"CREATE TABLE {name}_DEFAULT PARTITION OF {name} DEFAULT"]
    for day_offset in range((days.end - days.first).days):
        day = days.first + day_offset * _DAY
        statements.append(
            f"CREATE TABLE {name}_{day:%Y%m%d} PARTITION OF {name} FOR VALUES FROM ('{day}') TO ('{day + _DAY}')"
        )
    return statements


def _first_key_column(table: sa.Table) -> str:
    """Return the first key column; distributing rows by this column keeps the rows of a run or dataset together."""
    return next(iter(table.primary_key.columns)).name.upper()
