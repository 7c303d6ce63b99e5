"""Generates descriptions, and escapes descriptions the way the server does.

The server removes HTML from descriptions and escapes the rest. It removes unknown tags with their content, so
`array<string>` would lose its element type. If a description is escaped before it is sent, the server stores it
unchanged, and the value that is read back equals the value sent.
"""

import html
from collections.abc import Collection

_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&#34;",
    "'": "&#39;",
    "`": "&#96;",
    "=": "&#61;",
    "+": "&#43;",
    "@": "&#64;",
    "\0": "",
}
_TABLE = str.maketrans(_ESCAPES)
_BRACES, _STORED_BRACES = "{{", "{<!-- -->{"
_MAX_BMP_CODE_POINT = 0xFFFF
#: Formats whose names are not just capitalized.
_FORMAT_NAMES = {"csv": "CSV", "json": "JSON", "jdbc": "JDBC", "orc": "ORC", "tsv": "TSV", "xml": "XML"}
#: A generated description lists this many names, and the number of the others.
_MAX_NAMES = 3


def escape_description(description: str) -> str:
    """Escape a description as the server does, so that the server stores it unchanged."""
    escaped = description.translate(_TABLE).replace(_BRACES, _STORED_BRACES).strip()
    return "".join(char if ord(char) <= _MAX_BMP_CODE_POINT else f"&#x{ord(char):x};" for char in escaped)


def generated_description(format_: str | None, writers: Collection[str], sources: Collection[str]) -> str | None:
    """Describe a dataset that nobody has described, or return None if no writer is known."""
    if not writers:
        return None
    origin = f"written by {_enumerate(writers)}" + (f" from {_enumerate(sources)}" if sources else "")
    description = f"{_FORMAT_NAMES.get(format_, format_)}, {origin}" if format_ else origin
    return description[0].upper() + description[1:]


def _enumerate(names: Collection[str]) -> str:
    """Join the first names in alphabetical order."""
    *first, last = sorted(set(names))
    if len(first) >= _MAX_NAMES:
        return f"{', '.join(first[:_MAX_NAMES])} and {len(first) + 1 - _MAX_NAMES} more"
    return f"{', '.join(first)} and {last}" if first else last


def unescape_description(stored: str) -> str:
    """Convert a stored description back to plain text."""
    return html.unescape(stored.replace(_STORED_BRACES, _BRACES))
