"""Large events are stored first, and then merged in slices with the same result."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.store.event_log import PENDING, IncomingEvent
from bridge.store.row_slices import slice_rows
from bridge.store.writer import MAX_UNSLICED_ROWS, Writer
from mappers.canonical.merge import Row
from tests import factories as make
from tests.factories import Json, dataset, run_event
from tests.laws.strategies import events
from tests.stores import Store, empty_postgres

KINDS = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])


def parsed(store: Store, event: Json) -> IncomingEvent:
    item = store.read(event)
    assert isinstance(item, IncomingEvent)
    assert item.failure is None
    return item


def wide_event(columns: int = 60, run: int = 1, second: float = 1) -> Json:
    """Build an event with the square of this number of column edges."""
    sources = [make.field("in", f"c{number}") for number in range(columns)]
    lineage = make.columns({f"c{number}": sources for number in range(columns)})
    return run_event(
        "COMPLETE", second, run=run, inputs=[dataset("in")], outputs=[dataset("out", columnLineage=lineage)]
    )


@KINDS
@given(sent=st.lists(events, min_size=1, max_size=5), size=st.integers(1, 4))
def test_slices_have_the_same_result_as_all_rows_at_once(kind: str, sent: list[Json], size: int) -> None:
    with Store() as at_once:
        expected = at_once.apply(*sent).export()
    with Store(db=empty_postgres() if kind == "postgres" else None) as store:
        for event in sent:
            item = parsed(store, event)
            store.writer.write([item._replace(rows=(), failure=PENDING)])
            store.writer.merge_slices(item.key, list(slice_rows(item.rows, size)))
        assert store.export() == expected
        assert store.rows("SELECT failure FROM run_event WHERE failure IS NOT NULL") == []


@pytest.mark.parametrize("runs", [(1, 2), (2, 1)], ids=["newer last", "older last"])
def test_slices_of_two_runs_leave_the_newer_column_lineage_active(runs: tuple[int, int]) -> None:
    sent = [wide_event(8 + run, run=run, second=run) for run in runs]
    with Store() as at_once, Store() as store:
        at_once.apply(*sent)
        for event in sent:
            item = parsed(store, event)
            store.writer.write([item._replace(rows=(), failure=PENDING)])
            store.writer.merge_slices(item.key, list(slice_rows(item.rows, 7)))
        assert store.export() == at_once.export()


def test_large_event_is_merged_after_it_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    item = parsed(store, wide_event())
    assert len(item.rows) > MAX_UNSLICED_ROWS
    failures_before_merge: list[Sequence[tuple[str | None]]] = []
    merge_slices = Writer.merge_slices

    def observe(writer: Writer, *arguments: object) -> None:
        failures_before_merge.append(store.rows("SELECT failure FROM run_event"))
        merge_slices(writer, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "merge_slices", observe)
    store.writer.write([item])
    assert failures_before_merge == [[(PENDING,)]]
    assert store.value("SELECT failure FROM run_event") is None
    assert store.value("SELECT count(*) FROM column_lineage") == 3_600


def test_merged_event_does_not_become_pending_again(store: Store) -> None:
    item = parsed(store, wide_event())
    store.writer.write([item])
    store.writer.write([item._replace(rows=(), failure=PENDING)])
    assert store.rows("SELECT failure, receipts FROM run_event") == [(None, 2)]


def test_rejected_slice_leaves_the_reason(store: Store) -> None:
    item = parsed(store, wide_event(2))
    unstorable: list[Row] = [
        row._replace(updated_at=1 << 70) if hasattr(row, "updated_at") else row for row in item.rows
    ]
    store.writer.write([item._replace(rows=(), failure=PENDING)])
    store.writer.merge_slices(item.key, [unstorable])
    assert str(store.value("SELECT failure FROM run_event")).startswith("rejected by the store: ")


def test_targets_are_notified_after_the_last_slice() -> None:
    with Store(targets=["openmetadata"]) as store:
        item = parsed(store, wide_event(3))
        store.writer.write([item._replace(rows=(), failure=PENDING)])
        store.db.execute("DELETE FROM dirty_mark")

        def slices() -> Sequence[Sequence[Row]]:
            for rows in slice_rows(item.rows, 4):
                yield rows
                assert store.rows("SELECT kind FROM dirty_mark") == []

        store.writer.merge_slices(item.key, slices())
        assert store.rows("SELECT DISTINCT kind FROM dirty_mark ORDER BY kind") == [("dataset",), ("job",), ("run",)]
