"""Stored columns are decoded in their order, nested columns after their parents."""

import msgspec
import pytest

from mappers.canonical.columns import decode_columns


def stored(*columns: tuple[str, int, int | None]) -> str:
    rows = [{"name": name, "depth": depth, "ordinal": ordinal} for name, depth, ordinal in columns]
    return msgspec.json.encode([{key: value for key, value in row.items() if value} for row in rows]).decode()


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([("a", 0, None), ("b", 0, None)], ["a", "b"]),
        ([("a", 0, 2), ("b", 0, 1)], ["b", "a"]),
        ([("a", 0, None), ("s", 0, None), ("s.x", 1, 1), ("s.y", 1, 2), ("z", 0, 3)], ["a", "s", "s.x", "s.y", "z"]),
        ([("a", 0, 2), ("a.x", 1, 2), ("a.y", 1, 1), ("b", 0, 1), ("b.x", 1, None)], ["b", "b.x", "a", "a.y", "a.x"]),
        ([("a.b", 0, None), ("a", 0, None), ("a.b", 1, 1), ("a.b.c", 2, 1)], ["a.b", "a", "a.b", "a.b.c"]),
        ([("s", 0, None), ("s.t", 1, 1), ("s.t.u", 2, 1), ("z", 0, 2)], ["s", "s.t", "s.t.u", "z"]),
    ],
)
def test_nested_columns_follow_their_parent(columns: list[tuple[str, int, int | None]], names: list[str]) -> None:
    assert [column.name for column in decode_columns(stored(*columns))] == names
