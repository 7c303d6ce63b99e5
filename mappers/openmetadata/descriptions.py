"""Escapes descriptions the way the server stores them."""

import html

_ESCAPED = {
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
_TABLE = str.maketrans(_ESCAPED)
_BRACES, _STORED_BRACES = "{{", "{<!-- -->{"
_LAST_OF_BMP = 0xFFFF


def escape_description(description: str) -> str:
    """Write a text as the server would store it: sent like this it stays as it is."""
    escaped = description.translate(_TABLE).replace(_BRACES, _STORED_BRACES).strip()
    return "".join(char if ord(char) <= _LAST_OF_BMP else f"&#x{ord(char):x};" for char in escaped)


def unescape_description(stored: str) -> str:
    """Write a text that the server stores as somebody would have written it."""
    return html.unescape(stored.replace(_STORED_BRACES, _BRACES))
