"""Lines of growing files, and files that match a pattern."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.openlineage.file_finder import FileFinder, paths_before_rotation
from connectors.openlineage.growing_file import GrowingFile, RawLine

LIMIT = 100
BOM = b"\xef\xbb\xbf"
LONG = b'{"a":"' + b"x" * LIMIT + b'"}'


class FileHarness:
    """A file and its reader."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        path.touch()
        self.reader = GrowingFile(path, limit)
        self.end = 0

    def grow(self, content: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(content)

    def read(self, count: int = 1000) -> list[RawLine]:
        batch = self.reader.read(self.end, count)
        assert batch is not None
        self.end = batch.end
        return batch.lines

    def read_all(self, count: int = 1000) -> list[RawLine]:
        lines: list[RawLine] = []
        before = None
        while self.end != before:
            before = self.end
            lines += self.read(count)
        return lines

    def payloads(self, count: int = 1000) -> list[bytes]:
        return [line.payload for line in self.read_all(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()


@pytest.fixture
def file_harness(tmp_path: Path) -> Iterator[FileHarness]:
    with FileHarness(tmp_path / "events.ndjson") as file_:
        yield file_


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b""], [[]]),
        ([b'{"a":1}\n{"a":2}\n'], [[b'{"a":1}', b'{"a":2}']]),
        ([b'{"a":1}\n{"a"', b":2}\n"], [[b'{"a":1}'], [b'{"a":2}']]),
        ([b'{"a":1}\r\n{"a":2}\r', b"\n"], [[b'{"a":1}', b'{"a":2}'], []]),
        ([b'{"a":1}', b'\n{"a":2}'], [[b'{"a":1}'], [b'{"a":2}']]),
        (['{"a":"ü'.encode()[:-1], 'ü"}\n'.encode()[1:]], [[], ['{"a":"ü"}'.encode()]]),
        ([b'{"a":"}', b'"}'], [[], [b'{"a":"}"}']]),
        ([b"12", b"34\n"], [[], [b"1234"]]),
        ([b"\n \r\n\n", b'{"a":1}\n'], [[], [b'{"a":1}']]),
        ([b'garbage\n{"a":1}\n'], [[b"garbage", b'{"a":1}']]),
        ([b"garbage", b" goes on\n"], [[], [b"garbage goes on"]]),
        ([b"\0\0\0" + b'{"a":1}\n'], [[b'{"a":1}']]),
        ([b"\0\0\0", b'\0{"a":1}'], [[], [b'{"a":1}']]),
        ([BOM + b'{"a":1}'], [[BOM + b'{"a":1}']]),
        ([b'{\n  "a": 1,\n', b'  "b": {\n  }\n}', b'\n{"a":2}\n'], [[], [b'{\n  "a": 1,\n  "b": {\n  }\n}'], [b'{"a":2}']]),
        ([b'{"a":1}\n{\n  "a": 1\n}\n{"a":2}\n'], [[b'{"a":1}', b'{\n  "a": 1\n}', b'{"a":2}']]),
        ([b'{\n{"a":2}\n'], [[b"{", b'{"a":2}']]),
        ([b"{\n", b'{"a":2}\n'], [[], [b"{", b'{"a":2}']]),
    ],
    ids=[
        "empty", "lines", "partial", "carriage returns", "object without line end", "partial character", "brace in a string",
        "not an object", "blank", "garbage", "partial garbage", "leading zeros", "only zeros first", "byte order mark", "indented",
        "indented between lines", "single brace", "single brace first",
    ],
)  # fmt: skip
def test_reads_complete_lines_only(
    file_harness: FileHarness, pieces: list[bytes], expected: list[list[bytes]]
) -> None:
    for piece, lines in zip(pieces, expected, strict=True):
        file_harness.grow(piece)
        assert file_harness.payloads() == lines


@pytest.mark.parametrize("before", [b"", b"{}\n" * 2000], ids=["short file", "long file"])
@pytest.mark.parametrize("size", [LIMIT + 1, 3 << 20], ids=["short", "longer than a chunk"])
@pytest.mark.parametrize("partial", [False, True])
def test_line_over_limit_is_truncated(file_harness: FileHarness, before: bytes, size: int, partial: bool) -> None:
    file_harness.grow(before)
    file_harness.read_all()
    file_harness.grow(b"x" * size)
    if partial:
        assert file_harness.payloads() == []
        file_harness.grow(b"x" * size)
        assert file_harness.payloads() == []
    file_harness.grow(b'\n{"a":1}\n')
    lines = file_harness.read_all()
    assert [line.too_long for line in lines] == [True, False]
    assert len(lines[0].payload) <= 1 << 16
    assert lines[1].payload == b'{"a":1}'


def test_line_longer_than_chunk(tmp_path: Path) -> None:
    long = b'{"a":"' + b"x" * (3 << 20) + b'"}'
    with FileHarness(tmp_path / "events", limit=10 << 20) as file_harness:
        file_harness.grow(long[:-5])
        assert file_harness.payloads() == []
        file_harness.grow(long[-5:])
        assert file_harness.payloads() == [long]
        file_harness.grow(b"\n" + long + b"\n" + long)
        assert file_harness.payloads() == [long, long]


def test_document_across_chunks(file_harness: FileHarness) -> None:
    document = b'{\n  "a": 1,\n  "b": 2\n}'
    before = (1 << 20) - len(document) // 2
    file_harness.grow(b"\n" * before + document + b"\n")
    assert file_harness.payloads() == [document]


