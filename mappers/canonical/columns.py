"""Decodes the column list that is stored with a dataset schema."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class SchemaColumn(NamedTuple):
    """A column, named by its full path; `depth` is the nesting level. Nested columns follow their parent."""

    name: str
    type: str | None = None
    description: str | None = None
    depth: int = 0


class _StoredColumn(msgspec.Struct):
    name: str
    type: str | None = None
    description: str | None = None
    depth: int = 0
    ordinal: int | None = None


_decoder = msgspec.json.Decoder(list[_StoredColumn])


def decode_columns(columns_json: str) -> list[SchemaColumn]:
    """List columns by ordinal, with nested columns right after their parent.

    The stored list has the same structure. `ordinal` is the position within one parent, so sorting all columns by
    ordinal would separate nested columns from their parents.
    """
    roots: list[_ColumnNode] = []
    open_levels = [roots]
    for position, column in enumerate(_decoder.decode(columns_json), start=1):
        del open_levels[column.depth + 1 :]
        node = _ColumnNode(column.ordinal or position, column, [])
        open_levels[-1].append(node)
        open_levels.append(node.children)
    return list(_flatten_in_order(roots))


class _ColumnNode(NamedTuple):
    ordinal: int
    column: _StoredColumn
    children: "list[_ColumnNode]"


def _flatten_in_order(nodes: list[_ColumnNode]) -> Iterator[SchemaColumn]:
    for node in sorted(nodes, key=lambda sibling: (sibling.ordinal, sibling.column.name)):
        column = node.column
        yield SchemaColumn(column.name, column.type, column.description, column.depth)
        yield from _flatten_in_order(node.children)
