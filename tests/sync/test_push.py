"""Pushing entities and edges to OpenMetadata with as few requests as possible."""

from collections import Counter

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests import factories as make
from tests.factories import (
    Json,
    columns,
    dataset,
    facet,
    field,
    parent,
    run_event,
    schema,
    spark_type,
    transformation,
)
from tests.standins.openmetadata import reset
from tests.sync.openmetadata_harness import HOME, LAYOUT, OpenMetadataHarness

COPY = columns({"k": [field("a", "k", transformation())]})


def copy_run(second: float = 0, run: int = 1, kind: str = "COMPLETE", **facets: object) -> make.Json:
    """A run of `job` that reads a and writes t."""
    a = dataset("a", schema=schema("k", "v"))
    t = dataset("t", schema=schema("k"), columnLineage=COPY, **facets)
    return run_event(kind, second, run=run, inputs=[a], outputs=[t])


def test_pushes_tables_pipeline_and_edge_with_columns() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run()).converge()
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


def test_repeated_runs_only_send_statuses() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run()).converge()
        for run in range(2, 1_002):
            synced.apply(copy_run(run % 60, run=run))
        before = Counter(synced.calls)
        synced.converge()
        assert synced.calls - before == {"put statuses": 2, "put last run": 1}
        assert len(synced.standin.state()["statuses"]["runs.job"]) == 1_001


def test_restart_makes_no_calls() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run()).converge()
        synced.connect()
        synced.apply(copy_run())
        assert synced.calls_of_next_round() == {}


def test_first_sync_uses_bulk_requests() -> None:
    names = [f"t{number}" for number in range(300)]
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset(name, schema=schema("k")) for name in names]))
        synced.reconciler.step(only={"dataset"})
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
def test_lineage_and_column_lineage_are_optional(switch: dict[str, bool], edges: dict[object, bool]) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, **switch)) as synced:
        synced.apply(copy_run()).converge()
        assert {pair: bool(edge.get("columnsLineage")) for pair, edge in synced.edges().items()} == edges


def test_edge_has_current_sql_of_job() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run()).converge()
        for second, query in ((5, "SELECT 1"), (9, "SELECT 2")):
            started = run_event("START", second, run=int(second), job_facets={"sql": facet(query=query)})
            synced.apply(started).converge()
            assert synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]["sqlQuery"] == query


def test_entities_wait_for_a_complete_run() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run(kind="START")).converge()
        assert synced.entities("table") == {}
        assert set(synced.entities("pipeline")) == {"runs.job"}
        assert {item.kind for item in synced.items_by(Outcome.WAITING)} == {"dataset", "lineage", "last_run"}
        synced.apply(copy_run(5)).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}
        assert synced.items_by(Outcome.WAITING) == []


def test_register_on_completion_disabled() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.apply(copy_run(kind="START")).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_declared_dataset_is_pushed_without_run() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(make.dataset_event(0, dataset("t", schema=schema("k")))).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.t"}


@pytest.mark.parametrize(("update_on_schema_change", "remaining"), [(True, ["k"]), (False, ["k", "v"])])
def test_removes_columns_missing_upstream_from_own_tables(
    update_on_schema_change: bool, remaining: list[str]
) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, update_on_schema_change=update_on_schema_change)) as synced:
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k"))])).converge()
        columns_after = synced.entities("table")["warehouse.d.s.t"]["columns"]
        assert [column["name"] for column in columns_after] == remaining


def test_updates_edge_when_columns_change() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(copy_run()).converge()
        lineage = columns({"k": [field("a", "k", transformation())], "w": [field("a", "w", transformation())]})
        event = run_event(
            second=5,
            run=2,
            inputs=[dataset("a", schema=schema("k", "w"))],
            outputs=[dataset("t", schema=schema("w", "k"), columnLineage=lineage)],
        )
        synced.apply(event).converge()
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert [entry["toColumn"] for entry in edge["columnsLineage"]] == ["warehouse.d.s.t.k", "warehouse.d.s.t.w"]


