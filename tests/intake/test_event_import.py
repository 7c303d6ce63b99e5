"""Moving a store to another database: nothing of it is lost, and doing it again changes nothing."""

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.api.examples import LEGACY_ROUTES
from bridge.intake.event_export import export_events
from bridge.intake.event_import import EventImporter, EventImportReport
from bridge.intake.retry import InputRetry
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.failed_inputs import list_failed_inputs, read_payload
from bridge.store.intake_audit import audit_intake
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import RunningService, settings_for
from tests.factories import dataset, run_event
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.stores import Store, as_bytes

JOB = dataset("a", dataQuality={"odd": "\u2028 \U0001f600 ü"})
SPACED = (
    b"\xef\xbb\xbf "
    + as_bytes(run_event(job="spaced", outputs=[JOB])).replace(b'"eventTime":', b'"eventTime" :\t')
    + b"\r\n"
)


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[Store]:
    """Fill a store in every way there is: over HTTP, legacy, registered, as history, twice, refused, not merged."""
    folder = tmp_path / "everything"
    folder.mkdir()
    with RunningService(settings_for(folder, legacy={"db2_url": "db2://db2.example.com:50000"})) as running:
        for event in (*SAMPLE_EVENTS, SPACED, SAMPLE_EVENTS[1], b"{", b"{", b"\xff\xfe", b"[]"):
            running.post(event)
        for route in LEGACY_ROUTES:
            assert running.post(msgspec.json.encode(route.example), route.path).is_success
        for _ in range(3):
            assert running.post(b'{"run": 1}', "/api/v1/run_event").status_code == 400
    with Store(db=SqliteDatabase.for_writing(folder / "store.db")) as store:
        failing = store.read(run_event(run=77, outputs=[dataset("never merged")]))
        assert isinstance(failing, IncomingEvent)
        huge = RejectedInput(b"", b"h" * 16, "over a limit of 10 bytes", "", 5, "http", too_large=True)
        store.writer.write([
            failing._replace(rows=(), failure="why"),
            store.read(run_event(run=78), historical=True),
            huge,
        ])  # fmt: skip
        store.db.execute("UPDATE rejected_event SET payload = NULL, first_at = 1 WHERE source LIKE 'legacy:%'")
        store.db.execute(
            "UPDATE run_event SET failure = 'a fault ' || char(0) || ' of ours' WHERE failure IS NOT NULL"
        )
        assert audit_intake(store.db, store.org).discrepancies == []
        yield store


def lines_of(store: Store) -> list[bytes]:
    return list(export_events(store.db, store.org))


def move(lines: list[bytes], into: Store) -> tuple[EventImportReport, list[str]]:
    told: list[str] = []
    mover = EventImporter(into.reader, into.writer, into.db, into.org)
    return mover.run(io.BytesIO(b"".join(lines)), told.append), told


def troubles(store: Store) -> list[tuple[Any, ...]]:
    found = list_failed_inputs(store.db, store.org)
    return [
        (*(one._replace(reason=one.reason.replace("\0", "\ufffd"))), read_payload(store.db, store.org, one))
        for one in list(found)
    ]


def log(store: Store) -> list[bytes]:
    """Give the lines as they are in every store, where no U+0000 is and events of one commit lie by their time."""
    return sorted(line.replace(rb"\u0000 of ours", "\ufffd of ours".encode()) for line in lines_of(store))


def assert_the_same(one: Store, other: Store) -> None:
    assert other.export() == one.export()
    assert log(other) == log(one)
    assert troubles(other) == troubles(one)
    assert audit_intake(other.db, other.org).discrepancies == []


def test_a_store_moves_to_another_database_and_back(everything: Store, store: Store) -> None:
    lines = lines_of(everything)
    report, told = move(lines, store)
    assert (told, report) == ([], EventImportReport(events=len(lines) - 5, rejected=5))
    assert_the_same(everything, store)
    with Store() as back:
        move(lines_of(store), back)
        assert_the_same(everything, back)


