"""The tables of a statement of SQL, whatever its dialect: those that it writes, and those that it reads."""

from collections.abc import Iterator
from typing import Literal

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

Side = Literal["input", "output"]


def tables_of(text: str) -> Iterator[tuple[Side, str]]:
    """Name the tables of statements, each once a side; a text that cannot be read names none."""
    seen: set[tuple[Side, str]] = set()
    for statement in _statements(text):
        targets = _targets(statement)
        ctes = {one.alias_or_name for one in statement.find_all(exp.CTE)}
        for table in statement.find_all(exp.Table):
            side: Side = "output" if any(table is one for one in targets) else "input"
            name = ".".join(part for part in (table.catalog, table.db, table.name) if part)
            if name and (table.db or table.name not in ctes) and (side, name) not in seen:
                seen.add((side, name))
                yield side, name


def _statements(text: str) -> list[exp.Expression]:
    try:
        return [one for one in sqlglot.parse(text) if one is not None]
    except (SqlglotError, RecursionError):
        return []


def _targets(statement: exp.Expression) -> list[exp.Expression]:
    """Give the tables that a statement writes."""
    if isinstance(statement, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create):
        found = statement.this.find(exp.Table) if statement.this is not None else None
        return [found] if found is not None else []
    return []
