"""Reads complete lines from a file that others append to."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from connectors.openlineage.files import BOM, is_json

#: How much of a file's beginning tells it from other files.
HEAD_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_KEPT_BYTES = 1 << 16
_SPACE = b" \t\r\n"
#: One event printed over several lines, as openlineage-python does in its debug mode: braces at the margin only.
_DOCUMENT = re.compile(rb"\{[ \t\r]*\n(?:[ \t].*\n|\r?\n)*\}[ \t\r]*\n")
_BEGUN_DOCUMENT = re.compile(rb"\{[ \t\r]*\n(?:[ \t].*\n|\r?\n)*(?:[ \t].*|\r|\}[ \t\r]*)?\Z")

FileIdentity = tuple[int, int]


class RawLine(NamedTuple):
    """One line's bytes; of one that is over the limit only the beginning."""

    payload: bytes
    too_long: bool = False


class LineBatch(NamedTuple):
    """Lines, the position behind them, and the file's beginning at the time they were read."""

    lines: list[RawLine]
    end: int
    beginning: bytes


class GrowingFile:
    """An open file that others append to, rename, cut off or delete."""

    def __init__(self, path: Path, limit: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._limit = limit
        self._searched = (0, 0)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def status(self) -> os.stat_result:
        """Tell what the file system knows about the file, whatever its name is by now."""
        return os.fstat(self._file.fileno())

    def head(self) -> bytes:
        """Give the bytes that the file is known by."""
        return self._at(0, HEAD_BYTES)

    def read(self, start: int, count: int) -> LineBatch | None:
        """Read up to count lines from a position; None when the file was cut off meanwhile.

        A last line without its end waits for it, unless it is a whole JSON object already: nothing that is cut
        out of the beginning of an object is an object, so the line cannot be split by taking it.
        """
        beginning = self.head()
        if len(beginning) < HEAD_BYTES:
            # All there is: a second look might see more, which the beginning would not vouch for.
            block, ended = beginning[start:], True
        else:
            block = self._at(start, _BLOCK_BYTES)
            ended = len(block) < _BLOCK_BYTES
        lines, taken = self._split(block, count, ended=ended)
        if not taken and not ended:
            lines, taken = self._long_line(start, block)
        unchanged = self.head()[: len(beginning)] == beginning and self.status().st_size >= start + taken
        return LineBatch(lines, start + taken, beginning) if unchanged else None

    def incomplete_line(self, start: int) -> bytes:
        """Give the beginning of what waits for its end."""
        return _trim(self._at(start, _KEPT_BYTES))

    def _at(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)

    def _split(self, block: bytes, count: int, *, ended: bool) -> tuple[list[RawLine], int]:
        lines: list[RawLine] = []
        at = 0
        while len(lines) < count and (end := _line_end(block, at, ended=ended)):
            self._add(lines, block[at:end])
            at = end
        if len(lines) < count and ended and _is_object(block[at:]):
            self._add(lines, block[at:])
            at = len(block)
        return lines, at

    def _add(self, lines: list[RawLine], raw: bytes) -> None:
        payload = _trim(raw)
        if len(payload) > self._limit:
            lines.append(RawLine(payload[:_KEPT_BYTES], too_long=True))
        elif payload:
            lines.append(RawLine(payload))

    def _long_line(self, start: int, first: bytes) -> tuple[list[RawLine], int]:
        """Read on to the end of a line that is longer than a block, keeping no more than the limit."""
        parts, size = [first], len(first)
        searched_from, searched = self._searched
        if searched_from == start and searched > self._limit:
            size = searched
        end = 0
        while not end and (block := self._at(start + size, _BLOCK_BYTES)):
            end = block.find(b"\n") + 1
            size += end or len(block)
            if size <= self._limit:
                parts.append(block[:end] if end else block)
        lines: list[RawLine] = []
        if size > self._limit:
            self._searched = (start, size)
            if end:
                lines.append(RawLine(_trim(first)[:_KEPT_BYTES], too_long=True))
        elif end or _is_object(b"".join(parts)):
            self._add(lines, b"".join(parts))
            end = size
        return lines, size if end else 0


def _line_end(block: bytes, at: int, *, ended: bool) -> int:
    """Find where the line or the document at a place ends; 0 while that is not known."""
    end = block.find(b"\n", at) + 1
    if not end or block[at:end].strip(_SPACE) != b"{":
        return end
    document = _DOCUMENT.match(block, at)
    if document:
        return document.end()
    return 0 if (ended or at) and _BEGUN_DOCUMENT.match(block, at) else end


def _trim(raw: bytes) -> bytes:
    """Take off what is around an event; zeros are what a power cut or a bad truncation leaves before it."""
    return raw.lstrip(_SPACE + b"\0").rstrip(_SPACE)


def _is_object(text: bytes) -> bool:
    text = _trim(text).removeprefix(BOM)
    return text.startswith(b"{") and text.endswith(b"}") and is_json(text)
