"""Formats column sources as text, for test tables.

`t.a` is an identity, `t.a T` a transformation, `t.a A` an aggregation; `*` means masked.
"""

from collections.abc import Iterable

from mappers.sql.column_source import ColumnSource, QueryLineage

_SHORT = {
    "IDENTITY": "", "TRANSFORMATION": " T", "AGGREGATION": " A", "JOIN": " JOIN", "FILTER": " FILTER",
    "GROUP_BY": " GROUP", "SORT": " SORT", "WINDOW": " WINDOW", "CONDITIONAL": " IF",
}  # fmt: skip


def format_sources(sources: Iterable[ColumnSource]) -> str:
    return ", ".join(
        sorted(
            f"{source.view}.{source.column}{_SHORT[source.subtype]}{'*' if source.masking else ''}"
            for source in sources
        )
    )


def format_columns(lineage: QueryLineage) -> dict[str, str]:
    return {name: format_sources(sources) for name, sources in lineage.columns.items()}
