"""The merge of the vocabulary as SQL: one upsert statement a table, made from its declaration."""

from functools import cache

from bridge.store.tables import FACT_TABLES
from mappers.canonical.facts import Dataset
from mappers.canonical.merge import Plan, Register, Row, plan_of

#: Computed columns that need a value at birth, and the key column they start from.
_BORN_AS = {Dataset: ("class_id", "dataset_id")}


@cache
def upsert_sql(row_class: type[Row], least: str = "min", greatest: str = "max") -> str:
    """Write the statement that merges a row of this class into its table.

    `least` and `greatest` name the dialect's two-argument functions. A row that changes nothing writes
    nothing.
    """
    plan = plan_of(row_class)
    table = FACT_TABLES[row_class].name
    columns = list(plan.names)
    values = [f"?{i}" for i in range(1, len(columns) + 1)]
    if row_class in _BORN_AS:
        column, origin = _BORN_AS[row_class]
        columns.append(column)
        values.append(f"?{plan.names.index(origin) + 1}")
    keys = ", ".join(plan.names[: plan.keys])
    head = f"INSERT INTO {table} AS t ({', '.join(columns)}) VALUES ({', '.join(values)}) ON CONFLICT ({keys}) DO "
    if plan.constant():
        return head + "NOTHING"
    changes, conditions = [], []
    for function, sign, positions in ((least, "<", plan.least), (greatest, ">", plan.greatest)):
        for name in (plan.names[i] for i in positions):
            changes.append(
                f"{name} = {function}(coalesce(t.{name}, excluded.{name}), coalesce(excluded.{name}, t.{name}))"
            )
            conditions.append(_beats(plan, (name,), sign))
    for register in plan.registers:
        beats = _beats(plan, tuple(plan.names[i] for i in register.order), "<" if register.least else ">")
        conditions.append(beats)
        changes.extend(_register_changes(plan, register, beats))
    return f"{head}UPDATE SET {', '.join(changes)} WHERE {' OR '.join(conditions)}"


def _beats(plan: Plan, names: tuple[str, ...], sign: str) -> str:
    ours = ", ".join(f"t.{name}" for name in names)
    theirs = ", ".join(f"excluded.{name}" for name in names)
    better = f"({theirs}) {sign} ({ours})" if len(names) > 1 else f"{theirs} {sign} {ours}"
    first = names[0]
    return f"({better} OR (t.{first} IS NULL AND excluded.{first} IS NOT NULL))"


def _register_changes(plan: Plan, register: Register, beats: str) -> list[str]:
    return [
        f"{name} = CASE WHEN {beats} THEN excluded.{name} ELSE t.{name} END"
        for name in (plan.names[i] for i in register.columns)
    ]
