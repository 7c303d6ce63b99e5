"""Records of event files, and positions to continue from."""

import gzip
import io
import warnings
from pathlib import Path

import pytest

from connectors.openlineage.files import RawRecord, find_event_files, open_event_file, read_records

BOM = b"\xef\xbb\xbf"


def records(content: bytes, start: int = 0) -> list[RawRecord]:
    return list(read_records(io.BytesIO(content), start))


def payloads(content: bytes, start: int = 0) -> list[bytes]:
    return [record.payload.strip() for record in records(content, start)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n\n", []),
        (b'{"a":1}\n{"a":2}\n', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\r\n{"a":2}\r\n', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\n{"a":2}', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\n\n  \n{"a":2}\n\n', [b'{"a":1}', b'{"a":2}']),
        (b'\n\n{"a":1}\n{"a":2}\n', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\n{"a":', [b'{"a":1}', b'{"a":']),
        (b'{"a":1}\nnot json\n{"a":2}\n', [b'{"a":1}', b"not json", b'{"a":2}']),
        (b'not json\n{"a":1}\n', [b"not json", b'{"a":1}']),
        (b'{broken\n{"a":1}\n', [b"{broken", b'{"a":1}']),
        (b'{"a":1}', [b'{"a":1}']),
        (b'{\n  "a": 1\n}\n', [b'{\n  "a": 1\n}']),
        (b'\n\n{\n  "a": 1\n}\n', [b'{\n  "a": 1\n}']),
        (b'[{"a":1},\n {"a":2}]\n', [b'{"a":1}', b'{"a":2}']),
        (b'[{"a":1}]', [b'{"a":1}']),
        (b"[]", []),
        (b'[1, "two", null]', [b"1", b'"two"', b"null"]),
        (b'[{"a":1},\n{"a":2}\n', [b'[{"a":1},', b'{"a":2}']),
        (BOM + b'[{"a":1}]', [b'{"a":1}']),
        (BOM + b'{"a":1}\n{"a":2}\n', [BOM + b'{"a":1}', b'{"a":2}']),
        (BOM + b'{\n"a":1}\n', [BOM + b'{\n"a":1}']),
        (b"[" * 100_000, [b"[" * 100_000]),
    ],
    ids=[
        "empty", "blank", "ndjson", "carriage returns", "no last line end", "blank lines", "blank lines first",
        "partial last line", "invalid line", "invalid first line", "broken first line", "one event", "one document",
        "document after blank lines", "array", "short array", "empty array", "array of other values", "partial array",
        "array with a byte order mark", "lines with a byte order mark", "document with a byte order mark", "deep",
    ],
)  # fmt: skip
def test_read_records(content: bytes, expected: list[bytes]) -> None:
    assert payloads(content) == expected


@pytest.mark.parametrize(
    ("content", "ends"),
    [
        (b'{"a":1}\n{"a":2}\n', [8, 16]),
        (b'\n{"a":1}\n\n{"a":2}', [9, 17]),
        (b'{"a":1}\n{"a":', [8, 0]),
        (b'{"a":', [0]),
        (b'{\n"a":1}\n', [9]),
        (b'\n{\n"a":1}\n', [10]),
        (b'[{"a":1},{"a":2}]\n', [0, 18]),
    ],
    ids=["lines", "no last line end", "partial last line", "partial only line", "document", "late document", "array"],
)
def test_records_have_end_positions(content: bytes, ends: list[int]) -> None:
    assert [record.end for record in records(content)] == ends


@pytest.mark.parametrize("content", [b'{"a":1}\n{"a":2}\n{"a":3}\n', BOM + b'{"a":1}\n\n{"a":2}\n{"a":3}'])
def test_reading_continues_from_any_position(content: bytes) -> None:
    all_records = records(content)
    for i, record in enumerate(all_records):
        later_records = [
            later._replace(line=(later.line or 0) - (record.line or 0)) for later in all_records[i + 1 :]
        ]
        assert records(content, record.end) == later_records


def test_partial_line_is_read_again_when_complete() -> None:
    partial, complete = b'{"a":1}\n{"a":', b'{"a":1}\n{"a":2}\n'
    position = max(record.end for record in records(partial))
    assert payloads(complete, position) == [b'{"a":2}']


@pytest.mark.parametrize("name", ["a.ndjson", "a.ndjson.gz", "a.txt"])
@pytest.mark.parametrize("gzipped", [False, True])
def test_gzip_is_detected_and_files_are_closed(tmp_path: Path, name: str, *, gzipped: bool) -> None:
    path = tmp_path / name
    content = b'{"a":1}\n{"a":2}\n'
    path.write_bytes(gzip.compress(content[:8]) + gzip.compress(content[8:]) if gzipped else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with open_event_file(path) as file:
            assert [record.end for record in read_records(file)] == [8, 16]
        with open_event_file(path) as file:
            assert [record.payload for record in read_records(file, 8)] == [b'{"a":2}\n']


@pytest.mark.parametrize("content", [b"", b"{", b"\x1f"])
def test_file_shorter_than_gzip_magic_is_plain(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with open_event_file(path) as file:
        assert file.read() == content


def test_folder_is_expanded_to_event_files_in_order(tmp_path: Path) -> None:
    for name in (
        "b.json",
        "a.ndjson",
        "deep/er/c.jsonl.gz",
        "deep/x.json.gz",
        "notes.txt",
        "README.md",
        "a.json.bak",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "folder.json").mkdir()
    names = [path.relative_to(tmp_path).as_posix() for path in find_event_files([tmp_path])]
    assert names == ["a.ndjson", "b.json", "deep/er/c.jsonl.gz", "deep/x.json.gz"]


def test_named_files_may_have_any_extension(tmp_path: Path) -> None:
    path, absent = tmp_path / "notes.txt", tmp_path / "absent"
    path.touch()
    assert find_event_files([path, absent]) == [path, absent]


def test_recorded_spark_events_have_one_record_per_line(events_dir: Path) -> None:
    for path in find_event_files([events_dir / "spark-4.1.4"]):
        with open_event_file(path) as file:
            records_ = list(read_records(file))
        assert b"".join(record.payload for record in records_) == path.read_bytes()
        assert records_[-1].end == path.stat().st_size
