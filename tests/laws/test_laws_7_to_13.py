"""Merge laws 7 to 13 of docs/guarantees.md; expected results were decided by hand."""

from typing import Any

import pytest

from bridge.intake.event_reader import EventReader
from bridge.store.writer import Writer
from mappers.canonical import identity
from mappers.openlineage.event import EventLimits
from mappers.openlineage.row_builder import MappingOptions
from tests import factories as make
from tests.factories import Json, columns, dataset, field, lifecycle, micros, run_event, run_uuid, transformation
from tests.stores import Store, as_bytes

RUN = "SELECT event_type, started_at, event_time FROM ol_run WHERE run_uuid = ?"


def seen_names(store: Store) -> set[str]:
    return {name for (name,) in store.rows("SELECT name FROM dataset")}


# Law 7: accumulation and snapshots.


def test_7_inputs_and_outputs_accumulate_over_the_events_of_a_run(store: Store) -> None:
    store.apply_each(
        run_event("START", 1, inputs=[dataset("a")]),
        run_event("RUNNING", 2, inputs=[dataset("b")]),
        run_event("COMPLETE", 3, outputs=[dataset("t")]),
    )
    assert store.upstream("t") == {("a", "job", "", "inferred"), ("b", "job", "", "inferred")}


def test_7_snapshot_job_shows_newest_inputs_and_outputs(store: Store) -> None:
    snapshots = {
        "jobType": make.facet(
            processingType="STREAMING", integration="X", emissionPattern={"eventContentMode": "COMPLETE_SNAPSHOT"}
        )
    }
    store.apply_each(
        run_event(
            "RUNNING",
            1,
            inputs=[dataset("a"), dataset("b")],
            outputs=[dataset("t"), dataset("u")],
            job_facets=snapshots,
        ),
        run_event("RUNNING", 2, inputs=[dataset("b"), dataset("c")]),
        run_event("RUNNING", 3, outputs=[dataset("t")]),
    )
    assert {source for source, *_ in store.upstream("t")} == {"b", "c"}
    assert store.upstream("u") == set()
    assert store.value("SELECT count(*) FROM ol_run_input") == 3


# Law 8: evidence.


def test_8_explicit_entries_win_within_their_run(store: Store) -> None:
    def lineage(*sources: str) -> make.Json:
        inputs = [{"namespace": "db", "name": source, "type": "DATASET"} for source in sources]
        return make.facet(entries=[{"namespace": "db", "name": "t", "type": "DATASET", "inputs": inputs}])

    io = {
        "inputs": [dataset("a"), dataset("b")],
        "outputs": [dataset("t", columnLineage=columns({"k": [field("b", "k")]}))],
    }
    explicit = run_event("START", 1, job_facets={"lineage": lineage("a")})
    observed = run_event("COMPLETE", 2, **io)
    for order in ((explicit, observed), (observed, explicit)):
        with Store() as single_run:
            single_run.apply_each(*order)
            assert single_run.upstream("t") == {("a", "job", "", "explicit")}
    store.apply_each(explicit, run_event("COMPLETE", 3, run=2, **io))
    assert store.upstream("t") == {("a", "job", "", "explicit"), ("b", "job", "", "column")}


def test_8_explicit_entry_without_inputs_has_no_sources(store: Store) -> None:
    entry = {"namespace": "db", "name": "t", "type": "DATASET", "inputs": []}
    store.apply(
        run_event(inputs=[dataset("a")], outputs=[dataset("t")], job_facets={"lineage": make.facet(entries=[entry])})
    )
    assert store.upstream("t") == set()


def test_8_inferred_edges_are_not_stored(store: Store) -> None:
    store.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t")]))
    assert store.upstream("t") == {("a", "job", "", "inferred")}
    assert store.rows("SELECT 1 FROM lineage_edge WHERE edge_role = 'DERIVES'") == []


# Law 9: declarations.


def test_9_newest_job_event_replaces_declared_inputs_and_outputs(store: Store) -> None:
    declared = [
        make.job_event(1, inputs=[dataset("a")], outputs=[dataset("t")]),
        make.job_event(2, inputs=[dataset("b")], outputs=[dataset("t")]),
        make.job_event(3, documentation=make.facet(description="only facets")),
    ]
    for order in (declared, declared[::-1]):
        with Store() as ordered:
            ordered.apply_each(*order)
            assert ordered.upstream("t") == {("b", "job", "", "declared")}
            assert ordered.value("SELECT description FROM process") == "only facets"


