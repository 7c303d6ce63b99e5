"""OpenLineage events in files: NDJSON, one JSON document, or a JSON array; plain or gzipped."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

_EVENT_FILE_SUFFIXES = (".ndjson", ".jsonl", ".json", ".ndjson.gz", ".jsonl.gz", ".json.gz")
BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
#: Errors when decoding bytes that are malformed, not UTF-8 or nested too deeply.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class RawRecord(NamedTuple):
    """The bytes of an event, and the end offset in the decompressed file (0 if reading cannot resume there)."""

    payload: bytes
    end: int


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
    """Open an event file; a gzip file is recognized by its content, not by its name."""
    file = path.open("rb")
    if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
        file.close()
        return cast("BinaryIO", gzip.open(path))
    file.seek(0)
    return file


def read_records(file: BinaryIO, start: int = 0) -> Iterator[RawRecord]:
    """Read events one by one; `start` is 0 or the end of an earlier record.

    A JSON document that spans several lines is one record, an array has one record per element, and any other file
    is read line by line. An incomplete last line is returned with end 0, because it may still be growing.
    """
    if start:
        file.seek(start)
    else:
        first_line = file.readline()
        while first_line and not first_line.strip():  # skip blank lines
            start += len(first_line)
            first_line = file.readline()
        if _starts_document(first_line):
            yield from _document_records(first_line + file.read(), start)
            return
        yield from _line_records(iter([first_line]), start)
        start += len(first_line)
    yield from _line_records(file, start)


def _line_records(lines: Iterator[bytes], start: int) -> Iterator[RawRecord]:
    """Yield a record for each line that is not blank. The end of an incomplete last line is 0."""
    end = start
    for line in lines:
        end += len(line)
        if line.strip():
            is_incomplete = not line.endswith(b"\n") and not is_json(line.removeprefix(BOM))
            yield RawRecord(line, 0 if is_incomplete else end)


def _starts_document(first_line: bytes) -> bool:
    """Return whether a file contains one JSON document instead of one event per line."""
    text = first_line.removeprefix(BOM).strip()
    if text.startswith(b"["):
        return True
    return text.startswith(b"{") and not is_json(text)


def _document_records(content: bytes, start: int) -> Iterator[RawRecord]:
    """Yield the elements of an array or a single document; content that is neither is read line by line."""
    document = content.removeprefix(BOM).strip()
    end = start + len(content)
    try:
        if document.startswith(b"["):
            items = [bytes(item) for item in _array_decoder.decode(document)]
            last_index = len(items) - 1
            yield from (RawRecord(item, end if index == last_index else 0) for index, item in enumerate(items))
            return
    except JSON_ERRORS:
        pass  # not one document: return the lines, so that each invalid line is rejected with its own reason
    if is_json(document):
        yield RawRecord(content, end)
    else:
        yield from _line_records(io.BytesIO(content), start)


def is_json(text: bytes) -> bool:
    """Return whether the bytes are one complete JSON document."""
    try:
        msgspec.json.decode(text)
    except JSON_ERRORS:
        return False
    return True
