"""The merge of the vocabulary as SQL: one upsert statement a table, made from its declaration."""

from functools import cache

from mappers.canonical.merge import Register, Row, merge_plan
from mappers.canonical.rows import TABLES, DatasetRow

_TABLE_OF = {row_class: name for name, row_class in TABLES.items()}

#: Computed columns that need a value at birth, and the key column they start from.
_BORN_AS: dict[type[Row], tuple[str, str]] = {DatasetRow: ("class_id", "dataset_id")}


@cache
def upsert_row(row_class: type[Row]) -> str:
    """Write the statement that merges one row of this class into its table.

    A row that changes nothing writes nothing.
    """
    plan = merge_plan(row_class)
    values = {name: f"?{i}" for i, name in enumerate(plan.names, start=1)}
    if row_class in _BORN_AS:
        column, origin = _BORN_AS[row_class]
        values[column] = values[origin]
    return _upsert(row_class, list(values), f"VALUES ({', '.join(values.values())})")


@cache
def upsert_arrays(row_class: type[Row]) -> str:
    """Write the statement that merges many rows of this class at once, given as one array a column.

    The first value, their organisation, is the same in all rows.
    """
    plan = merge_plan(row_class)
    org, *others = plan.names
    arrays = [f"?{i}" for i in range(2, len(plan.names) + 1)]
    columns, selected = [org, *others], ["?1", *(f"x.{name}" for name in others)]
    if row_class in _BORN_AS:
        column, origin = _BORN_AS[row_class]
        columns.append(column)
        selected.append(f"x.{origin}")
    source = f"SELECT {', '.join(selected)} FROM unnest({', '.join(arrays)}) AS x ({', '.join(others)})"
    return _upsert(row_class, columns, source)


def _upsert(row_class: type[Row], columns: list[str], source: str) -> str:
    plan = merge_plan(row_class)
    insert = f"INSERT INTO {_TABLE_OF[row_class]} AS t ({', '.join(columns)}) {source}"
    conflict = f"ON CONFLICT ({', '.join(plan.names[: plan.key_count])}) DO"
    if not plan.registers:
        return f"{insert} {conflict} NOTHING"
    conditions = [(register, _beats(plan.names, register)) for register in plan.registers]
    changes = ", ".join(
        f"{plan.names[i]} = CASE WHEN {beats} THEN excluded.{plan.names[i]} ELSE t.{plan.names[i]} END"
        for register, beats in conditions
        for i in register.columns
    )
    return f"{insert} {conflict} UPDATE SET {changes} WHERE {' OR '.join(beats for _, beats in conditions)}"


def _beats(names: tuple[str, ...], register: Register) -> str:
    order = [names[i] for i in register.order]
    theirs, ours = (", ".join(f"{side}.{name}" for name in order) for side in ("excluded", "t"))
    sign = "<" if register.minimum else ">"
    return f"(({theirs}) {sign} ({ours}) OR (t.{order[0]} IS NULL AND excluded.{order[0]} IS NOT NULL))"