def test_9_declared_never_overwrites_observed(store: Store) -> None:
    store.apply_each(
        run_event(second=1, inputs=[dataset("a")], outputs=[dataset("t")]),
        make.job_event(2, inputs=[dataset("b")], outputs=[dataset("t")]),
    )
    assert store.upstream("t") == {("a", "job", "", "inferred"), ("b", "job", "", "declared")}


def test_9_dataset_event_lineage_supersedes_column_lineage(store: Store) -> None:
    source = {"namespace": "db", "name": "b", "type": "DATASET"}
    store.apply_each(
        make.dataset_event(1, dataset("t", lineage=make.facet(inputs=[source]))),
        make.dataset_event(9, dataset("t", columnLineage=columns({"k": [field("c", "k")]}))),
    )
    assert store.upstream("t") == {("b", "", "", "declared")}
    store.apply(make.dataset_event(2, dataset("t", lineage=make.facet(inputs=[source | {"name": "d"}]))))
    assert store.upstream("t") == {("d", "", "", "declared")}


def test_9_newer_dataset_event_replaces_declared_column_lineage(store: Store) -> None:
    for second, source in ((2, "b"), (1, "a")):
        lineage = columns({"k": [field(source, "k")]})
        store.apply(make.dataset_event(second, dataset("t", columnLineage=lineage)))
        assert store.upstream("t") == {("b", "", "", "declared")}
    assert store.rows(ACTIVE) == [("b", "k")]


def test_9_explicit_lineage_wins_within_a_dataset_event(store: Store) -> None:
    inputs = [{"namespace": "db", "name": "b", "type": "DATASET", "field": "k"}]
    reported = dataset(
        "t",
        lineage=make.facet(fields={"v": {"inputs": inputs}}),
        columnLineage=columns({"k": [field("a", "k")]}),
    )
    store.apply(make.dataset_event(1, reported))
    assert store.upstream("t") == {("b", "", "", "declared")}
    assert store.rows("SELECT source_dataset, target_field, is_active FROM ol_column_lineage") == [("b", "v", 1)]


def test_9_column_lineage_of_a_declared_output_is_declared(store: Store) -> None:
    store.apply(make.job_event(1, outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))]))
    assert store.upstream("t") == {("a", "job", "", "declared")}


@pytest.mark.parametrize("owner", ["job", "dataset"])
def test_9_columns_of_declared_lineage_are_active(store: Store, owner: str) -> None:
    fields = {"k": {"inputs": [{"namespace": "db", "name": "a", "type": "DATASET", "field": "k"}]}}
    entry = {"namespace": "db", "name": "t", "type": "DATASET", "fields": fields}
    store.apply(
        make.job_event(1, lineage=make.facet(entries=[entry]))
        if owner == "job"
        else make.dataset_event(1, dataset("t", lineage=make.facet(fields=fields)))
    )
    assert store.rows(ACTIVE) == [("a", "k")]


# Law 10: versions.


def test_10_version_tag_is_that_of_the_system_or_the_run(store: Store) -> None:
    version = {"version": make.facet(datasetVersion="v7")}
    store.apply_each(
        run_event("START", 1, run=1, outputs=[dataset("t", **version)]),
        run_event(
            "COMPLETE", 2, run=1, outputs=[dataset("t", output_facets={"outputStatistics": make.facet(rowCount=5)})]
        ),
        run_event("COMPLETE", 3, run=2, outputs=[dataset("t")]),
        run_event("FAIL", 4, run=3, outputs=[dataset("t")]),
    )
    read = "SELECT version_tag, row_count, is_latest FROM dataset_version_read ORDER BY produced_at"
    assert store.rows(read) == [("v7", 5, 0), (run_uuid(2), None, 1)]
    assert store.value("SELECT count(*) FROM dataset_version") == 3


def test_10_readers_see_one_version_per_tag(store: Store) -> None:
    version = {"version": make.facet(datasetVersion="v1")}
    for run, second in ((2, 1), (1, 3), (3, 5)):
        store.apply(run_event("COMPLETE", second, run=run, outputs=[dataset("t", **version)]))
    assert store.rows("SELECT produced_by_run_id, is_latest FROM dataset_version_read") == [
        (identity.run_id("default", run_uuid(2)), True)
    ]


def run_with_key(key: str | None, run: int, second: float, kind: str = "COMPLETE") -> Json:
    key_facet = make.DELETED if key is None else make.facet(key=key)
    return run_event(
        kind, second, run=run, outputs=[dataset("t", output_facets={"lineageBridge_idempotencyKey": key_facet})]
    )


