"""The merge laws one by one, each decided by hand. The numbers are those of docs/guarantees.md."""

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


def test_7_a_job_that_emits_snapshots_shows_the_newest_of_each_side(store: Store) -> None:
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


def test_8_explicit_entries_win_within_their_run_whatever_the_times(store: Store) -> None:
    def lineage(*sources: str) -> make.Json:
        inputs = [{"namespace": "db", "name": s, "type": "DATASET"} for s in sources]
        return make.facet(entries=[{"namespace": "db", "name": "t", "type": "DATASET", "inputs": inputs}])

    io = {
        "inputs": [dataset("a"), dataset("b")],
        "outputs": [dataset("t", columnLineage=columns({"k": [field("b", "k")]}))],
    }
    explicit = run_event("START", 1, job_facets={"lineage": lineage("a")})
    observed = run_event("COMPLETE", 2, **io)
    for order in ((explicit, observed), (observed, explicit)):
        with Store() as each:
            each.apply_each(*order)
            assert each.upstream("t") == {("a", "job", "", "explicit")}
    store.apply_each(explicit, run_event("COMPLETE", 3, run=2, **io))
    assert store.upstream("t") == {("a", "job", "", "explicit"), ("b", "job", "", "column")}


def test_8_a_generator_has_no_tracked_source(store: Store) -> None:
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


def test_9_the_newest_job_event_with_inputs_or_outputs_replaces_both(store: Store) -> None:
    declared = [
        make.job_event(1, inputs=[dataset("a")], outputs=[dataset("t")]),
        make.job_event(2, inputs=[dataset("b")], outputs=[dataset("t")]),
        make.job_event(3, documentation=make.facet(description="only facets")),
    ]
    for order in (declared, declared[::-1]):
        with Store() as each:
            each.apply_each(*order)
            assert each.upstream("t") == {("b", "job", "", "declared")}
            assert each.value("SELECT description FROM process") == "only facets"


def test_9_declared_never_overwrites_observed(store: Store) -> None:
    store.apply_each(
        run_event(second=1, inputs=[dataset("a")], outputs=[dataset("t")]),
        make.job_event(2, inputs=[dataset("b")], outputs=[dataset("t")]),
    )
    assert store.upstream("t") == {("a", "job", "", "inferred"), ("b", "job", "", "declared")}


def test_9_a_dataset_events_lineage_replaces_and_supersedes_column_lineage(store: Store) -> None:
    source = {"namespace": "db", "name": "b", "type": "DATASET"}
    store.apply_each(
        make.dataset_event(1, dataset("t", lineage=make.facet(inputs=[source]))),
        make.dataset_event(9, dataset("t", columnLineage=columns({"k": [field("c", "k")]}))),
    )
    assert store.upstream("t") == {("b", "", "", "declared")}
    store.apply(make.dataset_event(2, dataset("t", lineage=make.facet(inputs=[source | {"name": "d"}]))))
    assert store.upstream("t") == {("d", "", "", "declared")}


def test_9_a_dataset_events_column_lineage_declares_until_a_newer_one_replaces_it(store: Store) -> None:
    for second, source in ((2, "b"), (1, "a")):
        said = columns({"k": [field(source, "k")]})
        store.apply(make.dataset_event(second, dataset("t", columnLineage=said)))
        assert store.upstream("t") == {("b", "", "", "declared")}
    assert store.rows(ACTIVE) == [("b", "k")]


def test_9_of_both_lineages_in_a_dataset_event_the_explicit_one_alone_counts(store: Store) -> None:
    inputs = [{"namespace": "db", "name": "b", "type": "DATASET", "field": "k"}]
    both = dataset(
        "t",
        lineage=make.facet(fields={"v": {"inputs": inputs}}),
        columnLineage=columns({"k": [field("a", "k")]}),
    )
    store.apply(make.dataset_event(1, both))
    assert store.upstream("t") == {("b", "", "", "declared")}
    assert store.rows("SELECT source_dataset, target_field, is_active FROM ol_column_lineage") == [("b", "v", 1)]


def test_9_the_column_lineage_of_a_declared_output_is_declared(store: Store) -> None:
    store.apply(make.job_event(1, outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))]))
    assert store.upstream("t") == {("a", "job", "", "declared")}


