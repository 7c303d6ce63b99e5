"""Decodes the stored column list of a dataset schema."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class SchemaColumn(NamedTuple):
    """A column with its full path as name; nested columns follow their parent, one level deeper."""

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
    """List columns by ordinal, nested columns right after their parent.

    Columns are stored in the same nesting. `ordinal` counts the columns of one parent: sorting all columns by it
    would put nested columns after columns that are not their parents.
    """
    roots: list[_ColumnNode] = []
    open_levels = [roots]
    for position, column in enumerate(_decoder.decode(columns_json), start=1):
        del open_levels[column.depth + 1 :]
        node = _ColumnNode(column.ordinal or position, column, [])
        open_levels[-1].append(node)
        open_levels.append(node.children)
    return list(_flatten(roots))


class _ColumnNode(NamedTuple):
    ordinal: int
    column: _StoredColumn
    children: "list[_ColumnNode]"


def _flatten(nodes: list[_ColumnNode]) -> Iterator[SchemaColumn]:
    for node in sorted(nodes, key=lambda sibling: (sibling.ordinal, sibling.column.name)):
        column = node.column
        yield SchemaColumn(column.name, column.type, column.description, column.depth)
        yield from _flatten(node.children)
