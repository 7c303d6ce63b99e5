"""Reads lines of any length from a stream in bounded memory."""

import io
from collections.abc import Iterator
from typing import NamedTuple, Protocol

#: How many bytes of a line over the limit are kept.
MAX_EXCERPT_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 20
#: A line of this many times the limit is not skipped: the file is no event file, or has no end.
_GIVE_UP_FACTOR = 16


class LineReader(Protocol):
    """A stream that is read line by line."""

    def readline(self, limit: int = -1, /) -> bytes: ...


class Line(NamedTuple):
    """A line with its line end. Of a line over the limit, only the beginning is kept."""

    number: int
    payload: bytes
    length: int
    too_long: bool = False


def read_lines(file: LineReader, max_line: int) -> Iterator[Line]:
    """Yield the lines of a file. Raises OSError at a line that does not end."""
    number = 0
    while payload := file.readline(max_line + 1):
        number += 1
        if len(payload) <= max_line or payload.endswith(b"\n"):
            yield Line(number, payload, len(payload))
        else:
            yield _skip_long_line(file, number, payload, max_line)


def _skip_long_line(file: LineReader, number: int, beginning: bytes, max_line: int) -> Line:
    """Read the rest of a line over the limit. A line of blanks counts as an empty line."""
    length = len(beginning)
    is_blank = not beginning.strip()
    excerpt = beginning[:MAX_EXCERPT_BYTES]
    while block := file.readline(_BLOCK_BYTES):
        length += len(block)
        is_blank = is_blank and not block.strip()
        if block.endswith(b"\n"):
            break
        if length > _GIVE_UP_FACTOR * max_line:
            raise OSError(f"line {number} has more than {length >> 20} MB; the limit is {max_line >> 20} MB")
    return Line(number, b"\n", length) if is_blank else Line(number, excerpt, length, too_long=True)


class PrefixedFile:
    """A stream whose first bytes were read already."""

    def __init__(self, prefix: bytes, file: LineReader) -> None:
        self._prefix = io.BytesIO(prefix)
        self._file = file

    def readline(self, limit: int = -1, /) -> bytes:
        line = self._prefix.readline(limit)
        if line.endswith(b"\n") or len(line) == limit:
            return line
        return line + self._file.readline(limit - len(line))