@pytest.mark.parametrize("of", ["job", "dataset"])
def test_9_the_columns_of_a_declared_lineage_are_active(store: Store, of: str) -> None:
    fields = {"k": {"inputs": [{"namespace": "db", "name": "a", "type": "DATASET", "field": "k"}]}}
    entry = {"namespace": "db", "name": "t", "type": "DATASET", "fields": fields}
    store.apply(
        make.job_event(1, lineage=make.facet(entries=[entry]))
        if of == "job"
        else make.dataset_event(1, dataset("t", lineage=make.facet(fields=fields)))
    )
    assert store.rows(ACTIVE) == [("a", "k")]


# Law 10: versions.


def test_10_a_version_is_called_by_its_system_else_by_its_run(store: Store) -> None:
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


def test_10_readers_see_one_version_per_tag_made_by_the_first_complete_run(store: Store) -> None:
    version = {"version": make.facet(datasetVersion="v1")}
    for run, second in ((2, 1), (1, 3), (3, 5)):
        store.apply(run_event("COMPLETE", second, run=run, outputs=[dataset("t", **version)]))
    assert store.rows("SELECT produced_by_run_id, is_latest FROM dataset_version_read") == [
        (identity.run_id("default", run_uuid(2)), True)
    ]


def keyed(key: str | None, run: int, second: float, kind: str = "COMPLETE") -> Json:
    said = make.DELETED if key is None else make.facet(key=key)
    return run_event(
        kind, second, run=run, outputs=[dataset("t", output_facets={"lineageBridge_idempotencyKey": said})]
    )


def test_10_attempts_that_share_a_key_are_one_version(store: Store) -> None:
    """However often each of them is told of; one that failed is none of them."""
    said = [keyed("k", 3, 1, "FAIL"), keyed("k", 2, 2), keyed("k", 2, 3), keyed("k", 1, 4), keyed("other", 4, 5)]
    store.apply_each(*said, *reversed(said))
    read = "SELECT version_tag, idempotency_key, is_latest FROM dataset_version_read ORDER BY produced_at"
    assert store.rows(read) == [(run_uuid(2), "k", 0), (run_uuid(4), "other", 1)]
    store.apply(keyed(None, 4, 6))
    assert store.value("SELECT idempotency_key FROM dataset_version WHERE version_tag = ?", run_uuid(4)) is None


def test_10_an_empty_key_is_none(store: Store) -> None:
    store.apply(keyed("", 1, 1))
    assert store.value("SELECT idempotency_key FROM dataset_version") is None


def test_10_a_late_version_renames_what_the_run_wrote(store: Store) -> None:
    store.apply(run_event("COMPLETE", 5, outputs=[dataset("t")]))
    assert store.value("SELECT version_tag FROM dataset_version") == run_uuid(1)
    store.apply(run_event("START", 1, outputs=[dataset("t", version=make.facet(datasetVersion="v0"))]))
    assert store.value("SELECT version_tag FROM dataset_version") == "v0"


def test_10_a_run_inputs_version_is_its_earliest_events(store: Store) -> None:
    for order in ((1, 2), (2, 1)):
        with Store() as each:
            each.apply_each(
                *(
                    run_event("RUNNING", s, inputs=[dataset("t", version=make.facet(datasetVersion=f"v{s}"))])
                    for s in order
                )
            )
            assert each.value("SELECT version FROM ol_run_input") == "v1"


def test_10_a_dataset_event_reports_a_version_that_nobody_wrote(store: Store) -> None:
    store.apply(make.dataset_event(1, dataset("t", version=make.facet(datasetVersion="v1"))))
    assert store.rows("SELECT version_tag, produced_by_run_id FROM dataset_version_read") == [("v1", None)]


@pytest.mark.parametrize(
    ("differs", "versions"),
    [({}, 1), ({"rows": 3}, 2), ({"ends": 5}, 2), ({"application": 8}, 2), ({"inner": "CREATE"}, 2)],
    ids=["an action within an action", "other rows", "ends later", "another application", "creates by itself"],
)
def test_10_an_action_within_an_action_makes_one_version(
    store: Store, differs: dict[str, Any], versions: int
) -> None:
    store.apply(*reversed(make.create_as_select(**differs)))
    assert len(store.rows("SELECT version_tag FROM dataset_version_read")) == versions
    if versions == 1:
        read = "SELECT version_tag, row_count, is_latest FROM dataset_version_read"
        assert store.rows(read) == [(run_uuid(1), 2, 1)]


