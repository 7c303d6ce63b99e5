"""What reaches OpenMetadata: entities and edges, each call made once, and only when something is new."""

from collections import Counter

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests import factories as make
from tests.factories import columns, dataset, facet, field, parent, run_event, schema, spark_type, transformation
from tests.standins.openmetadata import reset
from tests.sync.openmetadata_harness import HOME, LAYOUT, Synced

COPY = columns({"k": [field("a", "k", transformation())]})


def copied(second: float = 0, run: int = 1, kind: str = "COMPLETE", **more: object) -> make.Json:
    """A run of `job` that makes t of a."""
    a = dataset("a", schema=schema("k", "v"))
    t = dataset("t", schema=schema("k"), columnLineage=COPY, **more)
    return run_event(kind, second, run=run, inputs=[a], outputs=[t])


def test_a_run_becomes_tables_a_pipeline_and_an_edge_with_columns() -> None:
    with Synced() as synced:
        synced.apply(copied()).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.a", "warehouse.d.s.t"}
        assert [column["name"] for column in synced.entities("table")["warehouse.d.s.a"]["columns"]] == ["k", "v"]
        assert set(synced.entities("pipeline")) == {"runs.job"}
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert edge["pipeline"]["fullyQualifiedName"] == "runs.job"
        assert edge["columnsLineage"] == [
            {
                "fromColumns": ["warehouse.d.s.a.k"],
                "toColumn": "warehouse.d.s.t.k",
                "function": "IDENTITY",
            }
        ]


def test_what_repeats_makes_no_call_but_for_the_statuses_of_its_runs() -> None:
    with Synced() as synced:
        synced.apply(copied()).converge()
        for run in range(2, 1_002):
            synced.apply(copied(run % 60, run=run))
        before = Counter(synced.calls)
        synced.converge()
        assert synced.calls - before == {"put statuses": 2}
        assert len(synced.standin.state()["statuses"]["runs.job"]) == 1_001


def test_a_process_that_starts_anew_makes_no_call_for_what_is_there() -> None:
    with Synced() as synced:
        synced.apply(copied()).converge()
        synced.connect()
        synced.apply(copied())
        assert synced.quiet() == {}


def test_a_first_sync_makes_no_call_a_table() -> None:
    names = [f"t{number}" for number in range(300)]
    with Synced() as synced:
        synced.apply(run_event(outputs=[dataset(name, schema=schema("k")) for name in names]))
        synced.reconciler._mark_consumer.consume()
        synced.reconciler._record(
            synced.target.push("dataset", synced.items.claim_due("dataset", 1_000)), synced.calls
        )
        assert synced.calls["bulk"] == 3
        assert synced.calls["get"] + synced.calls["list"] < 20
        assert len(synced.entities("table")) == 300


@pytest.mark.parametrize(
    ("switch", "edges"),
    [
        ({"track_lineage": False}, {}),
        ({"track_column_lineage": False}, {("warehouse.d.s.a", "warehouse.d.s.t"): False}),
        ({}, {("warehouse.d.s.a", "warehouse.d.s.t"): True}),
    ],
)
def test_lineage_and_its_columns_can_be_left_out(switch: dict[str, bool], edges: dict[object, bool]) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, **switch)) as synced:
        synced.apply(copied()).converge()
        assert {pair: bool(edge.get("columnsLineage")) for pair, edge in synced.edges().items()} == edges


def test_edges_tell_the_sql_that_a_job_runs_now() -> None:
    with Synced() as synced:
        synced.apply(copied()).converge()
        for second, query in ((5, "SELECT 1"), (9, "SELECT 2")):
            started = run_event("START", second, run=int(second), job_facets={"sql": facet(query=query)})
            synced.apply(started).converge()
            assert synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]["sqlQuery"] == query


def test_entities_wait_for_a_complete_run() -> None:
    with Synced() as synced:
        synced.apply(copied(kind="START")).converge()
        assert synced.entities("table") == {}
        assert set(synced.entities("pipeline")) == {"runs.job"}
        assert {item.kind for item in synced.items_by(Outcome.WAITING)} == {"dataset", "lineage"}
        synced.apply(copied(5)).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}
        assert synced.items_by(Outcome.WAITING) == []


def test_they_need_not_wait() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.apply(copied(kind="START")).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_what_is_declared_without_a_run_does_not_wait() -> None:
    with Synced() as synced:
        synced.apply(make.dataset_event(0, dataset("t", schema=schema("k")))).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.t"}


@pytest.mark.parametrize(("follows", "left"), [(True, ["k"]), (False, ["k", "v"])])
def test_a_column_that_is_gone_upstream_goes_where_the_table_is_ours(follows: bool, left: list[str]) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, update_on_schema_change=follows)) as synced:
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k"))])).converge()
        found = synced.entities("table")["warehouse.d.s.t"]["columns"]
        assert [column["name"] for column in found] == left


