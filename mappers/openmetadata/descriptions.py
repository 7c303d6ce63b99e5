"""Escapes descriptions the way the server stores them.

The server removes HTML from descriptions and escapes the rest: unknown tags disappear with their content,
so that `array<string>` loses its element type. A description that is escaped before it is sent is stored
unchanged and complete, and equals what is read back.
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
_LAST_OF_BMP = 0xFFFF


def escape_description(description: str) -> str:
    """Escape a text as the server would store it; sent like this, it is stored unchanged."""
    escaped = description.translate(_TABLE).replace(_BRACES, _STORED_BRACES).strip()
    return "".join(char if ord(char) <= _LAST_OF_BMP else f"&#x{ord(char):x};" for char in escaped)


def unescape_description(stored: str) -> str:
    """Convert a stored text to the form in which people write it."""
    return html.unescape(stored.replace(_STORED_BRACES, _BRACES))
