"""Column types of all supported systems."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.openmetadata.column_types import column_type_fields


def type_members(type_name: str | None) -> dict[str, Any]:
    return {key: value for key, value in column_type_fields(type_name).items() if key != "dataTypeDisplay"}


@pytest.mark.parametrize(
    ("type_name", "data_type"),
    [
        ("string", "STRING"), ("integer", "INT"), ("float", "FLOAT"), ("boolean", "BOOLEAN"), ("date", "DATE"),
        ("timestamp", "TIMESTAMP"), ("object", "JSON"), ("long", "BIGINT"), ("short", "SMALLINT"), ("byte", "TINYINT"),
        ("double", "DOUBLE"), ("binary", "BYTES"), ("timestamp_ntz", "TIMESTAMP"), ("timestamp_ltz", "TIMESTAMPZ"),
        ("void", "NULL"), ("variant", "VARIANT"), ("INTERVAL DAY TO SECOND", "INTERVAL"), ("interval year to month", "INTERVAL"),
        ("TIMESTAMP(6)", "TIMESTAMP"), ("TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMPZ"), ("timestamptz", "TIMESTAMPZ"),
        ("DOUBLE PRECISION", "DOUBLE"), ("int8", "BIGINT"), ("BYTEINT", "BYTEINT"), ("PERIOD(DATE)", "INTERVAL"),
        ("CLOB(1M)", "CLOB"), ("DECFLOAT(34)", "DECIMAL"), ("bigint unsigned", "BIGINT"), ("JSONB", "JSON"), ("uuid", "UUID"),
        ("varchar", "STRING"), ("CHARACTER", "STRING"), ("VARBINARY", "BYTES"), ("number", "NUMBER"), ("decimal", "DECIMAL"),
        ("", "UNKNOWN"), (None, "UNKNOWN"), ("my_udt", "UNKNOWN"), ("pointy", "UNKNOWN"), ("interval_thing", "UNKNOWN"),
        ("enum('a','b')", "ENUM"), ("map", "MAP"), ("struct", "STRUCT"),
    ],
)  # fmt: skip
def test_simple_types(type_name: str | None, data_type: str) -> None:
    assert column_type_fields(type_name)["dataType"] == data_type


@pytest.mark.parametrize(
    ("type_name", "column"),
    [
        ("varchar(20)", {"dataType": "VARCHAR", "dataLength": 20}),
        ("varchar(2147483648)", {"dataType": "VARCHAR", "dataLength": 2147483647}),
        ("varchar(-1)", {"dataType": "STRING"}),
        ("longtext(4294967295)", {"dataType": "TEXT"}),
        ("decimal(2147483648, 2)", {"dataType": "DECIMAL"}),
        ("numeric(10, -2)", {"dataType": "NUMERIC"}),
        ("CHARACTER VARYING (20) NOT NULL", {"dataType": "VARCHAR", "dataLength": 20}),
        ("VARCHAR2(20 CHAR)", {"dataType": "VARCHAR", "dataLength": 20}),
        ("decimal(18,2)", {"dataType": "DECIMAL", "precision": 18, "scale": 2}),
        ("NUMBER(10)", {"dataType": "NUMBER", "precision": 10}),
        ("array<string>", {"dataType": "ARRAY", "arrayDataType": "STRING"}),
        ("array<decimal(10, 2)>", {"dataType": "ARRAY", "arrayDataType": "DECIMAL"}),
        ("array<array<int>>", {"dataType": "ARRAY", "arrayDataType": "ARRAY"}),
        ("array", {"dataType": "ARRAY", "arrayDataType": "UNKNOWN"}),
        ("map<string,int>", {"dataType": "MAP"}),
        (
            "struct<a:int,b:struct<c:decimal(10,2),d:array<string>>>",
            {"dataType": "STRUCT", "children": [
                {"name": "a", "dataType": "INT"},
                {"name": "b", "dataType": "STRUCT", "children": [
                    {"name": "c", "dataType": "DECIMAL", "precision": 10, "scale": 2},
                    {"name": "d", "dataType": "ARRAY", "arrayDataType": "STRING"},
                ]},
            ]},
        ),
        (
            "array<struct<`odd name`: string COMMENT 'what, it: is', n:bigint>>",
            {"dataType": "ARRAY", "arrayDataType": "STRUCT", "children": [
                {"name": "odd name", "dataType": "STRING"}, {"name": "n", "dataType": "BIGINT"},
            ]},
        ),
        ("map<string,struct<a:int>>", {"dataType": "MAP", "children": [{"name": "a", "dataType": "INT"}]}),
    ],
)  # fmt: skip
def test_parametrized_and_nested_types(type_name: str, column: dict[str, Any]) -> None:
    assert type_members(type_name) == column
    assert column_type_fields(type_name)["dataTypeDisplay"] == type_name.lower()


@given(st.one_of(st.text(max_size=60), st.text("<>(),:`'\" abarraystructmap12", max_size=60)))
def test_any_text_results_in_a_type(text: str) -> None:
    assert column_type_fields(text)["dataType"]