def test_10_attempts_with_one_key_are_one_version(store: Store) -> None:
    """Repeated events do not matter, and a failed attempt is not a version."""
    attempts = [
        run_with_key("k", 3, 1, "FAIL"),
        run_with_key("k", 2, 2),
        run_with_key("k", 2, 3),
        run_with_key("k", 1, 4),
        run_with_key("other", 4, 5),
    ]
    store.apply_each(*attempts, *reversed(attempts))
    read = "SELECT version_tag, idempotency_key, is_latest FROM dataset_version_read ORDER BY produced_at"
    assert store.rows(read) == [(run_uuid(2), "k", 0), (run_uuid(4), "other", 1)]
    store.apply(run_with_key(None, 4, 6))
    assert store.value("SELECT idempotency_key FROM dataset_version WHERE version_tag = ?", run_uuid(4)) is None


def test_10_empty_idempotency_key_is_ignored(store: Store) -> None:
    store.apply(run_with_key("", 1, 1))
    assert store.value("SELECT idempotency_key FROM dataset_version") is None


def test_10_late_version_facet_replaces_the_version_tag(store: Store) -> None:
    store.apply(run_event("COMPLETE", 5, outputs=[dataset("t")]))
    assert store.value("SELECT version_tag FROM dataset_version") == run_uuid(1)
    store.apply(run_event("START", 1, outputs=[dataset("t", version=make.facet(datasetVersion="v0"))]))
    assert store.value("SELECT version_tag FROM dataset_version") == "v0"


def test_10_input_version_is_that_of_the_earliest_event(store: Store) -> None:
    for order in ((1, 2), (2, 1)):
        with Store() as ordered:
            ordered.apply_each(
                *(
                    run_event(
                        "RUNNING", second, inputs=[dataset("t", version=make.facet(datasetVersion=f"v{second}"))]
                    )
                    for second in order
                )
            )
            assert ordered.value("SELECT version FROM ol_run_input") == "v1"


def test_10_dataset_event_reports_a_version_without_a_run(store: Store) -> None:
    store.apply(make.dataset_event(1, dataset("t", version=make.facet(datasetVersion="v1"))))
    assert store.rows("SELECT version_tag, produced_by_run_id FROM dataset_version_read") == [("v1", None)]


@pytest.mark.parametrize(
    ("differs", "versions"),
    [
        ({}, 1),
        ({"outer": "OVERWRITE"}, 1),
        ({"rows": 3}, 2),
        ({"outer": "OVERWRITE", "rows": 3}, 2),
        ({"ends": 5}, 2),
        ({"outer": "OVERWRITE", "ends": 5}, 2),
        ({"application": 8}, 2),
        ({"inner": "CREATE"}, 2),
        ({"outer": "OVERWRITE", "inner": "CREATE"}, 2),
    ],
    ids=str,
)
def test_10_nested_spark_actions_write_one_version(store: Store, differs: dict[str, Any], versions: int) -> None:
    store.apply(*reversed(make.create_as_select(**differs)))
    assert len(store.rows("SELECT version_tag FROM dataset_version_read")) == versions
    if versions == 1:
        read = "SELECT version_tag, row_count, is_latest FROM dataset_version_read"
        assert store.rows(read) == [(run_uuid(1), 2, 1)]


@pytest.mark.parametrize(
    ("change", "versions"), [("DROP", 0), ("RENAME", 0), ("ALTER", 0), ("TRUNCATE", 1), ("CREATE", 1)]
)
def test_10_changes_without_data_write_no_version(store: Store, change: str, versions: int) -> None:
    store.apply(run_event(outputs=[dataset("t", lifecycleStateChange=lifecycle(change, "s"))]))
    assert store.value("SELECT count(*) FROM dataset_version") == versions


# Law 11: column lineage.

ACTIVE = "SELECT source_dataset, target_field FROM ol_column_lineage WHERE is_active ORDER BY 1, 2"


def test_11_row_is_shared_by_runs_and_keeps_the_first_discovery(store: Store) -> None:
    output = dataset("t", columnLineage=columns({"k": [field("a", "k", transformation())]}))
    for second, run in ((5, 1), (2, 3), (2, 2), (9, 4)):
        store.apply(run_event(second=second, run=run, outputs=[output]))
    assert store.rows("SELECT discovered_at, run_id FROM column_lineage") == [
        (micros(2), min(identity.run_id("default", run_uuid(run)) for run in (2, 3)))
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_11_newest_run_determines_active_lineage(order: tuple[int, ...]) -> None:
    runs = (
        run_event(second=1, run=1, outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))]),
        run_event(second=2, run=2, outputs=[dataset("t", columnLineage=columns({"k": [field("b", "k")]}))]),
    )
    with Store() as store:
        store.apply_each(*(runs[i] for i in order))
        assert store.rows(ACTIVE) == [("b", "k")]
        store.apply(run_event("START", 0, run=2))
        assert store.rows(ACTIVE) == [("a", "k")]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "by a late START event"])
