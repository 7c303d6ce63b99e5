"""Reads complete lines from a file that another process appends to."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from connectors.openlineage.bounded_lines import MAX_EXCERPT_BYTES
from connectors.openlineage.files import BOM, is_json

#: Number of bytes at the start of a file that identify it.
HEAD_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_SPACE = b" \t\r\n"
#: An event over several lines, as openlineage-python prints it in debug mode: only the outer braces are unindented.
_DOCUMENT = re.compile(rb"\{[ \t\r]*\n(?:[ \t].*\n|\r?\n)*\}[ \t\r]*\n")
_INCOMPLETE_DOCUMENT = re.compile(rb"\{[ \t\r]*\n(?:[ \t].*\n|\r?\n)*(?:[ \t].*|\r|\}[ \t\r]*)?\Z")

FileIdentity = tuple[int, int]


class RawLine(NamedTuple):
    """The bytes of a line, or only the beginning if the line exceeds the limit, and the offset of the line."""

    payload: bytes
    start: int
    too_long: bool = False


class LineBatch(NamedTuple):
    """Lines, the offset after them, and the head of the file when they were read."""

    lines: list[RawLine]
    end: int
    head: bytes


class _LongLineProgress(NamedTuple):
    """Start of a line over the limit, and how many bytes of the line have been searched for the line end."""

    start: int
    searched_bytes: int


class GrowingFile:
    """An open file that another process may append to, rename, truncate or delete."""

    def __init__(self, path: Path, max_line: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._max_line = max_line
        self._long_line_progress = _LongLineProgress(0, 0)

    def close(self) -> None:
        self._file.close()

    def status(self) -> os.stat_result:
        """Return the status of the open file, even if it has been renamed."""
        return os.fstat(self._file.fileno())

    def head(self) -> bytes:
        """Read the first bytes, which identify the file."""
        return self._read_at(0, HEAD_BYTES)

    def read(self, start: int, max_lines: int) -> LineBatch | None:
        """Read lines from an offset; returns None if the file was truncated during the read.

        A last line without a line end is read only if it is a complete JSON object, because a complete object cannot
        be the beginning of a longer one.
        """
        head = self.head()
        if len(head) < HEAD_BYTES:
            # The head is the whole file. A second read might return more bytes, which the head would not cover.
            block, at_end = head[start:], True
        else:
            block = self._read_at(start, _BLOCK_BYTES)
            at_end = len(block) < _BLOCK_BYTES
        lines, consumed_bytes = self._split_lines(block, start, max_lines, at_end=at_end)
        if not consumed_bytes and not at_end:
            lines, consumed_bytes = self._read_long_line(start, block)
        was_truncated = self.head()[: len(head)] != head or self.status().st_size < start + consumed_bytes
        return None if was_truncated else LineBatch(lines, start + consumed_bytes, head)

    def incomplete_line(self, start: int) -> bytes:
        """Read the beginning of a line that has no line end yet."""
        return _trim(self._read_at(start, MAX_EXCERPT_BYTES))

    def count_line_ends(self, start: int, end: int) -> int:
        """Count the line ends between two offsets."""
        offsets = range(start, end, _BLOCK_BYTES)
        return sum(self._read_at(offset, min(_BLOCK_BYTES, end - offset)).count(b"\n") for offset in offsets)

    def _read_at(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)

    def _split_lines(self, block: bytes, start: int, max_lines: int, *, at_end: bool) -> tuple[list[RawLine], int]:
        """Return the complete lines of a block that begins at `start`, and the number of bytes that they take."""
        lines: list[RawLine] = []
        position = 0
        while len(lines) < max_lines and (end := _line_end(block, position, at_end=at_end)):
            self._append_line(lines, block[position:end], start + position)
            position = end
        if len(lines) < max_lines and at_end and _is_object(block[position:]):
            self._append_line(lines, block[position:], start + position)
            position = len(block)
        return lines, position

    def _append_line(self, lines: list[RawLine], raw: bytes, start: int) -> None:
        payload = _trim(raw)
        if len(payload) > self._max_line:
            lines.append(RawLine(payload[:MAX_EXCERPT_BYTES], start, too_long=True))
        elif payload:
            lines.append(RawLine(payload, start))

    def _read_long_line(self, start: int, first_block: bytes) -> tuple[list[RawLine], int]:
        """Read a line that is longer than a block; returns the line, if it is complete, and its length or 0.

        Of a line over the limit, only the beginning is kept in memory.
        """
        parts, searched_bytes = [first_block], len(first_block)
        progress = self._long_line_progress
        if progress.start == start and progress.searched_bytes > self._max_line:
            searched_bytes = progress.searched_bytes
        is_complete = False
        while not is_complete and (block := self._read_at(start + searched_bytes, _BLOCK_BYTES)):
            part, line_end, _ = block.partition(b"\n")
            is_complete = bool(line_end)
            searched_bytes += len(part) + len(line_end)
            if searched_bytes <= self._max_line:
                parts.append(part + line_end)
        lines: list[RawLine] = []
        if searched_bytes > self._max_line:
            self._long_line_progress = _LongLineProgress(start, searched_bytes)
            if is_complete:
                lines.append(RawLine(_trim(first_block)[:MAX_EXCERPT_BYTES], start, too_long=True))
        elif is_complete or _is_object(b"".join(parts)):
            self._append_line(lines, b"".join(parts), start)
            is_complete = True
        return lines, (searched_bytes if is_complete else 0)


def _line_end(block: bytes, position: int, *, at_end: bool) -> int:
    """Return the end of the line or document at a position, or 0 if the end has not been written yet."""
    end = block.find(b"\n", position) + 1
    if not end or block[position:end].strip(_SPACE) != b"{":
        return end
    document = _DOCUMENT.match(block, position)
    if document:
        return document.end()
    if (at_end or position) and _INCOMPLETE_DOCUMENT.match(block, position):
        return 0
    return end  # a document that fills a whole block is too long, so it is read line by line


def _trim(raw: bytes) -> bytes:
    """Strip whitespace, and the leading zero bytes that a power failure or a careless truncation leaves behind."""
    return raw.lstrip(_SPACE + b"\0").rstrip(_SPACE)


def _is_object(text: bytes) -> bool:
    text = _trim(text).removeprefix(BOM)
    return text.startswith(b"{") and text.endswith(b"}") and is_json(text)
