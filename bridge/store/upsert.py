"""Generates the upsert statement of each canonical table from its merge rules."""

from functools import cache

from mappers.canonical.merge import Register, Row, merge_plan
from mappers.canonical.rows import TABLES, DatasetRow

_TABLE_NAMES = {row_class: name for name, row_class in TABLES.items()}

#: Computed columns that need an initial value, and the key columns from which the value is copied.
_INITIAL_VALUES: dict[type[Row], tuple[str, str]] = {DatasetRow: ("class_id", "dataset_id")}


@cache
def upsert_row(row_class: type[Row]) -> str:
    """Build the statement that merges one row. The statement writes nothing if the row changes nothing."""
    plan = merge_plan(row_class)
    placeholders = {name: f"?{number}" for number, name in enumerate(plan.names, start=1)}
    if row_class in _INITIAL_VALUES:
        column, origin = _INITIAL_VALUES[row_class]
        placeholders[column] = placeholders[origin]
    return _build_upsert(row_class, list(placeholders), f"VALUES ({', '.join(placeholders.values())})")


@cache
def upsert_arrays(row_class: type[Row]) -> str:
    """Build the statement that merges many rows, bound as one array per column.

    The first value, the organisation, is the same for all rows.
    """
    plan = merge_plan(row_class)
    org, *other_columns = plan.names
    arrays = [f"?{number}" for number in range(2, len(plan.names) + 1)]
    columns = [org, *other_columns]
    select_items = ["?1", *(f"x.{name}" for name in other_columns)]
    if row_class in _INITIAL_VALUES:
        column, origin = _INITIAL_VALUES[row_class]
        columns.append(column)
        select_items.append(f"x.{origin}")
    source = f"SELECT {', '.join(select_items)} FROM unnest({', '.join(arrays)}) AS x ({', '.join(other_columns)})"
    return _build_upsert(row_class, columns, source)


def _build_upsert(row_class: type[Row], columns: list[str], source: str) -> str:
    """Build an upsert that updates each register only if the new value wins."""
    plan = merge_plan(row_class)
    insert = f"INSERT INTO {_TABLE_NAMES[row_class]} AS t ({', '.join(columns)}) {source}"
    conflict = f"ON CONFLICT ({', '.join(plan.names[: plan.key_count])}) DO"
    if not plan.registers:
        return f"{insert} {conflict} NOTHING"
    conditions = [(register, _wins_sql(plan.names, register)) for register in plan.registers]
    assignments = []
    for register, wins in conditions:
        names = [plan.names[index] for index in register.columns]
        assignments += [f"{name} = CASE WHEN {wins} THEN excluded.{name} ELSE t.{name} END" for name in names]
    any_wins = " OR ".join(wins for _, wins in conditions)
    return f"{insert} {conflict} UPDATE SET {', '.join(assignments)} WHERE {any_wins}"


def _wins_sql(names: tuple[str, ...], register: Register) -> str:
    """Build the condition under which the new value of a register replaces the stored value."""
    order = [names[index] for index in register.order]
    new_order = ", ".join(f"excluded.{name}" for name in order)
    stored_order = ", ".join(f"t.{name}" for name in order)
    operator = "<" if register.minimum else ">"
    first, *_ = order
    is_first_value = f"t.{first} IS NULL AND excluded.{first} IS NOT NULL"
    return f"(({new_order}) {operator} ({stored_order}) OR ({is_first_value}))"
