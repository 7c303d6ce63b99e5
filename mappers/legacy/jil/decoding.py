"""Bytes of JIL as text, in whichever encoding an editor or an export left them."""

from typing import NamedTuple

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
#: From here on every other byte is zero often enough to be the half of a letter.
_HALF = 0.3


class Decoded(NamedTuple):
    """A text, and what it was encoded in; `lossy` where some bytes are no letters of it."""

    text: str
    encoding: str
    lossy: bool = False


def decode(raw: bytes) -> Decoded:
    """Decode any bytes: by their mark, as UTF-8, by the zeros of UTF-16, else as cp1252."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _decoded(raw, encoding)
    zeros = raw[:4096]
    if zeros.count(0):
        odd, even = zeros[1::2].count(0), zeros[::2].count(0)
        if max(odd, even) >= _HALF * len(zeros) / 2:
            return _decoded(raw, "utf-16-le" if odd >= even else "utf-16-be")
    try:
        return Decoded(raw.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _decoded(raw, "cp1252")


def _decoded(raw: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(raw.decode(encoding), encoding)
    except UnicodeDecodeError:
        return Decoded(raw.decode(encoding, errors="replace"), encoding, lossy=True)
