"""Names and messages of strangers, made safe for a terminal."""

_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0))}


def escape(text: str) -> str:
    """Spell out control characters: a name must neither break a line nor drive the terminal."""
    return text.translate(_CONTROLS)
