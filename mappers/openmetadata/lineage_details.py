"""Builds the lineage details of an edge."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mappers.openmetadata.fqn import fqn

#: Maximum length of an edge description or a column function.
_MAX_CHARACTERS = 2_000


class ColumnEdge(NamedTuple):
    """Derivation of one column from another; an empty name stands for the whole dataset."""

    source: str
    target: str
    type: str
    subtype: str = ""
    masking: bool = False
    description: str = ""


class EdgeEndpoint(NamedTuple):
    """An endpoint of an edge: its fully qualified name, and the remote column paths by original column name."""

    fqn: str
    columns: Mapping[str, tuple[str, ...]]

    def column_fqn(self, name: str) -> str | None:
        """Return the fully qualified name of a column, or None if the entity has no such column."""
        path = self.columns.get(name)
        return f"{self.fqn}.{fqn(*path)}" if path else None


class LineageDetails(NamedTuple):
    """Details of an edge, and the names of columns that an endpoint does not have."""

    columns: list[dict[str, Any]]
    description: str | None
    unknown: list[str]


def lineage_details(source: EdgeEndpoint, target: EdgeEndpoint, column_edges: Iterable[ColumnEdge]) -> LineageDetails:
    """Build the column lineage of an edge, with one entry per target column and function.

    Derivations that involve a whole dataset go into the description of the edge.
    """
    sources: dict[tuple[str, str], set[str]] = {}
    dataset_level: set[str] = set()
    unknown: set[str] = set()
    for edge in column_edges:
        if not edge.source or not edge.target:
            dataset_level.add(_describe_dataset_level(edge))
            continue
        source_fqn, target_fqn = source.column_fqn(edge.source), target.column_fqn(edge.target)
        if source_fqn is None or target_fqn is None:
            unknown.add(edge.source if source_fqn is None else edge.target)
            continue
        function = _describe_transformation(edge)[:_MAX_CHARACTERS]
        sources.setdefault((target_fqn, function), set()).add(source_fqn)
    entries = [
        {"fromColumns": sorted(columns), "toColumn": column, "function": function}
        for (column, function), columns in sorted(sources.items())
    ]
    return LineageDetails(entries, "\n".join(sorted(dataset_level))[:_MAX_CHARACTERS] or None, sorted(unknown))


def entry_key(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the target column and the function, which together identify a column entry of an edge."""
    return str(entry["toColumn"]), str(entry.get("function") or "")


def merge_column_details(local: Iterable[dict[str, Any]], remote: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the column entries that two producers report for the same edge."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in (*local, *remote):
        merged = entries.setdefault(entry_key(entry), dict(entry))
        merged["fromColumns"] = sorted({*merged.get("fromColumns", ()), *entry.get("fromColumns", ())})
    return [entries[key] for key in sorted(entries)]


def _describe_transformation(edge: ColumnEdge) -> str:
    transformation = edge.subtype or edge.type
    if edge.type == "INDIRECT" and edge.subtype:
        transformation = f"{edge.type}/{edge.subtype}"
    masked = " (masked)" if edge.masking else ""
    description = f": {edge.description}" if edge.description else ""
    return f"{transformation}{masked}{description}"


def _describe_dataset_level(edge: ColumnEdge) -> str:
    source = f" on {edge.source}" if edge.source else ""
    target = f" into {edge.target}" if edge.target else ""
    return f"{_describe_transformation(edge)}{source}{target}"
