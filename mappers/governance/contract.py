"""Checks columns against a data contract."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Type names with the same meaning in different systems.
_SYNONYMS = {
    "string": ("varchar", "char", "text", "clob", "nvarchar", "nchar", "character", "character varying", "bpchar"),
    "int": ("integer", "int4", "int32", "signed"),
    "bigint": ("long", "int8", "int64"),
    "smallint": ("short", "int2", "int16"),
    "tinyint": ("byte", "byteint", "int1"),
    "double": ("float8", "double precision", "float64"),
    "float": ("real", "float4", "float32"),
    "decimal": ("numeric", "number", "dec"),
    "boolean": ("bool", "bit"),
    "timestamp": ("datetime", "timestamp_ntz", "timestamp without time zone"),
    "timestamptz": ("timestamp_ltz", "timestamp with time zone"),
    "binary": ("varbinary", "bytea", "blob"),
}
_CANONICAL_TYPES = {name: kind for kind, names in _SYNONYMS.items() for name in (kind, *names)}
_TYPE = re.compile(r"([a-z_0-9 ]*[a-z_0-9]) ?(\(.*\))? ?")
#: Types whose parameters are compared, because they limit the values.
_PARAMETRIC_TYPES = frozenset({"decimal"})


def contract_violations(
    promised_columns: Sequence[Mapping[str, Any]], columns: Iterable[Mapping[str, Any]]
) -> list[str]:
    """List columns that are missing or have another type, and required columns that are nullable.

    Additional columns are not violations, nor are columns whose type or nullability is unknown.
    """
    columns_by_name = {str(column["name"]): column for column in columns}
    columns_by_folded_name = {name.casefold(): column for name, column in columns_by_name.items()}
    violations = []
    for promised_column in promised_columns:
        name = str(promised_column["name"])
        column = columns_by_name.get(name) or columns_by_folded_name.get(name.casefold())
        if column is None:
            violations.append(f"{name} is missing")
            continue
        type_, promised_type = column.get("type"), promised_column.get("type")
        if promised_type and type_ and normalize_type(str(promised_type)) != normalize_type(str(type_)):
            violations.append(f"{name} is {type_}, not {promised_type}")
        if promised_column.get("required") and column.get("nullable") is True:
            violations.append(f"{name} is nullable but required")
    return violations


def normalize_type(type_: str) -> str:
    """Return the canonical name of a type, without string lengths and timestamp precision."""
    lower = " ".join(type_.lower().split())
    match = _TYPE.fullmatch(lower)
    if match is None:
        return lower
    name, parameters = match.groups()
    canonical_name = _CANONICAL_TYPES.get(name, name)
    if canonical_name in _PARAMETRIC_TYPES or name not in _CANONICAL_TYPES:
        return canonical_name + (parameters or "").replace(" ", "")
    return canonical_name
