"""Columns as OpenMetadata takes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.canonical.columns import SchemaColumn
from mappers.openmetadata.columns import column_paths, nest_columns


def shape(columns: list[dict[str, Any]]) -> list[Any]:
    """Name columns, with those within them."""
    return [
        [column["name"], shape(column["children"])] if "children" in column else column["name"] for column in columns
    ]


@pytest.mark.parametrize(
    ("rows", "shaped"),
    [
        ([SchemaColumn("a", "int"), SchemaColumn("b", "string")], ["a", "b"]),
        ([SchemaColumn("s", "struct"), SchemaColumn("s.x", "int", depth=1), SchemaColumn("t", "int")], [["s", ["x"]], "t"]),
        ([SchemaColumn("s", "struct<x:int,y:struct<z:int>>")], [["s", ["x", ["y", ["z"]]]]]),
        ([SchemaColumn("s", "struct<x:int>"), SchemaColumn("s.other", "int", depth=1)], [["s", ["other"]]]),
        ([SchemaColumn("s", None), SchemaColumn("s.x", "int", depth=1), SchemaColumn("s.x.y", "int", depth=2)], [["s", [["x", ["y"]]]]]),
        ([SchemaColumn("a.b", "int"), SchemaColumn("a", "struct"), SchemaColumn("a.b", "int", depth=1)], ["a.b", ["a", ["b"]]]),
        ([SchemaColumn("x", "int"), SchemaColumn("x", "string")], ["x"]),
        ([SchemaColumn("x", "struct"), SchemaColumn("x", "struct"), SchemaColumn("x.y", "int", depth=1)], ["x"]),
    ],
)  # fmt: skip
def test_columns_are_nested_as_they_are_reported(rows: list[SchemaColumn], shaped: list[Any]) -> None:
    assert shape([{k: v for k, v in c.items() if k != "children" or v} for c in nest_columns(rows).columns]) == shaped


def test_what_is_left_out_is_told() -> None:
    assert nest_columns([SchemaColumn("x", "int"), SchemaColumn("x", "string")]).skipped == ["x"]


def test_a_name_that_no_server_takes_is_replaced_and_shown() -> None:
    found = nest_columns([SchemaColumn('a"b', "struct"), SchemaColumn('a"b.c::d', "int", "what", 1)])
    (outer,) = found.columns
    (inner,) = outer["children"]
    assert (outer["displayName"], inner["displayName"], inner["description"]) == ('a"b', "c::d", "what")
    assert found.names['a"b.c::d'] == (outer["name"], inner["name"])


@given(
    st.lists(
        st.builds(
            SchemaColumn,
            st.text(max_size=5),
            st.one_of(st.none(), st.text("<>(),:ab struct", max_size=30)),
            st.none(),
            st.integers(0, 4),
        ),
        max_size=12,
    )
)
def test_whatever_is_reported_gives_columns_of_different_names(rows: list[SchemaColumn]) -> None:
    found = list(column_paths(nest_columns(rows).columns))
    assert len(found) == len(set(found))
    assert all(name for path in found for name in path)
