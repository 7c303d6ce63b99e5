"""Daily partitions per dialect."""

from datetime import date, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from bridge.warehouse.dialect import WarehouseDialect
from connectors.errors import ConfigError

_DAY = timedelta(days=1)
_MIDNIGHT = "-00.00.00.000000"


class DateRange(NamedTuple):
    """The days, first and last, that get a partition of their own; others share one where the house allows it."""

    first: date
    last: date

    @property
    def end(self) -> date:
        """Give the day after the last."""
        return self.last + _DAY


def date_range(today: date, first: date | None = None, last: date | None = None) -> DateRange:
    """Give the days from first to last; one that is not said is the end of the other one's month."""
    first = first or (last or today).replace(day=1)
    last = last or (first.replace(day=1) + timedelta(days=31)).replace(day=1) - _DAY
    if first > last:
        raise ConfigError(f"--from-day {first} is after --to-day {last}: give them in order")
    return DateRange(first, last)


def partition_clause(house: WarehouseDialect, table: sa.Table, days: DateRange) -> str:
    """Partition clause at the end of CREATE TABLE."""
    column = str(table.info["by_day"]).upper()
    spread = f"\nPRIMARY INDEX ({_first_of_key(table)})" if house is WarehouseDialect.teradata else ""
    if not column:
        # Where its key is one column the table is spread by its key as it is.
        return spread if len(table.primary_key.columns) > 1 else ""
    match house:
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
                f"{spread}\nPARTITION BY RANGE_N(CAST({column} AS DATE) BETWEEN DATE '{days.first}'"
                f" AND DATE '{days.last}' EACH INTERVAL '1' DAY, NO RANGE OR UNKNOWN)"
            )
        case WarehouseDialect.sqlite:
            return ""


def partition_statements(house: WarehouseDialect, table: sa.Table, days: DateRange) -> list[str]:
    """Write the partitions that are statements of their own."""
    if house is not WarehouseDialect.postgresql or not table.info["by_day"]:
        return []
    name = table.name.upper()
    made = [f"CREATE TABLE {name}_DEFAULT PARTITION OF {name} DEFAULT"]
    for number in range((days.end - days.first).days):
        day = days.first + number * _DAY
        made.append(
            f"CREATE TABLE {name}_{day:%Y%m%d} PARTITION OF {name} FOR VALUES FROM ('{day}') TO ('{day + _DAY}')"
        )
    return made


def _first_of_key(table: sa.Table) -> str:
    """Name the column that rows are spread by: rows of one run or dataset lie together."""
    return next(iter(table.primary_key.columns)).name.upper()
