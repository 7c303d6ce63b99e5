"""Writes SQL literals per dialect: exact, and always on one line."""

import re
from datetime import datetime

from bridge.warehouse.dialect import WarehouseDialect

#: Limits of one literal: 32,672 bytes in DB2, 31,000 characters in Teradata.
_MAX_CHARACTERS = 8_000
_CONTROLS = re.compile("([\\x00-\\x1f\\x7f])")
_NEEDS_ESCAPES = re.compile(r"[\\\x00-\x1f\x7f]")


Value = str | float | bool | datetime | None


def literal(dialect: WarehouseDialect, value: Value) -> str:
    """Write a value as an SQL literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper() if dialect is WarehouseDialect.postgresql else str(int(value))
        case int() | float():
            return repr(value)
        case datetime():
            text = f"'{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
            return text if dialect is WarehouseDialect.sqlite else f"TIMESTAMP {text}"
        case str():
            return _TEXT_LITERALS[dialect](value)


def _quote(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _sqlite_literal(text: str) -> str:
    """Write text with control characters as a blob, because the sqlite3 shell drops carriage returns."""
    return f"CAST(X'{text.encode().hex()}' AS TEXT)" if _CONTROLS.search(text) else _quote(text)


def _postgres_literal(text: str) -> str:
    """Write special characters in an escape string, which does not depend on `standard_conforming_strings`."""
    if not _NEEDS_ESCAPES.search(text):
        return _quote(text)
    escaped = _CONTROLS.sub(lambda match: f"\\x{ord(match[1]):02x}", text.replace("\\", "\\\\"))
    return f"E{_quote(escaped)}"


def _split_into_parts(text: str) -> list[str]:
    """Split text into single control characters and parts that fit into one literal."""
    return [
        part[start : start + _MAX_CHARACTERS]
        for part in _CONTROLS.split(text)
        for start in range(0, len(part), _MAX_CHARACTERS)
    ]


def _concatenation(text: str, control_format: str, long_format: str) -> str:
    """Format text as a concatenation of literals.

    The DB2 and Teradata clients would alter line breaks inside a string literal.
    """
    parts = [
        control_format.format(ord(part)) if _CONTROLS.match(part) else _quote(part)
        for part in _split_into_parts(text)
    ] or ["''"]
    if len(text) > _MAX_CHARACTERS:
        parts[0] = long_format.format(parts[0])
    return " || ".join(parts)


def _db2_literal(text: str) -> str:
    return _concatenation(text, "CHR({})", "CLOB({})")


def _teradata_literal(text: str) -> str:
    return _concatenation(text, "_UNICODE '{:04X}'XC", "CAST({} AS CLOB CHARACTER SET UNICODE)")


_TEXT_LITERALS = {
    WarehouseDialect.sqlite: _sqlite_literal,
    WarehouseDialect.postgresql: _postgres_literal,
    WarehouseDialect.db2: _db2_literal,
    WarehouseDialect.teradata: _teradata_literal,
}
