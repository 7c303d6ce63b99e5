"""The merge of the vocabulary as SQL: one upsert statement a table, made from its declaration."""

from functools import cache

from mappers.canonical.facts import TABLES, Dataset
from mappers.canonical.merge import Register, Row, plan_of

_TABLE_OF = {row_class: name for name, row_class in TABLES.items()}

#: Computed columns that need a value at birth, and the key column they start from.
_BORN_AS: dict[type[Row], tuple[str, str]] = {Dataset: ("class_id", "dataset_id")}


@cache
def upsert_sql(row_class: type[Row]) -> str:
    """Write the statement that merges a row of this class into its table.

    A row that changes nothing writes nothing.
    """
    plan = plan_of(row_class)
    table = _TABLE_OF[row_class]
    columns = list(plan.names)
    values = [f"?{i}" for i in range(1, len(columns) + 1)]
    if row_class in _BORN_AS:
        column, origin = _BORN_AS[row_class]
        columns.append(column)
        values.append(f"?{plan.names.index(origin) + 1}")
    insert = f"INSERT INTO {table} AS t ({', '.join(columns)}) VALUES ({', '.join(values)})"
    conflict = f"ON CONFLICT ({', '.join(plan.names[: plan.keys])}) DO"
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
    sign = "<" if register.least else ">"
    return f"(({theirs}) {sign} ({ours}) OR (t.{order[0]} IS NULL AND excluded.{order[0]} IS NOT NULL))"
