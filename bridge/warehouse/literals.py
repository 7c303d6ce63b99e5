"""Values as each house reads them in a script: exactly, on one line, whatever is in a text."""

import re
from datetime import datetime

from bridge.warehouse.dialect import WarehouseDialect

#: DB2 takes 32,672 bytes in one literal, Teradata 31,000 characters.
_MAX_CHARACTERS = 8_000
_CONTROLS = re.compile("([\\x00-\\x1f\\x7f])")
_NEEDS_ESCAPES = re.compile(r"[\\\x00-\x1f\x7f]")


Value = str | float | bool | datetime | None


def literal(house: WarehouseDialect, value: Value) -> str:
    """Spell a value."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper() if house is WarehouseDialect.postgresql else str(int(value))
        case int() | float():
            return repr(value)
        case datetime():
            spelled = f"'{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
            return spelled if house is WarehouseDialect.sqlite else f"TIMESTAMP {spelled}"
        case str():
            return _TEXTS[house](value)


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _sqlite(text: str) -> str:
    """Spell a text with control characters by its bytes: the shell takes carriage returns away."""
    return f"CAST(X'{text.encode().hex()}' AS TEXT)" if _CONTROLS.search(text) else _quoted(text)


def _postgres(text: str) -> str:
    """Spell a text with escapes where it needs some: then no setting changes what a backslash means."""
    if not _NEEDS_ESCAPES.search(text):
        return _quoted(text)
    escaped = _CONTROLS.sub(lambda found: f"\\x{ord(found[1]):02x}", text.replace("\\", "\\\\"))
    return f"E{_quoted(escaped)}"


def _pieces(text: str) -> list[str]:
    """Take a text apart: control characters alone, other characters in parts short enough for a literal."""
    return [
        part[start : start + _MAX_CHARACTERS]
        for part in _CONTROLS.split(text)
        for start in range(0, len(part), _MAX_CHARACTERS)
    ]


def _joined(text: str, control: str, long: str) -> str:
    """Join the parts of a text; clients of these houses make a space of a line's end within quotes."""
    parts = [control.format(ord(part)) if _CONTROLS.match(part) else _quoted(part) for part in _pieces(text)] or [
        "''"
    ]
    if len(text) > _MAX_CHARACTERS:
        parts[0] = long.format(parts[0])
    return " || ".join(parts)


def _db2(text: str) -> str:
    return _joined(text, "CHR({})", "CLOB({})")


def _teradata(text: str) -> str:
    return _joined(text, "_UNICODE '{:04X}'XC", "CAST({} AS CLOB CHARACTER SET UNICODE)")


_TEXTS = {
    WarehouseDialect.sqlite: _sqlite,
    WarehouseDialect.postgresql: _postgres,
    WarehouseDialect.db2: _db2,
    WarehouseDialect.teradata: _teradata,
}
