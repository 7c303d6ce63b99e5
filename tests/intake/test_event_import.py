"""Export and import of a store: complete and idempotent."""

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
def full_store(tmp_path: Path) -> Iterator[Store]:
    """A store with events of all routes, historical, repeated, rejected and unmerged ones."""
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


def export_lines(store: Store) -> list[bytes]:
    return list(export_events(store.db, store.org))


def import_lines(lines: list[bytes], target: Store) -> tuple[EventImportReport, list[str]]:
    errors: list[str] = []
    importer = EventImporter(target.reader, target.writer, target.db, target.org)
    return importer.run(io.BytesIO(b"".join(lines)), errors.append), errors


def failed_inputs(store: Store) -> list[tuple[Any, ...]]:
    inputs = list_failed_inputs(store.db, store.org)
    return [
        (*(failed._replace(reason=failed.reason.replace("\0", "\ufffd"))), read_payload(store.db, store.org, failed))
        for failed in list(inputs)
    ]


def normalized_lines(store: Store) -> list[bytes]:
    """Sorted lines without U+0000, which PostgreSQL does not store."""
    return sorted(line.replace(rb"\u0000 of ours", "\ufffd of ours".encode()) for line in export_lines(store))


def assert_equal_stores(expected: Store, actual: Store) -> None:
    assert actual.export() == expected.export()
    assert normalized_lines(actual) == normalized_lines(expected)
    assert failed_inputs(actual) == failed_inputs(expected)
    assert audit_intake(actual.db, actual.org).discrepancies == []


def test_import_to_other_database_and_back(full_store: Store, store: Store) -> None:
    lines = export_lines(full_store)
    report, errors = import_lines(lines, store)
    assert (errors, report) == ([], EventImportReport(events=len(lines) - 5, rejected=5))
    assert_equal_stores(full_store, store)
    with Store() as copy:
        import_lines(export_lines(store), copy)
        assert_equal_stores(full_store, copy)


def test_repeated_import_changes_nothing(full_store: Store, store: Store) -> None:
    lines = export_lines(full_store)
    import_lines(lines, store)
    before = (store.export(), export_lines(store), audit_intake(store.db, store.org))
    assert import_lines(lines, store) == (EventImportReport(known=len(lines)), [])
    assert import_lines(lines[::-1] + lines, store) == (EventImportReport(known=2 * len(lines)), [])
    assert (store.export(), export_lines(store), audit_intake(store.db, store.org)) == before


@pytest.mark.parametrize("count", [1, 7, 12])
def test_interrupted_import_can_be_repeated(full_store: Store, store: Store, count: int) -> None:
    lines = export_lines(full_store)
    import_lines(lines[:count], store)
    assert audit_intake(store.db, store.org).discrepancies == []
    assert import_lines(lines, store)[0].known == count
    assert_equal_stores(full_store, store)


def test_exported_payloads_are_unchanged(full_store: Store, store: Store) -> None:
    records = [msgspec.json.decode(line) for line in export_lines(full_store)]
    assert SPACED.decode() in [record.get("payload") for record in records]
    assert [record["payload_base64"] for record in records if "payload_base64" in record] == ["//4="]
    assert [record["kind"] for record in records] == sorted(record["kind"] for record in records)
    import_lines(export_lines(full_store), store)
    rejected = {row[-1] for row in failed_inputs(store) if row[0] == "rejected"}
    assert rejected == {b"{", b"\xff\xfe", b"[]", b"", None}


def test_import_keeps_existing_events(store: Store) -> None:
    shared, own, imported = (run_event(second=number, run=number) for number in (1, 2, 3))
    with Store() as source:
        source.writer.write([source.read(event, historical=True) for event in (shared, shared, shared, imported)])
        source.writer.write([source.read(b"{"), source.read(b"{")])
        store.apply(shared, own)
        later = store.read(b"{")
        store.writer.write([later._replace(received_at=7)])
        for _ in range(2):
            import_lines(export_lines(source), store)
    events = store.rows("SELECT receipts, historical FROM run_event ORDER BY event_time")
    assert events == [(3, False), (1, False), (1, True)]
    assert store.rows("SELECT receipts, first_at, last_at FROM rejected_event") == [(2, 7, 7)]
    assert audit_intake(store.db, store.org).discrepancies == []


@pytest.mark.parametrize("first", ["merged", "failed"])
def test_import_merges_event_that_one_store_could_merge(store: Store, first: str) -> None:
    with Store() as merged, Store() as failed:
        item = failed.read(run_event(outputs=[dataset("t")]))
        assert isinstance(item, IncomingEvent)
        merged.writer.write([item])
        failed.writer.write([item._replace(rows=(), failure="a fault of ours")])
        order = [merged, failed] if first == "merged" else [failed, merged]
        for source in order:
            import_lines(export_lines(source), store)
        assert store.export() == merged.export()
    assert store.rows("SELECT receipts, failure FROM run_event") == [(1, None)]


