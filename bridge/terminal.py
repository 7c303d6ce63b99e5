"""Escapes characters of names that would control a terminal or reorder its text."""

import re

#: The marks, embeddings, overrides and isolates of bidirectional text, and the line separators of Unicode.
_REORDERING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), *_REORDERING)}
_ALL_BUT_NEWLINES = {code: escaped for code, escaped in _CONTROLS.items() if chr(code) != "\n"}
_UNESCAPED_IN_JSON = re.compile(
    b"|".join(chr(code).encode() for code in _CONTROLS if code >= 0x20)  # JSON itself escapes those below U+0020
)


def escape(text: str) -> str:
    """Escape control characters, so that a name neither breaks a line nor controls or reorders the terminal."""
    return text.translate(_CONTROLS)


def escape_lines(text: str) -> str:
    """Escape control characters, except line breaks."""
    return text.translate(_ALL_BUT_NEWLINES)


def escape_json(encoded: bytes) -> bytes:
    """Escape control characters in the strings of a JSON document."""
    return _UNESCAPED_IN_JSON.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), encoded)
