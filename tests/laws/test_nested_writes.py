"""Law 10: profiles and versions agree on which nested actions report the same write."""

import itertools

from bridge.store.visible_versions import nested_writes_sql, written_versions_sql
from tests.factories import Json, dataset, facet, lifecycle, parent, run_event, spark_type
from tests.stores import Store

CHANGES = ("CREATE", "OVERWRITE", "APPEND", None)


def action(number: int, run: int, change: str | None, times: tuple[int, int], rows: int, kind: str) -> list[Json]:
    """Events of an action of application `number`, which writes a table of its own."""
    dataset_facets = {"lifecycleStateChange": lifecycle(change)} if change else {}
    statistics = {"outputStatistics": facet(rowCount=rows, size=10, fileCount=1)}
    outputs = [dataset(f"t{number}", output_facets=statistics, **dataset_facets)]
    facets = {
        "job_facets": {"jobType": spark_type()},
        "run_facets": {"parent": parent(90_000 + number, f"app{number}")},
    }
    return [
        run_event(event_type, second, run=2 * number + run, job=f"app{number}.{run}", outputs=outputs, **facets)
        for event_type, second in zip(("START", kind), times, strict=True)
    ]


def test_10_nested_writes_are_those_without_a_version(store: Store) -> None:
    spans = ((2, 5), (1, 6), (2, 4), (3, 5), (6, 7), (1, 2))
    pairs = itertools.product(CHANGES, CHANGES, spans, (2, 3), ("COMPLETE", "FAIL"))
    for number, (first, second, span, rows, kind) in enumerate(pairs, 1):
        store.apply(*action(number, 0, first, (2, 5), 2, kind), *action(number, 1, second, span, rows, "COMPLETE"))
    keys = store.rows(
        "SELECT v.dataset_id, v.writer_id FROM dataset_version v JOIN ol_run r ON r.run_id = v.writer_id"
        " WHERE r.event_type = 'COMPLETE' ORDER BY 1, 2"
    )
    written = set(store.rows(f"SELECT dataset_id, writer_id FROM ({written_versions_sql()}) w"))
    nested = set(store.db.fetch_for_keys(nested_writes_sql(), keys, store.org))
    assert len(nested) > 20
    assert nested == set(keys) - written