def test_doing_it_again_changes_nothing(everything: Store, store: Store) -> None:
    lines = lines_of(everything)
    move(lines, store)
    before = (store.export(), lines_of(store), audit_intake(store.db, store.org))
    assert move(lines, store) == (EventImportReport(known=len(lines)), [])
    assert move(lines[::-1] + lines, store) == (EventImportReport(known=2 * len(lines)), [])
    assert (store.export(), lines_of(store), audit_intake(store.db, store.org)) == before


@pytest.mark.parametrize("cut", [1, 7, 12])
def test_a_move_that_was_cut_off_is_begun_anew(everything: Store, store: Store, cut: int) -> None:
    lines = lines_of(everything)
    move(lines[:cut], store)
    assert audit_intake(store.db, store.org).discrepancies == []
    assert move(lines, store)[0].known == cut
    assert_the_same(everything, store)


def test_payloads_are_those_that_were_sent(everything: Store, store: Store) -> None:
    said = [msgspec.json.decode(line) for line in lines_of(everything)]
    assert SPACED.decode() in [one.get("payload") for one in said]
    assert [one["payload_base64"] for one in said if "payload_base64" in one] == ["//4="]
    assert [one["kind"] for one in said] == sorted(one["kind"] for one in said)
    move(lines_of(everything), store)
    refused = {row[-1] for row in troubles(store) if row[0] == "rejected"}
    assert refused == {b"{", b"\xff\xfe", b"[]", b"", None}


def test_what_a_store_has_of_its_own_counts_once_and_stays(store: Store) -> None:
    shared, ours, theirs = (run_event(second=number, run=number) for number in (1, 2, 3))
    with Store() as other:
        other.writer.write([other.read(event, historical=True) for event in (shared, shared, shared, theirs)])
        other.writer.write([other.read(b"{"), other.read(b"{")])
        store.apply(shared, ours)
        later = store.read(b"{")
        store.writer.write([later._replace(received_at=7)])
        for _ in range(2):
            move(lines_of(other), store)
    told = store.rows("SELECT receipts, historical FROM run_event ORDER BY event_time")
    assert told == [(3, False), (1, False), (1, True)]
    assert store.rows("SELECT receipts, first_at, last_at FROM rejected_event") == [(2, 7, 7)]
    assert audit_intake(store.db, store.org).discrepancies == []


@pytest.mark.parametrize("first", ["merged", "failed"])
def test_what_one_of_two_stores_could_merge_is_merged(store: Store, first: str) -> None:
    with Store() as merged, Store() as failed:
        item = failed.read(run_event(outputs=[dataset("t")]))
        assert isinstance(item, IncomingEvent)
        merged.writer.write([item])
        failed.writer.write([item._replace(rows=(), failure="a fault of ours")])
        order = [merged, failed] if first == "merged" else [failed, merged]
        for other in order:
            move(lines_of(other), store)
        assert store.export() == merged.export()
    assert store.rows("SELECT receipts, failure FROM run_event") == [(1, None)]


def test_what_was_retried_after_a_move_is_not_undone_by_the_next(everything: Store, store: Store) -> None:
    lines = lines_of(everything)
    move(lines, store)
    (unmerged,) = [one for one in list_failed_inputs(store.db, store.org) if one.kind == "unmerged"]
    payload = read_payload(store.db, store.org, unmerged)
    assert payload is not None
    items = InputRetry(store.reader, None).read(unmerged, payload)  # type: ignore[arg-type]
    assert not isinstance(items, str)
    store.writer.write(items)
    move(lines, store)
    assert [one for one in list_failed_inputs(store.db, store.org) if one.kind == "unmerged"] == []
    assert b"never merged" in store.export()


