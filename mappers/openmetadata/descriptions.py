"""Escapes descriptions the way the server does.

The server removes HTML from descriptions and escapes the rest. It removes unknown tags with their content, so
`array<string>` would lose its element type. If a description is escaped before it is sent, the server stores it
unchanged, and the value that is read back equals the value sent.
"""

import html

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


def escape_description(description: str) -> str:
    """Escape a description as the server does, so that the server stores it unchanged."""
    escaped = description.translate(_TABLE).replace(_BRACES, _STORED_BRACES).strip()
    return "".join(char if ord(char) <= _MAX_BMP_CODE_POINT else f"&#x{ord(char):x};" for char in escaped)


def unescape_description(stored: str) -> str:
    """Convert a stored description back to plain text."""
    return html.unescape(stored.replace(_STORED_BRACES, _BRACES))
