"""Nested columns with names that OpenMetadata accepts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.canonical.columns import SchemaColumn
from mappers.openmetadata.columns import column_paths, nest_columns


def shape(columns: list[dict[str, Any]]) -> list[Any]:
    """Names of columns, with those of their children."""
    return [
        [column["name"], shape(column["children"])] if "children" in column else column["name"] for column in columns
    ]


@pytest.mark.parametrize(
    ("columns", "expected"),
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
def test_columns_are_nested_as_reported(columns: list[SchemaColumn], expected: list[Any]) -> None:
    assert (
        shape(
            [
                {key: value for key, value in column.items() if key != "children" or value}
                for column in nest_columns(columns).columns
            ]
        )
        == expected
    )


@pytest.mark.parametrize(
    ("columns", "displayed", "element"),
    [
        ([SchemaColumn("a", "array"), SchemaColumn("a._element", "string", depth=1)], "array<string>", "STRING"),
        ([SchemaColumn("s", "struct"), SchemaColumn("s.x", "int", depth=1), SchemaColumn("s.y", "date", depth=1)], "struct<x:int,y:date>", None),
        ([SchemaColumn("a", "array"), SchemaColumn("a._element", "struct", depth=1), SchemaColumn("a._element.x", "array", depth=2), SchemaColumn("a._element.x._element", "int", depth=3)], "array<struct<x:array<int>>>", "STRUCT"),
        ([SchemaColumn("m", "map"), SchemaColumn("m.key", "string", depth=1), SchemaColumn("m.value", "int", depth=1)], "map<string,int>", None),
        ([SchemaColumn("a", "array<int>")], "array<int>", "INT"),
        ([SchemaColumn("a", "array")], "array", "UNKNOWN"),
    ],
)  # fmt: skip
def test_types_of_nested_columns_are_displayed(
    columns: list[SchemaColumn], displayed: str, element: str | None
) -> None:
    (column,) = nest_columns(columns).columns
    assert (column["dataTypeDisplay"], column.get("arrayDataType")) == (displayed, element)


def test_skipped_columns_are_listed() -> None:
    assert nest_columns([SchemaColumn("x", "int"), SchemaColumn("x", "string")]).skipped == ["x"]


def test_invalid_names_are_replaced_and_displayed() -> None:
    nested = nest_columns([SchemaColumn('a"b', "struct"), SchemaColumn('a"b.c::d', "int", "what", 1)])
    (outer,) = nested.columns
    (inner,) = outer["children"]
    assert (outer["displayName"], inner["displayName"], inner["description"]) == ('a"b', "c::d", "what")
    assert nested.names['a"b.c::d'] == (outer["name"], inner["name"])


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
def test_any_columns_get_distinct_paths(columns: list[SchemaColumn]) -> None:
    paths = list(column_paths(nest_columns(columns).columns))
    assert len(paths) == len(set(paths))
    assert all(name for path in paths for name in path)
