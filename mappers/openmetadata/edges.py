"""Lineage between two entities as OpenMetadata keeps it: one edge a pair, with what its columns are made of."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mappers.openmetadata.fqn import fqn

#: How long what is told of an edge or a column may get.
_MOST_CHARACTERS = 2_000


class ColumnLine(NamedTuple):
    """One way in which a column is made; no name means the whole dataset."""

    source: str
    target: str
    type: str
    subtype: str = ""
    masking: bool = False
    description: str = ""


class End(NamedTuple):
    """An end of an edge: its fully qualified name, and the paths of its columns by the names that jobs give them."""

    fqn: str
    columns: Mapping[str, tuple[str, ...]]

    def column(self, name: str) -> str | None:
        """Give the fully qualified name of a column; None when the entity has none of that name."""
        path = self.columns.get(name)
        return f"{self.fqn}.{fqn(*path)}" if path else None


class Details(NamedTuple):
    """What is said of an edge, and the names of columns that one of its ends does not have."""

    columns: list[dict[str, Any]]
    description: str | None
    unknown: list[str]


def details(source: End, target: End, lines: Iterable[ColumnLine]) -> Details:
    """Tell what the columns of a target are made of; what reaches it as a whole is told in words."""
    made: dict[str, tuple[set[str], set[str]]] = {}
    whole: set[str] = set()
    unknown: set[str] = set()
    for line in lines:
        if not line.source or not line.target:
            whole.add(_whole(line))
            continue
        ends = source.column(line.source), target.column(line.target)
        if ends[0] is None or ends[1] is None:
            unknown.add(line.source if ends[0] is None else line.target)
            continue
        columns, functions = made.setdefault(ends[1], (set(), set()))
        columns.add(ends[0])
        functions.add(_how(line))
    told = [
        {
            "fromColumns": sorted(columns),
            "toColumn": column,
            "function": "; ".join(sorted(functions))[:_MOST_CHARACTERS],
        }
        for column, (columns, functions) in sorted(made.items())
    ]
    return Details(told, "\n".join(sorted(whole))[:_MOST_CHARACTERS] or None, sorted(unknown))


def united(mine: Iterable[dict[str, Any]], theirs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Unite what two producers say of the columns of one edge; what is said of a function stays theirs."""
    entries: dict[str, dict[str, Any]] = {entry["toColumn"]: dict(entry) for entry in mine}
    for entry in theirs:
        known = entries.setdefault(entry["toColumn"], dict(entry))
        known["fromColumns"] = sorted({*known.get("fromColumns", ()), *entry.get("fromColumns", ())})
        if entry.get("function"):
            known["function"] = entry["function"]
    return [entries[column] for column in sorted(entries)]


def _how(line: ColumnLine) -> str:
    """Tell in a few words what is done."""
    done = line.subtype or line.type
    indirect = f"{line.type}/" if line.type == "INDIRECT" and line.subtype else ""
    described = f": {line.description}" if line.description else ""
    return f"{indirect}{done}{' (masked)' if line.masking else ''}{described}"


def _whole(line: ColumnLine) -> str:
    of = f" on {line.source}" if line.source else ""
    into = f" into {line.target}" if line.target else ""
    return f"{_how(line)}{of}{into}"