def test_repeated_import_keeps_retried_events(full_store: Store, store: Store) -> None:
    lines = export_lines(full_store)
    import_lines(lines, store)
    (unmerged,) = [failed for failed in list_failed_inputs(store.db, store.org) if failed.kind == "unmerged"]
    payload = read_payload(store.db, store.org, unmerged)
    assert payload is not None
    items = InputRetry(store.reader, None).read(unmerged, payload)  # type: ignore[arg-type]
    assert not isinstance(items, str)
    store.writer.write(items)
    import_lines(lines, store)
    assert [failed for failed in list_failed_inputs(store.db, store.org) if failed.kind == "unmerged"] == []
    assert b"never merged" in store.export()


def test_unmerged_event_is_stored_and_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store() as source:
        lines = export_lines(source.apply(run_event()))

    def fail(*_: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr("bridge.intake.event_reader.map_event", fail)
    report, _ = import_lines(lines, store)
    assert report == EventImportReport(events=1, unmerged=1)
    assert store.value("SELECT failure FROM run_event") == "ValueError: a fault of ours"


def change_line(line: bytes, **fields: Any) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(line) | fields) + b"\n"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda line: line[:40] + b"\n", "not a line of `export --events`: JSON is malformed"),
        (lambda line: b"\x00\xff\n", "not a line of `export --events`: "),
        (lambda line: b"[" * 100_000 + b"\n", "not a line of `export --events`: "),
        (lambda line: b"{}\n", "`kind`"),
        (lambda line: as_bytes(run_event()) + b"\n", "`kind`"),
        (lambda line: change_line(line, kind="other"), "Invalid value 'other'"),
        (lambda line: change_line(line, receipts=-1), "`$.receipts`"),
        (lambda line: change_line(line, receipts=10**30), "`$.receipts`"),
        (lambda line: change_line(line, received_at="yesterday"), "`$.received_at`"),
        (lambda line: change_line(line, received_at="2026-01-01T00:00:00"), "`$.received_at`"),
        (lambda line: change_line(line, hash="zz" * 16), "`$.hash`"),
        (lambda line: change_line(line, hash="00" * 16), "its hash differs"),
        (lambda line: change_line(line, source="a\0b"), "`$.source`"),
        (lambda line: change_line(line, payload=None), "an event without its payload"),
        (lambda line: change_line(line, payload=None, payload_base64="%"), "`$.payload_base64`"),
        (lambda line: change_line(line, payload="{}"), "eventTime"),
        (lambda line: line.replace(b"2026-01-01T00:00:00", b"2026-01-01T00:00:01"), "its hash differs"),
    ],
)  # fmt: skip
def test_damaged_line_is_reported_and_the_rest_imported(store: Store, damage: Any, message: str) -> None:
    with Store() as source:
        first, second, third = export_lines(source.apply_each(*(run_event(run=number) for number in (1, 2, 3))))
    report, errors = import_lines([first, b"\n", damage(second), third], store)
    assert report == EventImportReport(events=2, damaged=1)
    assert len(errors) == 1
    assert errors[0].startswith("line 3: ")
    assert message in errors[0]
    assert audit_intake(store.db, store.org).discrepancies == []


def test_rejected_input_with_other_hash_is_reported(store: Store) -> None:
    with Store() as source:
        source.writer.write([source.read(b"{")])
        (line,) = export_lines(source)
    report, errors = import_lines([change_line(line, payload="[")], store)
    assert (report, errors) == (
        EventImportReport(damaged=1),
        ["line 1: the input was modified after the export: its hash differs"],
    )


class UnreadableFile(io.BytesIO):
    """A file with a read error after its last line."""

    def readline(self, limit: int | None = -1, /) -> bytes:
        line = super().readline(limit)
        if not line:
            raise OSError("Input/output error")
        return line


def test_read_error_is_reported_after_importing_previous_lines(store: Store) -> None:
    with Store() as source:
        lines = export_lines(source.apply(run_event()))
    errors: list[str] = []
    report = EventImporter(store.reader, store.writer, store.db, store.org).run(
        UnreadableFile(b"".join(lines)), errors.append
    )
    assert (report, errors) == (
        EventImportReport(events=1, damaged=1),
        ["cannot continue reading: Input/output error"],
    )


def test_more_lines_than_one_commit(store: Store) -> None:
    with Store() as source:
        lines = export_lines(source.apply(*(run_event(run=number, job=f"j{number % 9}") for number in range(1_100))))
        positions: list[int] = []
        report = EventImporter(store.reader, store.writer, store.db, store.org).run(
            io.BytesIO(b"".join(lines)),
            positions.append,
            positions.append,  # type: ignore[arg-type]
        )
        assert report == EventImportReport(events=1_100)
        assert positions[-1] == len(b"".join(lines))
        assert store.export() == source.export()


def test_export_memory_does_not_depend_on_log_size(store: Store, tmp_path: Path) -> None:
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
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 3_000_000