def test_unmapped_datasets_go_to_own_service() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout())) as synced:
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
def test_entity_type_of_dataset_kinds(namespace: str, name: str, type_: str) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(inputs=[dataset(name, namespace)], outputs=[dataset("t")])).converge()
        assert len(synced.entities(type_)) == 1
        assert len(synced.edges()) == 1


def test_files_as_containers() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout(files_as="container"))) as synced:
        input_ = dataset("/in/a", "file", schema=schema("k"))
        output = dataset(
            "/out/t",
            "file",
            schema=schema("k"),
            columnLineage=columns({"k": [field("/in/a", "k", namespace="file")]}),
        )
        synced.apply(run_event(inputs=[input_], outputs=[output])).converge()
        assert len(synced.entities("container")) == 2
        ((_, edge),) = synced.edges().items()
        assert len(edge["columnsLineage"]) == 1


def action_run(number: int, name: str, source: str, target: str) -> Json:
    return run_event(
        run=number,
        second=number,
        job=f"app.{name}",
        run_facets={"parent": parent(1, "app")},
        job_facets={"jobType": spark_type(), "sql": facet(query=f"INSERT INTO {target} SELECT * FROM {source}")},
        inputs=[dataset(source)],
        outputs=[dataset(target)],
    )


def test_tasks_are_in_execution_order_and_name_the_tasks_that_follow() -> None:
    """The action that writes `a` reads what the action that writes `z` wrote."""
    with OpenMetadataHarness() as synced:
        synced.apply(
            run_event(run=1, job="app"), action_run(2, "first", "in", "z"), action_run(3, "second", "z", "a")
        )
        synced.converge()
        first, second = synced.entities("pipeline")["runs.app"]["tasks"]
        assert (first["name"], first["downstreamTasks"], first["taskType"]) == ("write z", ["write a"], "SPARK")
        assert (second["name"], second.get("downstreamTasks")) == ("write a", None)
        synced.apply(action_run(4, "third", "a", "b")).converge()
        assert synced.entities("pipeline")["runs.app"]["tasks"][1]["downstreamTasks"] == ["write b"]


def test_spark_actions_are_tasks_of_parent_job() -> None:
    with OpenMetadataHarness() as synced:
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
def test_job_without_inputs_or_outputs_is_edge_endpoint(sides: make.Json, edge: tuple[str, str]) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(**sides)).converge()
        assert set(synced.edges()) == {edge}


def test_job_is_no_endpoint_once_both_sides_are_known() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("RUNNING", inputs=[dataset("a")]), run_event(inputs=[dataset("a")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "runs.job")}
        synced.apply(run_event(second=5, inputs=[dataset("a")], outputs=[dataset("t")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "warehouse.d.s.t")}


def test_reports_unknown_columns_and_pushes_edge() -> None:
    with OpenMetadataHarness() as synced:
        lineage = columns({"k": [field("a", "k")], "ghost": [field("a", "nothing")]})
        event = run_event(
            inputs=[dataset("a", schema=schema("k"))],
            outputs=[dataset("t", schema=schema("k"), columnLineage=lineage)],
        )
        synced.apply(event).converge()
        edge = synced.edges()["warehouse.d.s.a", "warehouse.d.s.t"]
        assert len(edge["columnsLineage"]) == 1
        reasons = [item.reason for item in synced.items_by(Outcome.PUSHED) if item.kind == "lineage"]
        assert "column nothing does not exist, so it has no lineage" in reasons


def test_entity_in_creation_does_not_wait_for_later_run() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(make.dataset_event(0, dataset("a", schema=schema("k"))))
        synced.standin.faults.next(reset(applied=True), method="PUT", path="/tables/bulk")
        synced.round()
        synced.apply(run_event("START", inputs=[dataset("a")])).converge()
        assert set(synced.edges()) == {("warehouse.d.s.a", "runs.job")}
