"""Nests columns, and converts their names to names that OpenMetadata accepts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mappers.canonical.columns import SchemaColumn
from mappers.canonical_json import JsonObject
from mappers.openmetadata.column_types import column_type
from mappers.openmetadata.fqn import EntityName, entity_name

MAX_COLUMN_NAME_CHARACTERS = 300


class NestedColumns(NamedTuple):
    """Nested columns, their paths by original name, and the original names of skipped columns."""

    columns: list[JsonObject]
    names: dict[str, tuple[str, ...]]
    skipped: list[str]


def nest_columns(columns: Iterable[SchemaColumn], max_characters: int = MAX_COLUMN_NAME_CHARACTERS) -> NestedColumns:
    """Nest columns and make their names valid; of several columns with the same path, the first is used."""
    result = NestedColumns([], {}, [])
    open_levels: list[tuple[str, tuple[str, ...], list[JsonObject]]] = [("", (), result.columns)]
    used_paths: set[tuple[str, ...]] = set()
    for column in columns:
        del open_levels[max(1, column.depth + 1) :]
        parent_name, parent_path, siblings = open_levels[-1]
        name = entity_name(
            column.name.removeprefix(f"{parent_name}.") if parent_name else column.name, max_characters
        )
        path = (*parent_path, name.name)
        if path in used_paths:
            result.skipped.append(column.name)
            siblings = []  # its nested columns are skipped, too
        used_paths.add(path)
        result.names.setdefault(column.name, path)
        body = _column_body(column, name, max_characters)
        siblings.append(body)
        open_levels.append((column.name, path, _Children(body)))
    return result


class _Children(list[JsonObject]):
    """The reported children of a column; the first reported child replaces the children that the type implies."""

    def __init__(self, column: JsonObject) -> None:
        super().__init__()
        self._column = column

    def append(self, child: JsonObject) -> None:
        super().append(child)
        self._column["children"] = list(self)
        if self._column["dataType"] == "UNKNOWN":
            self._column["dataType"] = "STRUCT"


def _column_body(column: SchemaColumn, name: EntityName, max_characters: int) -> JsonObject:
    body: JsonObject = {"name": name.name, **column_type(column.type)}
    if name.display_name:
        body["displayName"] = name.display_name
    if column.description:
        body["description"] = column.description
    return _rename_children(body, max_characters)


def _rename_children(column: JsonObject, max_characters: int) -> JsonObject:
    """Make the names of a type's nested columns valid; of several with the same name, the first is used."""
    if "children" not in column:
        return column
    children: dict[str, Any] = {}
    for child in column["children"]:
        name = entity_name(child["name"], max_characters)
        display_name = {"displayName": name.display_name} if name.display_name else {}
        children.setdefault(name.name, _rename_children(child | {"name": name.name} | display_name, max_characters))
    return column | {"children": list(children.values())}


def column_paths(columns: Iterable[JsonObject], parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all columns, including nested ones."""
    for column in columns:
        path = (*parent, column["name"])
        yield path
        yield from column_paths(column.get("children", ()), path)
