"""Files into the store: resumed, begun anew, marked as history, and counted."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import StoreFull
from bridge.intake.file_ingester import FileIngester
from bridge.intake.source import IntakeReport
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import StagedGroup
from tests.factories import run_event
from tests.stores import Store, as_bytes


def lines(*runs: int) -> bytes:
    return b"".join(as_bytes(run_event(run=run)) + b"\n" for run in runs)


def receipts(store: Store) -> list[int]:
    return [count for (count,) in store.rows("SELECT receipts FROM run_event ORDER BY seq")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


def take(store: Store, path: Path, **options: Any) -> IntakeReport:
    return FileIngester(store.reader, store.writer, **options).ingest_file(path)


def test_a_file_is_taken_once(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    assert take(store, path) == IntakeReport(accepted=2)
    assert take(store, path) == IntakeReport(resumed_at=len(lines(1, 2)))
    assert receipts(store) == [1, 1]


def test_a_file_that_grew_is_taken_from_where_it_ended(store: Store, path: Path) -> None:
    path.write_bytes(lines(1))
    take(store, path)
    with path.open("ab") as file:
        file.write(lines(2, 3))
    assert take(store, path) == IntakeReport(accepted=2, resumed_at=len(lines(1)))
    assert receipts(store) == [1, 1, 1]


def test_a_packed_file_that_grew_is_taken_from_where_it_ended(store: Store, path: Path) -> None:
    path.write_bytes(gzip.compress(lines(1)))
    take(store, path)
    with path.open("ab") as file:
        file.write(gzip.compress(lines(2)))
    assert take(store, path) == IntakeReport(accepted=1, resumed_at=len(lines(1)))


@pytest.mark.parametrize("again", [lines(4, 5, 6), lines(4), lines(4, 2)], ids=["other", "shorter", "other first"])
def test_a_file_that_was_replaced_begins_anew(store: Store, path: Path, again: bytes) -> None:
    path.write_bytes(lines(1, 2))
    take(store, path)
    path.write_bytes(again)
    assert take(store, path) == IntakeReport(accepted=again.count(b"\n"))


def test_a_file_with_the_same_long_beginning_but_shorter_begins_anew(store: Store, path: Path) -> None:
    long = as_bytes(run_event(job="j" * 5_000)) + b"\n"
    path.write_bytes(long + lines(1, 2))
    take(store, path)
    path.write_bytes(long + lines(3))
    assert take(store, path) == IntakeReport(accepted=2)
    assert store.value("SELECT count(*) FROM ol_run") == 3


def test_a_file_is_known_by_its_place(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(lines(1))
    take(store, path)
    monkeypatch.chdir(path.parent)
    assert take(store, Path(path.name)).resumed_at == len(lines(1))
    other = path.with_name("copy.ndjson")
    other.write_bytes(lines(1))
    assert take(store, other) == IntakeReport(accepted=1)


def test_again_takes_a_file_from_its_beginning(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    take(store, path)
    before = store.export()
    assert take(store, path, from_start=True) == IntakeReport(accepted=2)
    assert receipts(store) == [2, 2]
    assert store.export() == before


@pytest.mark.parametrize(
    ("marks", "expected"),
    [([True], 1), ([False], 0), ([True, True], 1), ([True, False], 0), ([False, True], 0)],
)
def test_an_event_is_history_only_if_every_receipt_says_so(
    store: Store, path: Path, marks: list[bool], expected: int
) -> None:
    path.write_bytes(lines(1))
    for historical in marks:
        take(store, path, historical=historical, from_start=True)
    assert store.value("SELECT historical FROM run_event") == expected


def test_lines_that_are_no_events_are_kept_counted_and_not_taken_twice(store: Store, path: Path) -> None:
    path.write_bytes(lines(1) + b'{"torn":\n{}\n' + lines(2))
    assert take(store, path) == IntakeReport(accepted=2, rejected=2)
    assert store.rows("SELECT reason, path, source FROM rejected_event ORDER BY reason") == [
        ("is missing", "eventTime", str(path)),
        ("not JSON: Input data was truncated", "", str(path)),
    ]
    assert take(store, path).rejected == 0


def test_events_that_cannot_be_mapped_are_counted(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr("bridge.intake.event_reader.map_event", fail)
    path.write_bytes(lines(1, 2))
    assert take(store, path) == IntakeReport(accepted=2, unmerged=2)
    assert "ArithmeticError" in capsys.readouterr().out


def test_a_torn_last_line_is_told_and_taken_when_it_is_whole(store: Store, path: Path) -> None:
    whole = lines(1, 2)
    path.write_bytes(whole[:-20])
    assert take(store, path) == IntakeReport(accepted=1, rejected=1)
    path.write_bytes(whole + lines(3))
    assert take(store, path) == IntakeReport(accepted=2, resumed_at=len(lines(1)))
    assert store.value("SELECT count(*) FROM ol_run") == 3


@pytest.mark.parametrize("torn", [30, 1], ids=["half", "its last byte"])
def test_a_torn_packed_file_is_taken_as_far_as_it_goes(store: Store, path: Path, torn: int) -> None:
    path.write_bytes(gzip.compress(lines(1, 2)) + gzip.compress(lines(3))[:-torn])
    report = take(store, path)
    assert report.accepted >= 2
    assert [reason.partition(": ")[0] for reason in report.unreadable] == [str(path)]
    path.write_bytes(gzip.compress(lines(1, 2)) + gzip.compress(lines(3)))
    assert take(store, path).unreadable == ()
    assert receipts(store) == [1, 1, 1]


def test_a_file_that_cannot_be_read_is_reported(store: Store, path: Path) -> None:
    path.write_bytes(b"\x1f\x8b damaged")
    report = take(store, path)
    assert report.accepted == 0
    assert report.unreadable[0].startswith(f"{path}: ")
    assert take(store, path.parent).unreadable[0].startswith(f"{path.parent}: ")


def test_a_file_name_that_is_no_text_is_kept_legibly(store: Store, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.ndjson")
    path.write_bytes(lines(1))
    assert take(store, path).accepted == 1
    assert store.value("SELECT source FROM run_event") == f"{tmp_path}/\\xff.ndjson"
    assert take(store, path).resumed_at == len(lines(1))


def test_where_a_file_stands_is_committed_with_its_events(store: Store, path: Path) -> None:
    path.write_bytes(lines(*range(1, 1201)))
    stage, calls = store.writer.stage, 0

    def fail_later(items: Sequence[IncomingEvent | RejectedInput], *position: Any) -> StagedGroup:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StoreFull("no room")
        return stage(items, *position)

    store.writer.stage = fail_later  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreFull):
        take(store, path)
    store.writer.stage = stage  # type: ignore[method-assign]
    assert len(receipts(store)) == 500
    assert take(store, path) == IntakeReport(accepted=700, resumed_at=len(lines(*range(1, 501))))
    assert receipts(store) == [1] * 1200


def test_progress_tells_positions_up_to_the_end(store: Store, path: Path) -> None:
    path.write_bytes(lines(*range(1, 1201)))
    told: list[int] = []
    FileIngester(store.reader, store.writer).ingest_file(path, told.append)
    assert told == sorted(told)
    assert (told[0], told[-1], len(told)) == (0, path.stat().st_size, 4)


def test_a_stream_has_no_place_to_go_on(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2) + b"{}\n")
    for _ in range(2):
        with path.open("rb") as file:
            report = FileIngester(store.reader, store.writer).ingest_stream(file, "stdin")
        assert report == IntakeReport(accepted=2, rejected=1)
    assert store.rows("SELECT DISTINCT source FROM run_event") == [("stdin",)]
    assert store.value("SELECT count(*) FROM ingest_position") == 0


def test_real_spark_files_give_the_same_store_as_one_stream(store: Store, events_dir: Path) -> None:
    path = events_dir / "spark-4.1.4" / "e_iceberg.ndjson"
    taken = take(store, path)
    assert (taken.accepted, taken.rejected, taken.unmerged) == (55, 0, 0)
    with Store() as other, path.open("rb") as file:
        FileIngester(other.reader, other.writer).ingest_stream(file, "stdin")
        assert other.export() == store.export()


@pytest.mark.parametrize("content", [b'{"x":"\xff"}', b'{"x":"\xff"}\n', b'[{"x":"\xff"}]', b'{"x":"\xff'])
def test_what_is_not_utf_8_is_refused_like_anything_that_is_no_json(store: Store, path: Path, content: bytes) -> None:
    path.write_bytes(lines(1) + content)
    assert take(store, path) == IntakeReport(accepted=1, rejected=1)
    path.write_bytes(content)
    assert take(store, path).rejected == 1
