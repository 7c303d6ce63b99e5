"""Nests columns, and converts their names to names that OpenMetadata accepts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mappers.canonical.columns import SchemaColumn
from mappers.canonical_json import JsonObject
from mappers.openmetadata.column_types import MAX_DISPLAYED_CHARACTERS, column_type_fields
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
    open_levels = [_OpenLevel("", (), result.columns)]
    used_paths: set[tuple[str, ...]] = set()
    for column in columns:
        del open_levels[max(1, column.depth + 1) :]
        parent = open_levels[-1]
        own_name = column.name.removeprefix(f"{parent.name}.") if parent.name else column.name
        name = entity_name(own_name, max_characters)
        path = (*parent.path, name.name)
        body = _column_body(column, name, max_characters)
        if path in used_paths:
            result.skipped.append(column.name)  # its nested columns are only added to the unused body
        else:
            parent.add(body)
        used_paths.add(path)
        result.names.setdefault(column.name, path)
        open_levels.append(_OpenLevel(column.name, path, [], body))
    for body in result.columns:
        _display_nested_types(body)
    return result


class _OpenLevel(NamedTuple):
    """A column, or the top level of a schema, and the reported columns directly below it.

    `body` is the column in the format of the server, or None at the top level.
    """

    name: str
    path: tuple[str, ...]
    columns: list[JsonObject]
    body: JsonObject | None = None

    def add(self, child: JsonObject) -> None:
        self.columns.append(child)
        if self.body is not None:
            # The reported children replace the children that the type implies.
            self.body["children"] = self.columns
            if self.body["dataType"] == "UNKNOWN":
                self.body["dataType"] = "STRUCT"


def _column_body(column: SchemaColumn, name: EntityName, max_characters: int) -> JsonObject:
    body: JsonObject = {"name": name.name, **column_type_fields(column.type)}
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


def _display_nested_types(column: JsonObject) -> str:
    """Display the types of reported nested columns in the type of their parent, such as `array<string>`."""
    children = [(str(child["name"]), _display_nested_types(child)) for child in column.get("children", ())]
    displayed = str(column.get("dataTypeDisplay") or column["dataType"].lower())
    child_types = ",".join(child_type for _, child_type in children)
    named_child_types = ",".join(f"{name}:{child_type}" for name, child_type in children)
    nested_types = {"array": child_types, "map": child_types, "struct": named_child_types}
    if column.get("arrayDataType") == "UNKNOWN" and children:
        column["arrayDataType"] = column["children"][0]["dataType"]
    if nested := nested_types.get(displayed):
        displayed = column["dataTypeDisplay"] = f"{displayed}<{nested}>"[:MAX_DISPLAYED_CHARACTERS]
    return displayed


def column_paths(columns: Iterable[JsonObject], parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all columns, including nested ones."""
    for column in columns:
        path = (*parent, column["name"])
        yield path
        yield from column_paths(column.get("children", ()), path)
