"""Ingestion of files: resumed, restarted, historical, and counted."""

import gzip
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import StoreFull
from bridge.intake.file_ingester import FileIngester
from bridge.intake.source import IntakeReport
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.intake_audit import audit_intake
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


def ingest(store: Store, path: Path, **options: Any) -> IntakeReport:
    return FileIngester(store.reader, store.writer, **options).ingest_file(path)


def test_file_is_ingested_once(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    assert ingest(store, path) == IntakeReport(accepted=2)
    assert ingest(store, path) == IntakeReport(resumed_at=len(lines(1, 2)))
    assert receipts(store) == [1, 1]


def test_grown_file_is_resumed(store: Store, path: Path) -> None:
    path.write_bytes(lines(1))
    ingest(store, path)
    with path.open("ab") as file:
        file.write(lines(2, 3))
    assert ingest(store, path) == IntakeReport(accepted=2, resumed_at=len(lines(1)))
    assert receipts(store) == [1, 1, 1]


def test_grown_gzip_file_is_resumed(store: Store, path: Path) -> None:
    path.write_bytes(gzip.compress(lines(1)))
    ingest(store, path)
    with path.open("ab") as file:
        file.write(gzip.compress(lines(2)))
    assert ingest(store, path) == IntakeReport(accepted=1, resumed_at=len(lines(1)))


@pytest.mark.parametrize(
    "replacement", [lines(4, 5, 6), lines(4), lines(4, 2)], ids=["other", "shorter", "other first"]
)
def test_replaced_file_is_read_from_start(store: Store, path: Path, replacement: bytes) -> None:
    path.write_bytes(lines(1, 2))
    ingest(store, path)
    path.write_bytes(replacement)
    assert ingest(store, path) == IntakeReport(accepted=replacement.count(b"\n"))


def test_shorter_file_with_equal_start_is_read_from_start(store: Store, path: Path) -> None:
    long = as_bytes(run_event(job="j" * 5_000)) + b"\n"
    path.write_bytes(long + lines(1, 2))
    ingest(store, path)
    path.write_bytes(long + lines(3))
    assert ingest(store, path) == IntakeReport(accepted=2)
    assert store.value("SELECT count(*) FROM ol_run") == 3


def test_file_is_identified_by_path(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(lines(1))
    ingest(store, path)
    monkeypatch.chdir(path.parent)
    assert ingest(store, Path(path.name)).resumed_at == len(lines(1))
    second = path.with_name("copy.ndjson")
    second.write_bytes(lines(1))
    assert ingest(store, second) == IntakeReport(accepted=1)


def test_from_start_reads_complete_file(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    ingest(store, path)
    before = store.export()
    assert ingest(store, path, from_start=True) == IntakeReport(accepted=2)
    assert receipts(store) == [2, 2]
    assert store.export() == before


@pytest.mark.parametrize(
    ("marks", "expected"),
    [([True], 1), ([False], 0), ([True, True], 1), ([True, False], 0), ([False, True], 0)],
)
def test_event_is_historical_if_all_receipts_are(store: Store, path: Path, marks: list[bool], expected: int) -> None:
    path.write_bytes(lines(1))
    for historical in marks:
        ingest(store, path, historical=historical, from_start=True)
    assert store.value("SELECT historical FROM run_event") == expected


def test_invalid_lines_are_stored_once(store: Store, path: Path) -> None:
    path.write_bytes(lines(1) + b'{"torn":\n{}\n' + lines(2))
    assert ingest(store, path) == IntakeReport(accepted=2, rejected=2)
    assert store.rows("SELECT reason, path, source FROM rejected_event ORDER BY reason") == [
        ("is missing (line 3)", "eventTime", str(path)),
        ("not JSON: Input data was truncated (line 2)", "", str(path)),
    ]
    assert ingest(store, path).rejected == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("ingested", "appended", "numbers"),
    [
        (lines(1, 2), b"x\n" + lines(3) + b"y\n", [3, 5]),
        (lines(1) + b"\nx\n", b"\n\ny\n", [3, 6]),
        (lines(1)[:-1], b"\nx\n", [2]),
        (lines(1), b"x" * 3_000 + b"\n", [2]),
        (b'{\n"torn":\n', b"x\n" + lines(1), [1, 2, 3]),
    ],
    ids=["lines", "blank lines", "no last line end", "over-long line", "incomplete document"],
)
def test_line_numbers_are_right_after_resume(
    store: Store, path: Path, pack: Callable[[bytes], bytes], ingested: bytes, appended: bytes, numbers: list[int]
) -> None:
    path.write_bytes(pack(ingested))
    ingest(store, path, max_line=2_500)
    with path.open("ab") as file:
        file.write(pack(appended))
    ingest(store, path, max_line=2_500)
    reasons = [reason for (reason,) in store.rows("SELECT reason FROM rejected_event")]
    assert sorted(reason.rpartition(" (line ")[2] for reason in reasons) == [f"{number})" for number in numbers]


def test_rejected_line_of_a_deleted_file_has_no_number(store: Store, path: Path) -> None:
    path.write_bytes(lines(1))
    ingest(store, path)
    with path.open("ab") as file:
        file.write(b"x\n" + lines(2))
    report = FileIngester(store.reader, store.writer).ingest_file(
        path, progress=lambda _: path.unlink(missing_ok=True)
    )
    assert report == IntakeReport(accepted=1, rejected=1, resumed_at=len(lines(1)))
    assert "(line" not in store.value("SELECT reason FROM rejected_event")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# title\n\ntext\n", "not an event file: none of 2 lines is an event; not JSON"),
        (b'{"name": 1}\n{"name": 2}\n', "not an event file: none of 2 lines is an event; is missing (line 1)"),
        (b"text\n" * 499, "not an event file: none of 499 lines is an event; not JSON"),
    ],
)
def test_foreign_file_is_one_rejected_input(store: Store, path: Path, content: bytes, reason: str) -> None:
    path.write_bytes(content)
    for _ in range(2):
        assert ingest(store, path) == IntakeReport(rejected=1)
    ((stored_reason, receipts),) = store.rows("SELECT reason, receipts FROM rejected_event")
    assert (stored_reason.startswith(reason), receipts) == (True, 2)
    assert audit_intake(store.db, store.org).discrepancies == []