def test_number_of_lines_is_limited(file_harness: FileHarness) -> None:
    file_harness.grow(b"".join(b"%d\n" % number for number in range(10)))
    assert [line.payload for line in file_harness.read(3)] == [b"0", b"1", b"2"]
    assert file_harness.payloads(4) == [b"%d" % number for number in range(3, 10)]


@pytest.mark.parametrize("size", [0, 5, 5000])
def test_truncated_file_returns_no_partial_lines(file_harness: FileHarness, size: int) -> None:
    file_harness.grow(b'{"a":1}\n' * 1000)
    file_harness.read_all()
    os.truncate(file_harness.path, size)
    batch = file_harness.reader.read(file_harness.end, 1000)
    assert batch is None or not batch.lines


def test_file_replaced_during_read_returns_nothing(
    file_harness: FileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_harness.grow(b'{"a":1}\n' * 1000)
    file_harness.read_all()
    file_harness.grow(b'{"a":1}\n' * 1000)
    pread = os.pread

    def replace(number: int, size: int, offset: int) -> bytes:
        if offset:
            file_harness.path.write_bytes(b'{"b":22}\n' * 2000)
        return pread(number, size, offset)

    monkeypatch.setattr(os, "pread", replace)
    assert file_harness.reader.read(file_harness.end, 1000) is None


def test_partial_line_is_not_rescanned(file_harness: FileHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    file_harness.grow(b"x" * (5 << 20))
    assert file_harness.payloads() == []
    pread, sizes = os.pread, []

    def counting(number: int, size: int, offset: int) -> bytes:
        content = pread(number, size, offset)
        sizes.append(len(content))
        return content

    monkeypatch.setattr(os, "pread", counting)
    file_harness.grow(b"x" * 10)
    assert file_harness.payloads() == []
    assert sum(sizes) < 2 << 20


@given(
    st.lists(st.one_of(st.binary(max_size=8).map(lambda text: b'{"a":"%s"}' % text.hex().encode()), st.just(LONG), st.just(b"x"))),
    st.data(),
)  # fmt: skip
def test_lines_do_not_depend_on_write_sizes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    content = b"".join(line + b"\n" for line in lines)
    received: list[bytes] = []
    with FileHarness(tmp_path_factory.mktemp("tail") / "events") as file_harness:
        while content:
            piece = data.draw(st.integers(1, len(content)))
            file_harness.grow(content[:piece])
            content = content[piece:]
            received += file_harness.payloads(data.draw(st.integers(1, 5)))
    assert received == lines


# -- file patterns


def matching_names(folder: Path, pattern: str) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in FileFinder([f"{folder}/{pattern}"]).list_files().files
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("e.ndjson", ["e-2026-01-01.ndjson", "e.ndjson", "e.ndjson-20260101", "e.ndjson.1", "e.ndjson.old"]),
        ("absent.ndjson", []),
        ("one", ["one-20260101-101010.123456.json", "one-20260101-101011.123456-job-START.json"]),
        ("*.ndjson", ["e-2026-01-01.ndjson", "e.ndjson", "e.ndjson-20260101", "e.ndjson.1", "e.ndjson.old"]),
        ("deep", ["deep/er/b.log", "deep/er/b.log.2", "deep/f.jsonl"]),
        ("d*p", ["deep/er/b.log", "deep/er/b.log.2", "deep/f.jsonl"]),
        ("deep/**/*.log", ["deep/er/b.log", "deep/er/b.log.2"]),
        ("[x]/[y].json", ["[x]/[y].json"]),
        ("loop.ndjson", []),
    ],
)
def test_pattern_matches_files_and_their_rotations(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for name in (
        "e.ndjson", "e.ndjson.1", "e.ndjson-20260101", "e-2026-01-01.ndjson", "e.ndjson.old", "e.ndjson.2.gz",
        "one-20260101-101010.123456.json", "one-20260101-101011.123456-job-START.json", "other.txt",
        "deep/er/b.log", "deep/er/b.log.2", "deep/er/b.log.3.gz", "deep/f.jsonl", "deep/.hidden.json", "deep/notes.txt",
        "[x]/[y].json",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert matching_names(tmp_path, pattern) == expected


def test_special_file_is_reported_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events")
    listing = FileFinder([str(tmp_path / "events")]).list_files()
    assert (listing.files, listing.problems) == ({}, {tmp_path / "events": "not a file"})


def test_link_loop_is_reported(tmp_path: Path) -> None:
    (tmp_path / "events").symlink_to(tmp_path / "events")
    assert list(FileFinder([str(tmp_path / "events")]).list_files().problems) == [tmp_path / "events"]


@pytest.mark.parametrize("pattern", ["closed", "closed/*.json", "closed/a.json", "closed/deep/a.json"])
def test_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    def refuse(folder: object) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    listing = FileFinder([str(tmp_path / pattern)]).list_files()
    assert (listing.files, list(listing.problems.values())) == ({}, ["Permission denied"])


@pytest.mark.parametrize(
    ("name", "former"),
    [
        ("events.ndjson", []),
        ("events.ndjson.2", ["events.ndjson", "events.ndjson.1"]),
        ("events.ndjson.old", ["events.ndjson"]),
        ("events.ndjson-20260101", ["events.ndjson"]),
        ("events-2026.ndjson", ["events", "events.ndjson"]),
        ("app-4.ndjson.1", ["app", "app-4.ndjson", "app-4.ndjson.0"]),
    ],
)
def test_names_before_rotation(name: str, former: list[str]) -> None:
    assert set(former) <= {path.name for path in paths_before_rotation(Path("folder") / name)}
    assert bool(former) == bool(paths_before_rotation(Path(name)))
