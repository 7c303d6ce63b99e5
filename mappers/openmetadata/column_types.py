"""Parses column types into OpenMetadata data types."""

import re
from functools import lru_cache
from typing import NamedTuple

from mappers.canonical_json import JsonObject

_KINDS: dict[str, str] = {
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
    "SMALLINT": "short, smallint, int2, smallserial",
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
_WORDS = {word.strip(): kind for kind, words in _KINDS.items() for word in words.split(",")}
#: Types that the server refuses without a length, and what stands for one that has none.
_NEED_LENGTH = {"VARCHAR": "STRING", "CHAR": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES"}
_LENGTHS = frozenset(_NEED_LENGTH)
_PRECISE = frozenset({"DECIMAL", "NUMERIC", "NUMBER"})
_UNSPOKEN = re.compile(r"\b(unsigned|signed|zerofill|not null|nullable|year to \w+|day to \w+)\b")
_NUMBERS = re.compile(r"\d+")
_SYMBOL = re.compile(r"\s*([<>(),:]|`(?:[^`]|``)*`|\"[^\"]*\"|'(?:[^']|'')*'|[^<>(),:`\"'\s]+)")
_MAX_DISPLAYED = 1_000
#: How long the types are at most that are parsed once.
_MAX_REMEMBERED = 50


class _ParsedType(NamedTuple):
    """A parsed type: its words, its numbers, and the types within it with their names."""

    words: str
    arguments: tuple[str, ...] = ()
    inner: tuple[tuple[str, "_ParsedType"], ...] = ()


def column_type(written: str | None) -> JsonObject:
    """Give the keys of a column that say its type; one that nobody knows is UNKNOWN, and shown as it was written."""
    text = (written or "").strip()
    if not text:
        return {"dataType": "UNKNOWN"}
    told = _simple(text) if len(text) <= _MAX_REMEMBERED and "<" not in text else _column(_parsed(text))
    return told | {"dataTypeDisplay": text.lower()[:_MAX_DISPLAYED]}


@lru_cache(maxsize=4_096)
def _simple(text: str) -> JsonObject:
    """Give the keys of a short type, of which a warehouse has few; whoever gets them copies them."""
    return _column(_parsed(text))


def _parsed(text: str) -> _ParsedType:
    parser = _TypeParser(_SYMBOL.findall(text))
    return parser.type()


def _column(found: _ParsedType) -> JsonObject:
    words = _UNSPOKEN.sub("", found.words).strip()
    if words in {"array", "list"} and found.inner:
        item = found.inner[0][1]
        column: JsonObject = {"dataType": "ARRAY", "arrayDataType": _column(item)["dataType"]}
        children = _struct_within(item)
        return column | ({"children": children} if children else {})
    if words in {"struct", "row", "record"}:
        return {"dataType": "STRUCT", "children": [_named(*inner) for inner in found.inner]}
    if words == "map" and found.inner:
        children = _struct_within(found.inner[-1][1])
        return {"dataType": "MAP"} | ({"children": children} if children else {})
    return _plain(_WORDS.get(re.sub(r"\s+", " ", words), ""), found.arguments) or _bare(words)


def _plain(kind: str, arguments: tuple[str, ...]) -> JsonObject | None:
    numbers = [int(number) for argument in arguments for number in _NUMBERS.findall(argument)]
    if kind in _LENGTHS:
        return {"dataType": kind, "dataLength": numbers[0]} if numbers else {"dataType": _NEED_LENGTH[kind]}
    if kind in _PRECISE and numbers:
        return {"dataType": kind, "precision": numbers[0]} | ({"scale": numbers[1]} if len(numbers) > 1 else {})
    return {"dataType": kind} if kind else None


def _bare(words: str) -> JsonObject:
    """Give a type of many words by the first that says it: `interval year`, `timestamp(6)`."""
    first = words.partition(" ")[0]
    return (
        {"dataType": "ARRAY", "arrayDataType": "UNKNOWN"}
        if first in {"array", "list"}
        else {"dataType": {"map": "MAP", "interval": "INTERVAL"}.get(first, "UNKNOWN")}
    )


def _struct_within(found: _ParsedType) -> list[JsonObject]:
    return [_named(*inner) for inner in found.inner] if found.words in {"struct", "row", "record"} else []


def _named(name: str, found: _ParsedType) -> JsonObject:
    return {"name": name, **_column(found)}


class _TypeParser:
    """Reads `name<inner, …>`, `name(arguments) more words`, `name: type` within structs."""

    def __init__(self, symbols: list[str]) -> None:
        self._symbols = symbols
        self._at = 0

    def _peek(self) -> str:
        return self._symbols[self._at] if self._at < len(self._symbols) else ""

    def _take(self) -> str:
        symbol = self._peek()
        self._at += 1
        return symbol

    def type(self) -> _ParsedType:
        """Read one type, up to what ends it."""
        words: list[str] = []
        arguments: tuple[str, ...] = ()
        inner: tuple[tuple[str, _ParsedType], ...] = ()
        while self._peek() and self._peek() not in {">", ",", ")"}:
            symbol = self._take()
            if symbol == "(":
                arguments += self._arguments()
            elif symbol == "<":
                inner = self._inner(named=words[-1:] in (["struct"], ["row"], ["record"]))
            elif symbol == ":" or symbol[0] in "'\"":
                continue
            elif symbol.lower() == "comment":
                self._take()
            else:
                words.append(symbol.lower())
        return _ParsedType(" ".join(words), arguments, inner)

    def _arguments(self) -> tuple[str, ...]:
        found: list[str] = []
        depth = 1
        while depth and self._peek():
            symbol = self._take()
            depth += (symbol == "(") - (symbol == ")")
            if depth and symbol != ",":
                found.append(symbol)
        return tuple(found)

    def _inner(self, *, named: bool) -> tuple[tuple[str, _ParsedType], ...]:
        found: list[tuple[str, _ParsedType]] = []
        while self._peek() and self._peek() != ">":
            name = self._name() if named else ""
            found.append((name, self.type()))
            if self._peek() in {",", ")"}:
                self._take()
        self._take()
        return tuple(found)

    def _name(self) -> str:
        name = self._take()
        if name.startswith(("`", '"')):
            name = name[1:-1].replace("``", "`")
        if self._peek() == ":":
            self._take()
        return name