def test_edges_are_written_again_after_their_columns_changed() -> None:
    with Synced() as synced:
        synced.apply(copied()).converge()
        more = columns({"k": [field("a", "k", transformation())], "w": [field("a", "w", transformation())]})
        event = run_event(
            second=5,
            run=2,
            inputs=[dataset("a", schema=schema("k", "w"))],
            outputs=[dataset("t", schema=schema("w", "k"), columnLineage=more)],
        )
        synced.apply(event).converge()
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert [entry["toColumn"] for entry in edge["columnsLineage"]] == ["warehouse.d.s.t.k", "warehouse.d.s.t.w"]


def test_datasets_of_no_mapping_lie_in_one_service_of_ours() -> None:
    with Synced(OpenMetadataOptions(ServiceLayout())) as synced:
        event = run_event(
            inputs=[dataset("/in/a", "file"), dataset("x", "s3://lake")], outputs=[dataset("t", "pg://h:1")]
        )
        synced.apply(event).converge()
        assert {name.split(".")[0] for name in synced.entities("table")} == {HOME}
        assert len(synced.entities("table")) == 3
        assert len(synced.edges()) == 2


@pytest.mark.parametrize(
    ("namespace", "name", "type_"),
    [
        ("kafka://broker:9092", "orders", "topic"),
        ("https://api.example.com", "/v1/orders", "apiEndpoint"),
        ("mlflow://models", "scores", "mlmodel"),
    ],
)
def test_each_kind_of_dataset_becomes_its_kind_of_entity(namespace: str, name: str, type_: str) -> None:
    with Synced() as synced:
        synced.apply(run_event(inputs=[dataset(name, namespace)], outputs=[dataset("t")])).converge()
        assert len(synced.entities(type_)) == 1
        assert len(synced.edges()) == 1


def test_files_become_containers_where_the_settings_say_so() -> None:
    with Synced(OpenMetadataOptions(ServiceLayout(files_as="container"))) as synced:
        read = dataset("/in/a", "file", schema=schema("k"))
        written = dataset(
            "/out/t",
            "file",
            schema=schema("k"),
            columnLineage=columns({"k": [field("/in/a", "k", namespace="file")]}),
        )
        synced.apply(run_event(inputs=[read], outputs=[written])).converge()
        assert len(synced.entities("container")) == 2
        ((_, edge),) = synced.edges().items()
        assert len(edge["columnsLineage"]) == 1


def test_actions_of_spark_are_tasks_of_the_job_that_started_them() -> None:
    with Synced() as synced:
        synced.apply(
            run_event(run=1, job="dag.load"),
            run_event(run=2, job="app", run_facets={"parent": parent(1, "dag.load")}),
            run_event(
                run=3,
                job="app.execute_insert.out",
                run_facets={"parent": parent(2, "app")},
                job_facets={"jobType": spark_type(), "sql": facet(query="INSERT INTO t SELECT * FROM a")},
                inputs=[dataset("a")],
                outputs=[dataset("t")],
            ),
        ).converge()
        assert set(synced.entities("pipeline")) == {'runs."dag.load"'}
        ((_, pipeline),) = synced.entities("pipeline").items()
        assert [task["name"] for task in pipeline["tasks"]] == ["write t"]
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert edge["sqlQuery"] == "INSERT INTO t SELECT * FROM a"
        assert edge["pipeline"]["name"] == "dag.load"


@pytest.mark.parametrize(
    ("sides", "edge"),
    [
        ({"outputs": [dataset("t")]}, ("runs.job", "warehouse.d.s.t")),
        ({"inputs": [dataset("a")]}, ("warehouse.d.s.a", "runs.job")),
    ],
)
def test_a_job_with_one_side_only_is_an_end_itself(sides: make.Json, edge: tuple[str, str]) -> None:
    with Synced() as synced:
        synced.apply(run_event(**sides)).converge()
        assert set(synced.edges()) == {edge}


def test_it_is_no_end_once_the_other_side_is_known() -> None:
    with Synced() as synced:
        synced.apply(run_event("RUNNING", inputs=[dataset("a")]), run_event(inputs=[dataset("a")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "runs.job")}
        synced.apply(run_event(second=5, inputs=[dataset("a")], outputs=[dataset("t")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_columns_that_nobody_knows_are_told_and_hold_nothing_up() -> None:
    with Synced() as synced:
        strange = columns({"k": [field("a", "k")], "ghost": [field("a", "nothing")]})
        event = run_event(
            inputs=[dataset("a", schema=schema("k"))],
            outputs=[dataset("t", schema=schema("k"), columnLineage=strange)],
        )
        synced.apply(event).converge()
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert len(edge["columnsLineage"]) == 1
        told = [item.reason for item in synced.items_by(Outcome.PUSHED) if item.kind == "lineage"]
        assert "column nothing does not exist, so it has no lineage" in told


def test_what_was_being_made_does_not_wait_for_a_run_that_is_learnt_of_later() -> None:
    with Synced() as synced:
        synced.apply(make.dataset_event(0, dataset("a", schema=schema("k"))))
        synced.standin.faults.next(reset(applied=True), method="PUT", path="/tables/bulk")
        synced.round()
        synced.apply(run_event("START", inputs=[dataset("a")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "runs.job")}
