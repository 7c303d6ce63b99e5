"""Parses column types into OpenMetadata data types."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mappers.canonical_json import JsonObject

_TYPE_NAMES: dict[str, str] = {
    "STRING": "string, str, name, xml, xmltype, inet, cidr, rowid",
    "JSON": "object, json, jsonb",
    "TEXT": "text, tinytext, longtext, long varchar, long vargraphic, citext",
    "MEDIUMTEXT": "mediumtext",
    "CLOB": "clob, nclob, dbclob",
    "VARCHAR": (
        "varchar, varchar2, nvarchar, nvarchar2, vargraphic, character varying, national character varying, "
        "char varying"
    ),
    "CHAR": "char, character, nchar, bpchar, graphic, national character",
    "BOOLEAN": "boolean, bool, bit, logical",
    "TINYINT": "byte, tinyint, int1",
    "BYTEINT": "byteint",
    "SMALLINT": "short, smallint, int2, int16, smallserial",
    "INT": "int, integer, int4, mediumint, serial, int32, year",
    "BIGINT": "long, bigint, int8, bigserial, int64",
    "FLOAT": "float, real, float4, binary_float, float32",
    "DOUBLE": "double, double precision, float8, binary_double, float64",
    "DECIMAL": "decimal, dec, decfloat",
    "NUMERIC": "numeric, money, smallmoney",
    "NUMBER": "number",
    "DATE": "date",
    "TIME": "time, time without time zone, time with time zone, timetz",
    "DATETIME": "datetime, datetime2, smalldatetime",
    "TIMESTAMPZ": (
        "datetimeoffset, timestamp_ltz, timestamptz, timestamp with time zone, timestamp with local time zone"
    ),
    "TIMESTAMP": "timestamp, timestamp_ntz, timestamp without time zone",
    "INTERVAL": "interval, period",
    "BINARY": "binary",
    "VARBINARY": "varbinary, binary varying",
    "BYTES": "bytea, bytes, raw, long raw",
    "BLOB": "blob, image",
    "LONGBLOB": "longblob",
    "MEDIUMBLOB": "mediumblob",
    "VARIANT": "variant",
    "UUID": "uuid, uniqueidentifier",
    "ENUM": "enum",
    "SET": "set",
    "GEOGRAPHY": "geography",
    "GEOMETRY": "geometry",
    "NULL": "void, null",
}
_DATA_TYPES = {name.strip(): data_type for data_type, names in _TYPE_NAMES.items() for name in names.split(",")}
#: Types that the server rejects without a length, and their substitutes.
_WITHOUT_LENGTH = {"VARCHAR": "STRING", "CHAR": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES"}
_TYPES_WITH_LENGTH = frozenset(_WITHOUT_LENGTH)
_TYPES_WITH_PRECISION = frozenset({"DECIMAL", "NUMERIC", "NUMBER"})
_STRUCT_KEYWORDS = frozenset({"struct", "row", "record"})
#: Names of column types, in lower case.
TYPE_NAMES = frozenset(_DATA_TYPES) | _STRUCT_KEYWORDS | {"array", "list", "map"}
_IGNORED_WORDS = re.compile(r"\b(unsigned|signed|zerofill|not null|nullable|year to \w+|day to \w+)\b")
_NUMBERS = re.compile(r"-?\d+")
#: Largest number in a type; the server rejects the whole table if a number is larger or negative.
_MAX_INT = (1 << 31) - 1
_SYMBOL = re.compile(r"\s*([<>(),:]|`(?:[^`]|``)*`|\"[^\"]*\"|'(?:[^']|'')*'|[^<>(),:`\"'\s]+)")
MAX_DISPLAYED_CHARACTERS = 1_000
#: Types with more nested types are unknown to the server.
_MAX_NESTED_TYPES = 200
#: Maximum length of cached types.
_MAX_CACHED_CHARACTERS = 50


class _ParsedType(NamedTuple):
    """A parsed type with its keywords, arguments and named nested types."""

    keywords: str
    arguments: tuple[str, ...] = ()
    inner: tuple[tuple[str, "_ParsedType"], ...] = ()


def column_type_fields(type_name: str | None) -> JsonObject:
    """Return the type fields of a column; an unknown type becomes UNKNOWN, but is displayed as written."""
    text = (type_name or "").strip()
    if not text:
        return {"dataType": "UNKNOWN"}
    if text.count("<") > _MAX_NESTED_TYPES:
        return {"dataType": "UNKNOWN", "dataTypeDisplay": text.lower()[:MAX_DISPLAYED_CHARACTERS]}
    if len(text) <= _MAX_CACHED_CHARACTERS and "<" not in text:
        fields = _cached_type_fields(text)
    else:
        fields = _type_fields(_parse_type(text))
    return fields | {"dataTypeDisplay": text.lower()[:MAX_DISPLAYED_CHARACTERS]}


def unknown_type_names(type_name: str) -> list[str]:
    """Return the names in a type that no known system uses, including names of nested types."""
    if type_name.count("<") > _MAX_NESTED_TYPES:
        return [type_name[:_MAX_CACHED_CHARACTERS]]
    return list(_unknown_names(_parse_type(type_name)))


def _unknown_names(parsed: _ParsedType) -> Iterator[str]:
    """Yield unknown names. Systems add words of their own to a type, such as `varchar for bit data`."""
    name = " ".join(_IGNORED_WORDS.sub("", parsed.keywords).split())
    first_word, _, _ = name.partition(" ")
    if name and not {name, first_word} & TYPE_NAMES:
        yield name
    for _, inner_type in parsed.inner:
        yield from _unknown_names(inner_type)


@lru_cache(maxsize=4_096)
def _cached_type_fields(text: str) -> JsonObject:
    """Return the cached type fields of a short type string; callers must copy the result before they change it."""
    return _type_fields(_parse_type(text))


def _parse_type(text: str) -> _ParsedType:
    return _TypeParser(_SYMBOL.findall(text)).type()


def _type_fields(parsed: _ParsedType) -> JsonObject:
    keywords = _IGNORED_WORDS.sub("", parsed.keywords).strip()
    if keywords in {"array", "list"} and parsed.inner:
        _, element = parsed.inner[0]
        fields: JsonObject = {"dataType": "ARRAY", "arrayDataType": _type_fields(element)["dataType"]}
        return fields | _children_field(element)
    if keywords in _STRUCT_KEYWORDS:
        return {"dataType": "STRUCT", "children": [_child_column(*inner) for inner in parsed.inner]}
    if keywords == "map" and parsed.inner:
        _, value_type = parsed.inner[-1]
        return {"dataType": "MAP"} | _children_field(value_type)
    data_type = _DATA_TYPES.get(re.sub(r"\s+", " ", keywords), "")
    return _scalar_fields(data_type, parsed.arguments) or _fallback_fields(keywords)


def _scalar_fields(data_type: str, arguments: tuple[str, ...]) -> JsonObject | None:
    numbers = [int(number) for argument in arguments for number in _NUMBERS.findall(argument)]
    if data_type in _TYPES_WITH_LENGTH:
        if not numbers or numbers[0] < 0:
            return {"dataType": _WITHOUT_LENGTH[data_type]}
        return {"dataType": data_type, "dataLength": min(numbers[0], _MAX_INT)}
    if data_type in _TYPES_WITH_PRECISION and numbers and all(0 <= number <= _MAX_INT for number in numbers):
        precision_and_scale = dict(zip(("precision", "scale"), numbers, strict=False))
        return {"dataType": data_type, **precision_and_scale}
    return {"dataType": data_type} if data_type else None


def _fallback_fields(keywords: str) -> JsonObject:
    """Return the type fields for the first keyword, such as INTERVAL for `interval year`."""
    first_keyword = keywords.partition(" ")[0]
    if first_keyword in {"array", "list"}:
        return {"dataType": "ARRAY", "arrayDataType": "UNKNOWN"}
    return {"dataType": {"map": "MAP", "interval": "INTERVAL"}.get(first_keyword, "UNKNOWN")}


def _children_field(parsed: _ParsedType) -> JsonObject:
    """Return the field with the nested columns of a struct, or no field for any other type."""
    if parsed.keywords not in _STRUCT_KEYWORDS or not parsed.inner:
        return {}
    return {"children": [_child_column(*inner) for inner in parsed.inner]}


def _child_column(name: str, parsed: _ParsedType) -> JsonObject:
    return {"name": name, **_type_fields(parsed)}


class _TypeParser:
    """Parses `name<inner, …>`, `name(arguments) more words`, and `name: type` within structs."""

    def __init__(self, symbols: list[str]) -> None:
        self._symbols = symbols
        self._position = 0

    def _peek(self) -> str:
        return self._symbols[self._position] if self._position < len(self._symbols) else ""

    def _next_symbol(self) -> str:
        symbol = self._peek()
        self._position += 1
        return symbol

    def type(self) -> _ParsedType:
        """Parse one type, up to but not including the symbol that ends it."""
        keywords: list[str] = []
        arguments: tuple[str, ...] = ()
        inner: tuple[tuple[str, _ParsedType], ...] = ()
        while self._peek() and self._peek() not in {">", ",", ")"}:
            symbol = self._next_symbol()
            if symbol == "(":
                arguments += self._parse_arguments()
            elif symbol == "<":
                is_struct = bool(keywords) and keywords[-1] in _STRUCT_KEYWORDS
                inner = self._parse_inner_types(has_names=is_struct)
            elif symbol == ":" or symbol[0] in "'\"":
                continue
            elif symbol.lower() == "comment":
                self._next_symbol()
            else:
                keywords.append(symbol.lower())
        return _ParsedType(" ".join(keywords), arguments, inner)

    def _parse_arguments(self) -> tuple[str, ...]:
        arguments: list[str] = []
        depth = 1
        while depth and self._peek():
            symbol = self._next_symbol()
            if symbol == "(":
                depth += 1
            elif symbol == ")":
                depth -= 1
            if depth and symbol != ",":
                arguments.append(symbol)
        return tuple(arguments)

    def _parse_inner_types(self, *, has_names: bool) -> tuple[tuple[str, _ParsedType], ...]:
        inner: list[tuple[str, _ParsedType]] = []
        while self._peek() and self._peek() != ">":
            name = self._parse_field_name() if has_names else ""
            inner.append((name, self.type()))
            if self._peek() in {",", ")"}:
                self._next_symbol()
        self._next_symbol()
        return tuple(inner)

    def _parse_field_name(self) -> str:
        name = self._next_symbol()
        if name.startswith(("`", '"')):
            name = name[1:-1].replace("``", "`")
        if self._peek() == ":":
            self._next_symbol()
        return name
