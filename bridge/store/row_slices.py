"""Splits the rows of a large event into slices that are merged in separate transactions."""

from collections.abc import Iterable, Iterator

from bridge.chunks import chunked
from mappers.canonical.merge import Reducer, Row
from mappers.canonical.rows import TABLES, ColumnLineageRow, RunLineageRow

#: Rows and bytes per slice; a transaction of this size takes about 20 ms.
SLICE_ROWS, SLICE_BYTES = 1_000, 1 << 20


def slice_rows(rows: Iterable[Row], size: int = SLICE_ROWS) -> Iterator[list[Row]]:
    """Split rows into slices that can be merged one after another, with the same result as all rows at once.

    Column lineage comes last. Each of its slices includes the reports of the runs, from which the slice derives which
    of its rows are active.
    """
    reducer = Reducer()
    reducer.add(rows)
    classes = [row_class for row_class in TABLES.values() if row_class not in (ColumnLineageRow, RunLineageRow)]
    yield from _slices((row for row_class in classes for row in reducer.rows(row_class)), size)
    reports: dict[tuple[bytes, bytes], list[Row]] = {}
    for report in reducer.rows(RunLineageRow):
        reports.setdefault((report.job_id, report.target_id), []).append(report)
    reported_pairs = set()
    for column_rows in chunked(reducer.rows(ColumnLineageRow), size):
        pairs = sorted({(row.job_id, row.target_id) for row in column_rows})
        reported_pairs.update(pairs)
        yield [*column_rows, *(report for pair in pairs for report in reports.get(pair, ()))]
    other_reports = (report for pair in sorted(reports.keys() - reported_pairs) for report in reports[pair])
    yield from chunked(other_reports, size)


def row_bytes(row: Row) -> int:
    """Return the size of the text and bytes in a row."""
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def _slices(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    rows_of_slice: list[Row] = []
    byte_count = 0
    for row in rows:
        rows_of_slice.append(row)
        byte_count += row_bytes(row)
        if len(rows_of_slice) >= size or byte_count >= SLICE_BYTES:
            yield rows_of_slice
            rows_of_slice, byte_count = [], 0
    if rows_of_slice:
        yield rows_of_slice
