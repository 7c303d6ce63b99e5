"""OpenLineage events in files: one JSON a line, one JSON a file, a JSON array, gzipped or not, or a folder."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

_ENDINGS = (".ndjson", ".jsonl", ".json", ".ndjson.gz", ".jsonl.gz", ".json.gz")
BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
#: What decoding raises for bytes that are no JSON: malformed, not UTF-8, nested too deeply.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class RawRecord(NamedTuple):
    """One event's bytes, and where in the unpacked file to go on after it (0: not behind this one)."""

    payload: bytes
    end: int


def find_event_files(paths: list[Path]) -> list[Path]:
    """Name every file of events among paths and below folders, in a stable order."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files.extend(sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(_ENDINGS)))
        else:
            files.append(path)
    return files


def open_event_file(path: Path) -> BinaryIO:
    """Open a file of events, unpacking gzip by its content rather than its name."""
    file = path.open("rb")
    if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
        file.close()
        return cast("BinaryIO", gzip.open(path))
    file.seek(0)
    return file


def read_records(file: BinaryIO, start: int = 0) -> Iterator[RawRecord]:
    """Read events one by one, from a position that an earlier reading gave as an end.

    A file that is one JSON document over several lines is one record, an array one record an element;
    anything else is taken line by line. A last line that is torn is given, but never gone on behind: its
    writer may not have finished.
    """
    if start:
        file.seek(start)
    else:
        while not (first := file.readline()).strip() and first:
            start += len(first)
        if _opens_document(first):
            yield from _document(first + file.read(), start)
            return
        yield from _lines(iter([first]), start)
        start += len(first)
    yield from _lines(file, start)


def _lines(lines: Iterator[bytes], start: int) -> Iterator[RawRecord]:
    for line in lines:
        start += len(line)
        if line.strip():
            torn = not line.endswith(b"\n") and not is_json(line.removeprefix(BOM))
            yield RawRecord(line, 0 if torn else start)


def _opens_document(first: bytes) -> bool:
    text = first.removeprefix(BOM).strip()
    if text.startswith(b"["):
        return True
    return text.startswith(b"{") and not is_json(text)


def _document(whole: bytes, start: int) -> Iterator[RawRecord]:
    text = whole.removeprefix(BOM).strip()
    try:
        if text.startswith(b"["):
            items = [bytes(item) for item in _array_decoder.decode(text)]
            last = len(items) - 1
            yield from (RawRecord(item, start + len(whole) if i == last else 0) for i, item in enumerate(items))
            return
    except JSON_ERRORS:
        pass  # not one document after all: its lines are read, and refused each with its own reason
    if is_json(text):
        yield RawRecord(whole, start + len(whole))
    else:
        yield from _lines(io.BytesIO(whole), start)


def is_json(text: bytes) -> bool:
    """Tell whether bytes are one whole JSON text."""
    try:
        msgspec.json.decode(text)
    except JSON_ERRORS:
        return False
    return True