def test_11_greater_run_id_breaks_ties_of_start_times(store: Store, order: tuple[int, ...], late: bool) -> None:
    runs = {identity.run_id("default", run_uuid(run)): source for run, source in ((1, "a"), (2, "b"))}
    for i in order:
        lineage = columns({"k": [field("ab"[i], "k")]})
        store.apply(run_event(second=2 + i * late, run=i + 1, outputs=[dataset("t", columnLineage=lineage)]))
    if late:
        store.apply(run_event("START", 2, run=2))
    assert store.rows(ACTIVE) == [(runs[max(runs)], "k")]


def test_11_newest_facet_of_a_run_replaces_earlier_ones(store: Store) -> None:
    for second, source in ((3, "b"), (1, "a")):
        store.apply(
            run_event("RUNNING", second, outputs=[dataset("t", columnLineage=columns({"k": [field(source, "k")]}))])
        )
    assert store.rows(ACTIVE) == [("b", "k")]
    store.apply(run_event("RUNNING", 4, outputs=[dataset("t", columnLineage=make.DELETED)]))
    assert store.rows(ACTIVE) == []


def test_11_explicit_entries_of_a_run_accumulate(store: Store) -> None:
    def entry(source: str, target: str) -> make.Json:
        inputs = [{"namespace": "db", "name": source, "type": "DATASET", "field": "k"}]
        return {"namespace": "db", "name": "t", "type": "DATASET", "fields": {target: {"inputs": inputs}}}

    for second, (source, target) in enumerate((("a", "x"), ("b", "y"))):
        store.apply(run_event("RUNNING", second, job_facets={"lineage": make.facet(entries=[entry(source, target)])}))
    assert store.rows(ACTIVE) == [("a", "x"), ("b", "y")]


# Law 12: no clamping.


def test_12_future_times_are_stored_but_do_not_beat_higher_states(store: Store) -> None:
    future = run_event("RUNNING") | {"eventTime": "2999-01-01T00:00:00Z"}
    store.apply_each(run_event("COMPLETE", 5), future)
    assert store.rows(RUN, run_uuid(1)) == [("COMPLETE", micros(5), micros(5))]
    assert store.value("SELECT updated_at FROM ol_run") > micros(5)


# Law 13: the export.


def test_13_organisations_are_isolated(store: Store) -> None:
    event = run_event(outputs=[dataset("t")])
    store.apply(event)
    reader = EventReader(MappingOptions("other"), EventLimits(), clock=lambda: 0)
    Writer(store.db, "other").write([reader.read(as_bytes(event), "test")])
    assert store.value("SELECT count(*) FROM ol_run") == 2
    assert store.value("SELECT count(*) FROM ol_run WHERE org_id = 'other'") == 1
    assert b"other" not in store.export()


def test_dirty_marks_of_enabled_targets_coalesce() -> None:
    with Store(targets=["openmetadata"]) as store:
        for second in range(3):
            store.apply(run_event(second=second, outputs=[dataset("t")]))
        assert store.rows("SELECT target, kind, count(*) FROM dirty_mark GROUP BY 1, 2 ORDER BY 2") == [
            ("openmetadata", "dataset", 1),
            ("openmetadata", "job", 1),
            ("openmetadata", "run", 1),
        ]
    with Store() as store:
        store.apply(run_event(outputs=[dataset("t")]))
        assert store.rows("SELECT * FROM dirty_mark") == []


def test_9_column_lineage_of_a_removed_output_is_inactive(store: Store) -> None:
    with_columns = dataset("t", columnLineage=columns({"k": [field("a", "k")]}))
    declared = [make.job_event(1, outputs=[with_columns]), make.job_event(2, outputs=[dataset("u")])]
    for order in (declared, declared[::-1]):
        with Store() as ordered:
            ordered.apply_each(*order)
            assert ordered.rows(ACTIVE) == []
    store.apply_each(*declared, make.job_event(3, outputs=[with_columns]))
    assert store.rows(ACTIVE) == [("a", "k")]