def test_events_after_many_foreign_lines_are_ingested(store: Store, path: Path) -> None:
    path.write_bytes(b"text\n" * 600 + lines(1))
    assert ingest(store, path) == IntakeReport(accepted=1, rejected=600)


def test_foreign_lines_appended_to_events_are_rejected_one_by_one(store: Store, path: Path) -> None:
    path.write_bytes(lines(1))
    ingest(store, path)
    path.write_bytes(lines(1) + b"a\nb\n")
    assert ingest(store, path) == IntakeReport(rejected=2, resumed_at=len(lines(1)))


def test_unmapped_events_are_counted(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr("bridge.intake.event_reader.map_event", fail)
    path.write_bytes(lines(1, 2))
    assert ingest(store, path) == IntakeReport(accepted=2, unmerged=2)
    assert "ArithmeticError" in capsys.readouterr().out


def test_partial_last_line_is_rejected_and_ingested_when_complete(store: Store, path: Path) -> None:
    complete = lines(1, 2)
    path.write_bytes(complete[:-20])
    assert ingest(store, path) == IntakeReport(accepted=1, rejected=1)
    path.write_bytes(complete + lines(3))
    assert ingest(store, path) == IntakeReport(accepted=2, resumed_at=len(lines(1)))
    assert store.value("SELECT count(*) FROM ol_run") == 3


@pytest.mark.parametrize("missing", [30, 1], ids=["truncated", "last byte missing"])
def test_truncated_gzip_file_is_read_as_far_as_possible(store: Store, path: Path, missing: int) -> None:
    path.write_bytes(gzip.compress(lines(1, 2)) + gzip.compress(lines(3))[:-missing])
    report = ingest(store, path)
    assert report.accepted >= 2
    assert [reason.partition(": ")[0] for reason in report.unreadable] == [str(path)]
    path.write_bytes(gzip.compress(lines(1, 2)) + gzip.compress(lines(3)))
    assert ingest(store, path).unreadable == ()
    assert receipts(store) == [1, 1, 1]


def test_unreadable_file_is_reported(store: Store, path: Path) -> None:
    path.write_bytes(b"\x1f\x8b damaged")
    report = ingest(store, path)
    assert report.accepted == 0
    assert report.unreadable[0].startswith(f"{path}: ")
    assert ingest(store, path.parent).unreadable[0].startswith(f"{path.parent}: ")


def test_file_name_with_invalid_utf8_is_escaped(store: Store, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.ndjson")
    path.write_bytes(lines(1))
    assert ingest(store, path).accepted == 1
    assert store.value("SELECT source FROM run_event") == f"{tmp_path}/\\xff.ndjson"
    assert ingest(store, path).resumed_at == len(lines(1))


def test_position_is_committed_with_events(store: Store, path: Path) -> None:
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
        ingest(store, path)
    store.writer.stage = stage  # type: ignore[method-assign]
    assert len(receipts(store)) == 500
    assert ingest(store, path) == IntakeReport(accepted=700, resumed_at=len(lines(*range(1, 501))))
    assert receipts(store) == [1] * 1200


def test_progress_reports_positions(store: Store, path: Path) -> None:
    path.write_bytes(lines(*range(1, 1201)))
    positions: list[int] = []
    FileIngester(store.reader, store.writer).ingest_file(path, positions.append)
    assert positions == sorted(positions)
    assert (positions[0], positions[-1], len(positions)) == (0, path.stat().st_size, 4)


def test_stream_is_not_resumed(store: Store, path: Path) -> None:
    path.write_bytes(lines(1, 2) + b"{}\n")
    for _ in range(2):
        with path.open("rb") as file:
            report = FileIngester(store.reader, store.writer).ingest_stream(file, "stdin")
        assert report == IntakeReport(accepted=2, rejected=1)
    assert store.rows("SELECT DISTINCT source FROM run_event") == [("stdin",)]
    assert store.value("SELECT count(*) FROM ingest_position") == 0


def test_file_and_stream_give_equal_stores(store: Store, events_dir: Path) -> None:
    path = events_dir / "spark-4.1.4" / "e_iceberg.ndjson"
    report = ingest(store, path)
    assert (report.accepted, report.rejected, report.unmerged) == (55, 0, 0)
    with Store() as from_stream, path.open("rb") as file:
        FileIngester(from_stream.reader, from_stream.writer).ingest_stream(file, "stdin")
        assert from_stream.export() == store.export()


@pytest.mark.parametrize("content", [b'{"x":"\xff"}', b'{"x":"\xff"}\n', b'[{"x":"\xff"}]', b'{"x":"\xff'])
def test_invalid_utf8_is_rejected(store: Store, path: Path, content: bytes) -> None:
    path.write_bytes(lines(1) + content)
    assert ingest(store, path) == IntakeReport(accepted=1, rejected=1)
    path.write_bytes(content)
    assert ingest(store, path).rejected == 1
