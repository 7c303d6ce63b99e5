"""Whether the columns that arrive are those that a contract promises."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Names of types that mean the same, whatever system they are from.
_ALIKE = {
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
_CALLED = {name: kind for kind, names in _ALIKE.items() for name in (kind, *names)}
_TYPE = re.compile(r"\s*([a-z_0-9 ]+?)\s*(\(.*\))?\s*")
#: Types whose parameters say what fits into them.
_EXACT = frozenset({"decimal"})


def contract_violations(promised: Sequence[Mapping[str, Any]], columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what of a promise is broken: columns that are missing, of another type, or may be empty now.

    Columns that nobody promised break nothing, and what is not known of a column neither.
    """
    there = {str(column["name"]): column for column in columns}
    alike = {name.casefold(): column for name, column in there.items()}
    broken = []
    for one in promised:
        name = str(one["name"])
        column = there.get(name) or alike.get(name.casefold())
        if column is None:
            broken.append(f"{name} is missing")
            continue
        type_, promised_type = column.get("type"), one.get("type")
        if promised_type and type_ and normalize_type(str(promised_type)) != normalize_type(str(type_)):
            broken.append(f"{name} is {type_}, not {promised_type}")
        if one.get("required") and column.get("nullable") is True:
            broken.append(f"{name} may be empty now")
    return broken


def normalize_type(type_: str) -> str:
    """Give the one name of a type: lengths of texts and precisions of times do not matter."""
    lower = " ".join(type_.lower().split())
    matched = _TYPE.fullmatch(lower)
    if matched is None:
        return lower
    kind = _CALLED.get(matched[1], matched[1])
    parameters = (matched[2] or "").replace(" ", "")
    if kind in _EXACT or matched[1] not in _CALLED:
        return kind + parameters
    return kind
