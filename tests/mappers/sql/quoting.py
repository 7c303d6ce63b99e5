"""Sources as text, for tables: `t.a` is taken as it is, `t.a T` is changed, `t.a A` aggregated; * masks."""

from collections.abc import Iterable

from mappers.sql.column_source import ColumnSource, QueryLineage

_SHORT = {
    "IDENTITY": "", "TRANSFORMATION": " T", "AGGREGATION": " A", "JOIN": " JOIN", "FILTER": " FILTER",
    "GROUP_BY": " GROUP", "SORT": " SORT", "WINDOW": " WINDOW", "CONDITIONAL": " IF",
}  # fmt: skip


def spelled(sources: Iterable[ColumnSource]) -> str:
    """Spell sources in their order."""
    return ", ".join(sorted(f"{s.view}.{s.column}{_SHORT[s.subtype]}{'*' if s.masking else ''}" for s in sources))


def columns_of(traced: QueryLineage) -> dict[str, str]:
    """Spell the sources of all columns."""
    return {name: spelled(sources) for name, sources in traced.columns.items()}