def test_an_event_that_cannot_be_merged_here_is_kept_and_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store() as other:
        lines = lines_of(other.apply(run_event()))

    def fail(*_: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr("bridge.intake.event_reader.map_event", fail)
    report, _ = move(lines, store)
    assert report == EventImportReport(events=1, unmerged=1)
    assert store.value("SELECT failure FROM run_event") == "ValueError: a fault of ours"


def changed(line: bytes, **fields: Any) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(line) | fields) + b"\n"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda line: line[:40] + b"\n", "not a line of `export --events`: JSON is malformed"),
        (lambda line: b"\x00\xff\n", "not a line of `export --events`: "),
        (lambda line: b"[" * 100_000 + b"\n", "not a line of `export --events`: "),
        (lambda line: b"{}\n", "`kind`"),
        (lambda line: as_bytes(run_event()) + b"\n", "`kind`"),
        (lambda line: changed(line, kind="other"), "Invalid value 'other'"),
        (lambda line: changed(line, receipts=-1), "`$.receipts`"),
        (lambda line: changed(line, receipts=10**30), "`$.receipts`"),
        (lambda line: changed(line, received_at="yesterday"), "`$.received_at`"),
        (lambda line: changed(line, received_at="2026-01-01T00:00:00"), "`$.received_at`"),
        (lambda line: changed(line, hash="zz" * 16), "`$.hash`"),
        (lambda line: changed(line, hash="00" * 16), "its hash is another"),
        (lambda line: changed(line, source="a\0b"), "`$.source`"),
        (lambda line: changed(line, payload=None), "an event without its payload"),
        (lambda line: changed(line, payload=None, payload_base64="%"), "`$.payload_base64`"),
        (lambda line: changed(line, payload="{}"), "eventTime"),
        (lambda line: line.replace(b"2026-01-01T00:00:00", b"2026-01-01T00:00:01"), "its hash is another"),
    ],
)  # fmt: skip
def test_a_damaged_line_is_named_and_the_rest_is_taken(store: Store, damage: Any, said: str) -> None:
    with Store() as other:
        first, second, third = lines_of(other.apply_each(*(run_event(run=number) for number in (1, 2, 3))))
    report, told = move([first, b"\n", damage(second), third], store)
    assert report == EventImportReport(events=2, damaged=1)
    assert len(told) == 1
    assert told[0].startswith("line 3: ")
    assert said in told[0]
    assert audit_intake(store.db, store.org).discrepancies == []


def test_a_refused_input_that_is_another_is_named(store: Store) -> None:
    with Store() as other:
        other.writer.write([other.read(b"{")])
        (line,) = lines_of(other)
    report, told = move([changed(line, payload="[")], store)
    assert (report, told) == (
        EventImportReport(damaged=1),
        ["line 1: the input is not the one that was exported: its hash is another"],
    )


class Torn(io.BytesIO):
    """A file whose disk fails behind its last line."""

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise OSError("Input/output error")
        return line


def test_a_file_that_cannot_be_read_on_is_told_and_what_came_before_is_taken(store: Store) -> None:
    with Store() as other:
        lines = lines_of(other.apply(run_event()))
    told: list[str] = []
    report = EventImporter(store.reader, store.writer, store.db, store.org).run(Torn(b"".join(lines)), told.append)
    assert (report, told) == (EventImportReport(events=1, damaged=1), ["cannot read on: Input/output error"])


def test_more_lines_than_one_commit_takes(store: Store) -> None:
    with Store() as other:
        lines = lines_of(other.apply(*(run_event(run=number, job=f"j{number % 9}") for number in range(1_100))))
        seen: list[int] = []
        report = EventImporter(store.reader, store.writer, store.db, store.org).run(
            io.BytesIO(b"".join(lines)),
            seen.append,
            seen.append,  # type: ignore[arg-type]
        )
        assert report == EventImportReport(events=1_100)
        assert seen[-1] == len(b"".join(lines))
        assert store.export() == other.export()


def test_memory_stays_flat_however_long_the_log_is(store: Store, tmp_path: Path) -> None:
    note = "x" * 100_000
    for number in range(0, 200, 20):
        store.apply(
            *(run_event(run=run, run_facets={"n": {"note": note, "n": run}}) for run in range(number, number + 20))
        )
    path = tmp_path / "events"
    tracemalloc.start()
    try:
        with path.open("wb") as file:
            file.writelines(export_events(store.db, store.org))
        _, exporting = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert exporting < 3_000_000
