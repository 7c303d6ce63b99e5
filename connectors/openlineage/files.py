"""OpenLineage events in files: NDJSON, one JSON document, or a JSON array; plain or gzipped."""

import gzip
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from connectors.openlineage.bounded_lines import Line, PrefixedFile, read_lines

_EVENT_FILE_SUFFIXES = (".ndjson", ".jsonl", ".json", ".ndjson.gz", ".jsonl.gz", ".json.gz")
#: Maximum length of a line, and of a JSON array that spans a whole file.
MAX_LINE_BYTES, _MAX_ARRAY_BYTES = 50 << 20, 256 << 20
_COUNTED_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
#: Errors when decoding bytes that are malformed, not UTF-8 or nested too deeply.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class RawRecord(NamedTuple):
    """The bytes of an event, and the end offset in the decompressed file (0 if reading cannot resume there).

    Of a line over the limit, only the beginning is kept. `line` is the number of the line, counted from where reading
    began, if the file is read line by line.
    """

    payload: bytes
    end: int
    line: int | None = None
    too_long: bool = False


def find_event_files(paths: list[Path]) -> list[Path]:
    """List the given files, and all event files in the given folders, in a stable order."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            candidates = sorted(file for file in path.rglob("*") if file.is_file())
            files.extend(file for file in candidates if file.name.endswith(_EVENT_FILE_SUFFIXES))
        else:
            files.append(path)
    return files


def open_event_file(path: Path) -> BinaryIO:
    """Open an event file or a pipe; gzip is recognized by its content, not by its name."""
    file = path.open("rb")
    if not file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
        return file
    if not path.is_file():
        return cast("BinaryIO", gzip.open(file))
    file.close()  # gzip closes only what it has opened
    return cast("BinaryIO", gzip.open(path))


def read_records(file: BinaryIO, start: int = 0, max_line: int = MAX_LINE_BYTES) -> Iterator[RawRecord]:
    """Read events one by one; `start` is 0 or the end of an earlier record.

    A JSON document that spans several lines is one record, an array has one record per element, and any other file
    is read line by line. An incomplete last line is returned with end 0, because it may still be growing.
    """
    if start:
        file.seek(start)
        yield from _line_records(read_lines(file, max_line), start)
        return
    lines = read_lines(file, max_line)
    first_line = next(lines, None)
    while first_line is not None and not first_line.payload.strip():  # skip blank lines
        start += first_line.length
        first_line = next(lines, None)
    if first_line is None:
        return
    if first_line.too_long or not _starts_document(first_line.payload):
        yield from _line_records(chain([first_line], lines), start)
        return
    lines_before = first_line.number - 1
    is_array = first_line.payload.removeprefix(BOM).lstrip().startswith(b"[")
    limit = _MAX_ARRAY_BYTES if is_array else max_line
    content = first_line.payload + file.read(max(0, limit + 1 - first_line.length))
    if len(content) <= limit:
        yield from _document_records(content, start, max_line, lines_before)
    elif is_array:
        raise OSError(f"the JSON array has more than {limit >> 20} MB: write one event per line (jq -c '.[]')")
    else:
        yield from _line_records(read_lines(PrefixedFile(content, file), max_line), start, lines_before)


def _line_records(lines: Iterable[Line], start: int, lines_before: int = 0) -> Iterator[RawRecord]:
    """Yield a record for each line that is not blank. The end of an incomplete last line is 0."""
    end = start
    for line in lines:
        end += line.length
        number = lines_before + line.number
        if line.too_long:
            yield RawRecord(line.payload, end, number, too_long=True)
        elif line.payload.strip():
            is_incomplete = not line.payload.endswith(b"\n") and not is_json(line.payload.removeprefix(BOM))
            yield RawRecord(line.payload, 0 if is_incomplete else end, number)


def _starts_document(first_line: bytes) -> bool:
    """Return whether a file contains one JSON document instead of one event per line."""
    text = first_line.removeprefix(BOM).strip()
    if text.startswith(b"["):
        return True
    return text.startswith(b"{") and not is_json(text)


def _document_records(content: bytes, start: int, max_line: int, lines_before: int) -> Iterator[RawRecord]:
    """Yield the elements of an array or a single document; content that is neither is read line by line."""
    document = content.removeprefix(BOM).strip()
    end = start + len(content)
    try:
        if document.startswith(b"["):
            items = _array_decoder.decode(document)
            last_index = len(items) - 1
            yield from (RawRecord(bytes(item), end if index == last_index else 0) for index, item in enumerate(items))
            return
    except JSON_ERRORS:
        pass  # not one document: return the lines, so that each invalid line is rejected with its own reason
    if is_json(document):
        yield RawRecord(content, end)
    else:
        yield from _line_records(read_lines(io.BytesIO(content), max_line), start, lines_before)


def count_line_ends(file: BinaryIO, end: int) -> int:
    """Count the line ends between the current position of a file and an offset."""
    count = 0
    while block := file.read(min(_COUNTED_BYTES, end - file.tell())):
        count += block.count(b"\n")
    return count


def is_json(text: bytes) -> bool:
    """Return whether the bytes are one complete JSON document."""
    try:
        msgspec.json.decode(text)
    except JSON_ERRORS:
        return False
    return True