@pytest.mark.parametrize(
    ("change", "versions"), [("DROP", 0), ("RENAME", 0), ("ALTER", 0), ("TRUNCATE", 1), ("CREATE", 1)]
)
def test_10_what_writes_no_data_makes_no_version(store: Store, change: str, versions: int) -> None:
    store.apply(run_event(outputs=[dataset("t", lifecycleStateChange=lifecycle(change, "s"))]))
    assert store.value("SELECT count(*) FROM dataset_version") == versions


# Law 11: column lineage.

ACTIVE = "SELECT source_dataset, target_field FROM ol_column_lineage WHERE is_active ORDER BY 1, 2"


def test_11_a_row_is_the_same_in_every_run_and_remembers_the_first(store: Store) -> None:
    said = dataset("t", columnLineage=columns({"k": [field("a", "k", transformation())]}))
    for second, run in ((5, 1), (2, 3), (2, 2), (9, 4)):
        store.apply(run_event(second=second, run=run, outputs=[said]))
    assert store.rows("SELECT discovered_at, run_id FROM column_lineage") == [
        (micros(2), min(identity.run_id("default", run_uuid(run)) for run in (2, 3)))
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_11_active_is_what_the_newest_run_shows(order: tuple[int, ...]) -> None:
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
@pytest.mark.parametrize("late", [False, True], ids=["at once", "by an earlier start that is told later"])
def test_11_of_runs_that_start_together_the_one_with_the_greater_id_is_the_newest(
    store: Store, order: tuple[int, ...], late: bool
) -> None:
    runs = {identity.run_id("default", run_uuid(run)): source for run, source in ((1, "a"), (2, "b"))}
    for i in order:
        said = columns({"k": [field("ab"[i], "k")]})
        store.apply(run_event(second=2 + i * late, run=i + 1, outputs=[dataset("t", columnLineage=said)]))
    if late:
        store.apply(run_event("START", 2, run=2))
    assert store.rows(ACTIVE) == [(runs[max(runs)], "k")]


def test_11_within_a_run_the_newest_facet_replaces_the_others(store: Store) -> None:
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


def test_12_a_time_in_the_future_is_taken_as_it_is_but_beats_no_higher_state(store: Store) -> None:
    future = run_event("RUNNING") | {"eventTime": "2999-01-01T00:00:00Z"}
    store.apply_each(run_event("COMPLETE", 5), future)
    assert store.rows(RUN, run_uuid(1)) == [("COMPLETE", micros(5), micros(5))]
    assert store.value("SELECT updated_at FROM ol_run") > micros(5)


# Law 13: the export.


def test_13_two_orgs_share_nothing(store: Store) -> None:
    event = run_event(outputs=[dataset("t")])
    store.apply(event)
    other = EventReader(MappingOptions("other"), EventLimits(), clock=lambda: 0)
    Writer(store.db, "other").write([other.read(as_bytes(event), "test")])
    assert store.value("SELECT count(*) FROM ol_run") == 2
    assert store.value("SELECT count(*) FROM ol_run WHERE org_id = 'other'") == 1
    assert b"other" not in store.export()


def test_dirty_marks_are_made_for_enabled_targets_and_coalesce() -> None:
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


def test_9_column_lineage_of_an_output_that_is_declared_no_more_is_inactive(store: Store) -> None:
    with_columns = dataset("t", columnLineage=columns({"k": [field("a", "k")]}))
    declared = [make.job_event(1, outputs=[with_columns]), make.job_event(2, outputs=[dataset("u")])]
    for order in (declared, declared[::-1]):
        with Store() as each:
            each.apply_each(*order)
            assert each.rows(ACTIVE) == []
    store.apply_each(*declared, make.job_event(3, outputs=[with_columns]))
    assert store.rows(ACTIVE) == [("a", "k")]
