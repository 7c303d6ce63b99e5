"""The columns of a dataset, nested as its jobs report them, as OpenMetadata takes them."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.column_types import column_type
from mappers.openmetadata.fqn import EntityName, entity_name

_MAX_CHARACTERS = 300


class ColumnRow(NamedTuple):
    """A column as the store lists it: its whole path as name, those within it behind it, deeper by one."""

    name: str
    type: str | None = None
    description: str | None = None
    depth: int = 0


class NestedColumns(NamedTuple):
    """Columns as a server takes them, the name of each by its path, and what had to be left out."""

    columns: list[JsonObject]
    names: dict[str, tuple[str, ...]]
    skipped: list[str]


def nest_columns(rows: Iterable[ColumnRow], most_characters: int = _MAX_CHARACTERS) -> NestedColumns:
    """Nest columns, and make names of theirs that a server takes; of two of one name the first stays."""
    made = NestedColumns([], {}, [])
    open_: list[tuple[str, tuple[str, ...], list[JsonObject]]] = [("", (), made.columns)]
    taken: set[tuple[str, ...]] = set()
    for row in rows:
        del open_[max(1, row.depth + 1) :]
        path, names, siblings = open_[-1]
        own = entity_name(row.name.removeprefix(f"{path}.") if path else row.name, most_characters)
        whole = (*names, own.name)
        if whole in taken:
            made.skipped.append(row.name)
            siblings = []  # what lies within it goes with it
        taken.add(whole)
        made.names.setdefault(row.name, whole)
        column = _column(row, own, most_characters)
        siblings.append(column)
        open_.append((row.name, whole, _Children(column)))
    return made


class _Children(list[JsonObject]):
    """The columns within a column, which are what its type says until the first is reported by itself."""

    def __init__(self, column: JsonObject) -> None:
        super().__init__()
        self._column = column

    def append(self, child: JsonObject) -> None:
        """Put a column into the other."""
        super().append(child)
        self._column["children"] = list(self)
        if self._column["dataType"] == "UNKNOWN":
            self._column["dataType"] = "STRUCT"


def _column(row: ColumnRow, own: EntityName, most_characters: int) -> JsonObject:
    column: JsonObject = {"name": own.name, **column_type(row.type)}
    if own.display_name:
        column["displayName"] = own.display_name
    if row.description:
        column["description"] = row.description
    return _rename_children(column, most_characters)


def _rename_children(column: JsonObject, most_characters: int) -> JsonObject:
    """Make names that a server takes of what a type names within itself; of two of one name the first stays."""
    if "children" not in column:
        return column
    children: dict[str, Any] = {}
    for child in column["children"]:
        named = entity_name(child["name"], most_characters)
        shown = {"displayName": named.display_name} if named.display_name else {}
        children.setdefault(named.name, _rename_children(child | {"name": named.name} | shown, most_characters))
    return column | {"children": list(children.values())}


def column_paths(columns: Iterable[JsonObject], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Give the path of every column, those within others too."""
    for column in columns:
        path = (*above, column["name"])
        yield path
        yield from column_paths(column.get("children", ()), path)
