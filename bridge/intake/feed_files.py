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
_row = msgspec.json.Decoder(dict[str, Any])


class FeedRow(NamedTuple):
    """A row and where it stands; one that cannot be read is its own bytes, with what is wrong."""

    place: str
    values: Mapping[str, Any] | bytes
    problem: str = ""


def read_rows(file: Path) -> Iterator[FeedRow]:
    """Read the rows of a file: CSV with a header, a JSON array of objects, or an object a line."""
    text = read_text(file).text.lstrip("\ufeff")
    match text.lstrip()[:1]:
        case "[":
            return _array(text, file)
        case "{":
            return _objects(text, file)
        case _:
            return _table(text, file)


def _array(text: str, file: Path) -> Iterator[FeedRow]:
    try:
        listed = msgspec.json.decode(text, type=list[Any])
    except msgspec.DecodeError as error:
        raise ConfigError(f"{file}: {error}") from error
    for number, one in enumerate(listed, 1):
        place = f"{file} row {number}"
        if isinstance(one, dict):
            yield FeedRow(place, one)
        else:
            yield FeedRow(place, msgspec.json.encode(one), "the row is no JSON object")


def _objects(text: str, file: Path) -> Iterator[FeedRow]:
    try:
        yield FeedRow(f"{file} row 1", _row.decode(text))
    except msgspec.DecodeError:  # several, then: an object a line
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _line(line, f"{file} line {number}")


def _line(line: str, place: str) -> FeedRow:
    try:
        return FeedRow(place, _row.decode(line))
    except msgspec.DecodeError as error:
        return FeedRow(place, line.encode(), str(error))


def _table(text: str, file: Path) -> Iterator[FeedRow]:
    lines = list(io.StringIO(text, newline=""))
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return
    delimiter = max(_DELIMITERS, key=lines[first].count)
    records = _records(lines, first, delimiter)
    header = _checked(next(records)[1], file)
    for at, fields in records:
        place = f"{file} line {at + 1}"
        if isinstance(fields, str):
            yield FeedRow(place, lines[at].rstrip("\r\n").encode(), fields)
        elif fields:
            yield FeedRow(place, _named(header, fields))


def _records(lines: list[str], at: int, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Give records with the lines at which they begin; for one that is none what is wrong, and go on a line later."""
    while at < len(lines):
        begun, reader = at, csv.reader(islice(lines, at, None), delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                yield at, fields
                at = begun + reader.line_num
        except csv.Error as error:
            yield at, str(error)
            at += 1


def _checked(header: list[str] | str, file: Path) -> list[str]:
    """Give a header in which every column is named once; raises ConfigError for any other."""
    if isinstance(header, str):
        raise ConfigError(f"{file}: the header is no CSV: {header}")
    twice = [name for name, times in Counter(name.lower() for name in header if name).items() if times > 1]
    if twice:
        raise ConfigError(f"{file}: the header names several columns {', '.join(twice)}: which of them counts?")
    return header


def _named(header: list[str], fields: list[str]) -> dict[str, Any]:
    """Name the fields of a row; what stands behind the last column has no name."""
    values: dict[str, Any] = dict(zip(header, fields, strict=False))
    if len(fields) > len(header):
        values[""] = fields[len(header) :]
    return values
