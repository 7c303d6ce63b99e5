"""Builds the lineage details of an edge."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mappers.openmetadata.fqn import fqn

#: How long what is told of an edge or a column may get.
_MAX_CHARACTERS = 2_000


class ColumnEdge(NamedTuple):
    """One way in which a column is made; no name means the whole dataset."""

    source: str
    target: str
    type: str
    subtype: str = ""
    masking: bool = False
    description: str = ""


class EdgeEndpoint(NamedTuple):
    """An end of an edge: its fully qualified name, and the paths of its columns by the names that jobs give them."""

    fqn: str
    columns: Mapping[str, tuple[str, ...]]

    def column_fqn(self, name: str) -> str | None:
        """Give the fully qualified name of a column; None when the entity has none of that name."""
        path = self.columns.get(name)
        return f"{self.fqn}.{fqn(*path)}" if path else None


class LineageDetails(NamedTuple):
    """What is said of an edge, and the names of columns that one of its ends does not have."""

    columns: list[dict[str, Any]]
    description: str | None
    unknown: list[str]


def lineage_details(source: EdgeEndpoint, target: EdgeEndpoint, lines: Iterable[ColumnEdge]) -> LineageDetails:
    """Tell what the columns of a target are made of; what reaches it as a whole is told in words."""
    made: dict[str, tuple[set[str], set[str]]] = {}
    whole: set[str] = set()
    unknown: set[str] = set()
    for line in lines:
        if not line.source or not line.target:
            whole.add(_describe_dataset_level(line))
            continue
        ends = source.column_fqn(line.source), target.column_fqn(line.target)
        if ends[0] is None or ends[1] is None:
            unknown.add(line.source if ends[0] is None else line.target)
            continue
        columns, functions = made.setdefault(ends[1], (set(), set()))
        columns.add(ends[0])
        functions.add(_describe_transformation(line))
    told = [
        {
            "fromColumns": sorted(columns),
            "toColumn": column,
            "function": "; ".join(sorted(functions))[:_MAX_CHARACTERS],
        }
        for column, (columns, functions) in sorted(made.items())
    ]
    return LineageDetails(told, "\n".join(sorted(whole))[:_MAX_CHARACTERS] or None, sorted(unknown))


def merge_column_details(mine: Iterable[dict[str, Any]], theirs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Unite what two producers say of the columns of one edge; what is said of a function stays theirs."""
    entries: dict[str, dict[str, Any]] = {entry["toColumn"]: dict(entry) for entry in mine}
    for entry in theirs:
        known = entries.setdefault(entry["toColumn"], dict(entry))
        known["fromColumns"] = sorted({*known.get("fromColumns", ()), *entry.get("fromColumns", ())})
        if entry.get("function"):
            known["function"] = entry["function"]
    return [entries[column] for column in sorted(entries)]


def _describe_transformation(line: ColumnEdge) -> str:
    """Tell in a few words what is done."""
    done = line.subtype or line.type
    indirect = f"{line.type}/" if line.type == "INDIRECT" and line.subtype else ""
    described = f": {line.description}" if line.description else ""
    return f"{indirect}{done}{' (masked)' if line.masking else ''}{described}"


def _describe_dataset_level(line: ColumnEdge) -> str:
    of = f" on {line.source}" if line.source else ""
    into = f" into {line.target}" if line.target else ""
    return f"{_describe_transformation(line)}{of}{into}"
