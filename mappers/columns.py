"""The columns of a schema as the store keeps them: each with its place among those beside it, not among all."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class ListedColumn(NamedTuple):
    """A column, its whole path as name, those within it behind it and deeper by one."""

    name: str
    type: str | None
    description: str | None
    depth: int


class _Kept(msgspec.Struct):
    name: str
    type: str | None = None
    description: str | None = None
    depth: int = 0
    ordinal: int | None = None


_decoder = msgspec.json.Decoder(list[_Kept])


def listed(columns_json: str) -> list[ListedColumn]:
    """List columns in the order that they say themselves, what is within one always behind it.

    They are kept with what is within them behind them; `ordinal` is a place among columns of one parent, so that all
    of them in its order would put children behind columns that are not their parents.
    """
    top: list[_Node] = []
    open_ = [top]
    for place, column in enumerate(_decoder.decode(columns_json), start=1):
        del open_[column.depth + 1 :]
        node = _Node(column.ordinal or place, column, [])
        open_[-1].append(node)
        open_.append(node.within)
    return list(_flat(top))


class _Node(NamedTuple):
    ordinal: int
    column: _Kept
    within: "list[_Node]"


def _flat(nodes: list[_Node]) -> Iterator[ListedColumn]:
    for node in sorted(nodes, key=lambda one: (one.ordinal, one.column.name)):
        column = node.column
        yield ListedColumn(column.name, column.type, column.description, column.depth)
        yield from _flat(node.within)
