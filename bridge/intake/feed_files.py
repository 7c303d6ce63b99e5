"""Reads rows from CSV and JSON files."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from connectors.autosys.files import read_text
from connectors.errors import ConfigError

_DELIMITERS = ",;\t|"
_object_decoder = msgspec.json.Decoder(dict[str, Any])


class FeedRow(NamedTuple):
    """A row and its location. The values of a malformed row are its bytes, and `problem` is the reason."""

    location: str
    values: Mapping[str, Any] | bytes
    problem: str = ""


def read_rows(file: Path) -> Iterator[FeedRow]:
    """Read the rows of a file: CSV with a header, a JSON array of objects, or one object per line."""
    text = read_text(file).text.lstrip("\ufeff")
    match text.lstrip()[:1]:
        case "[":
            return _array_rows(text, file)
        case "{":
            return _object_rows(text, file)
        case _:
            return _csv_rows(text, file)


def _array_rows(text: str, file: Path) -> Iterator[FeedRow]:
    try:
        elements = msgspec.json.decode(text, type=list[Any])
    except msgspec.DecodeError as error:
        raise ConfigError(f"{file}: {error}") from error
    for number, element in enumerate(elements, 1):
        location = f"{file} row {number}"
        if isinstance(element, dict):
            yield FeedRow(location, element)
        else:
            yield FeedRow(location, msgspec.json.encode(element), "the row is not a JSON object")


def _object_rows(text: str, file: Path) -> Iterator[FeedRow]:
    try:
        yield FeedRow(f"{file} row 1", _object_decoder.decode(text))
    except msgspec.DecodeError:  # the file is not a single object, so each line is one
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _parse_object(line, f"{file} line {number}")


def _parse_object(line: str, location: str) -> FeedRow:
    try:
        return FeedRow(location, _object_decoder.decode(line))
    except msgspec.DecodeError as error:
        return FeedRow(location, line.encode(), str(error))


def _csv_rows(text: str, file: Path) -> Iterator[FeedRow]:
    """Yield the rows of a CSV file. The delimiter is the one that occurs most often in the header."""
    lines = list(io.StringIO(text, newline=""))
    header_index = next((index for index, line in enumerate(lines) if line.strip()), None)
    if header_index is None:
        return
    delimiter = max(_DELIMITERS, key=lines[header_index].count)
    records = _csv_records(lines, header_index, delimiter)
    _, header_fields = next(records)
    header = _validated_header(header_fields, file)
    for index, fields in records:
        location = f"{file} line {index + 1}"
        if isinstance(fields, csv.Error):
            yield FeedRow(location, lines[index].rstrip("\r\n").encode(), str(fields))
        elif fields:
            yield FeedRow(location, _values_by_column(header, fields))


def _csv_records(lines: list[str], index: int, delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield each record with the index of its first line.

    For a malformed record, yield the error instead, and continue at the next line.
    """
    while index < len(lines):
        first_index = index
        reader = csv.reader(islice(lines, index, None), delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                yield index, fields
                index = first_index + reader.line_num
        except csv.Error as error:
            yield index, error
            index += 1


def _validated_header(header: list[str] | csv.Error, file: Path) -> list[str]:
    """Return the header. Raises ConfigError if the header is malformed or names a column twice."""
    if isinstance(header, csv.Error):
        raise ConfigError(f"{file}: the header is not CSV: {header}")
    counts = Counter(name.lower() for name in header if name)
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        raise ConfigError(f"{file}: the header has duplicate columns: {', '.join(duplicates)}")
    return header


def _values_by_column(header: list[str], fields: list[str]) -> dict[str, Any]:
    """Map column names to fields. Fields after the last column are listed under the empty name."""
    values: dict[str, Any] = dict(zip(header, fields, strict=False))
    if len(fields) > len(header):
        values[""] = fields[len(header) :]
    return values
