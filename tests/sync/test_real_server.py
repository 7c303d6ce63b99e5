"""Behavior of a real OpenMetadata 2.0 that earlier versions handled wrongly."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.sync.sync_item import Outcome
from tests.factories import (
    columns,
    dataset,
    dataset_event,
    facet,
    field,
    parent,
    run_event,
    schema,
    spark_type,
    transformation,
)
from tests.standins.faults import Fault, error, html
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

W = "warehouse.d.s."
T, A = W + "t", W + "a"
#: Header {"alg":"RS256"}.
TOKEN_WITHOUT_KEY_ID = "eyJhbGciOiJSUzI1NiJ9.e30.x"
PII = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}


def write_run(second: float = 0, run: int = 1, **facets: Any) -> dict[str, Any]:
    """A run that reads a and writes t."""
    return run_event(
        second=second,
        run=run,
        inputs=[dataset("a", schema=schema("k", "v"))],
        outputs=[dataset("t", **({"schema": schema("k", "v")} | facets))],
    )


def unresolved_reasons(synced: OpenMetadataHarness) -> list[str]:
    return [str(item.reason) for item in synced.items_by(Outcome.UNRESOLVED) if item.kind == "dataset"]


def soft_delete(person: Person, type_: str, name: str) -> None:
    path = {"table": "tables", "databaseSchema": "databaseSchemas", "pipeline": "pipelines"}[type_]
    person.request("DELETE", f"{path}/{person.find(type_, name).id}?recursive=true")


@pytest.mark.parametrize("known", [False, True], ids=["never seen", "known"])
@pytest.mark.parametrize("many", [False, True], ids=["looked up", "listed"])
def test_deleted_foreign_table_stays_deleted(known: bool, many: bool) -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table(
            "t", "k", description="theirs", tableConstraints=[{"constraintType": "PRIMARY_KEY", "columns": ["k"]}]
        )
        if known:
            synced.apply(write_run()).converge()
        soft_delete(person, "table", T)
        before = dict(person.find("table", T).data)
        others = [dataset(f"x{number}", schema=schema("k")) for number in range(30 if many else 0)]
        if others:
            synced.apply(run_event(second=3, run=3, outputs=others))
        synced.apply(write_run(5, run=9, schema=schema("k", "v", "w"))).converge()
        assert person.find("table", T).data == before
        [reason] = unresolved_reasons(synced)
        assert f"{T} was deleted by admin on " in reason
        assert "restore it in OpenMetadata" in reason


def test_deleted_foreign_table_is_used_again_once_restored() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table("t", "k", "v", description="theirs")
        soft_delete(person, "table", T)
        synced.apply(write_run()).converge()
        assert not synced.edges()
        person.request("PUT", "tables/restore", {"id": person.find("table", T).id})
        synced.clock.wait(700)
        synced.converge()
        assert synced.edges().keys() == {(A, T)}
        assert person.find("table", T).data["description"] == "theirs"


def test_restores_own_deleted_table_with_edits_of_people() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        synced.apply(write_run()).converge()
        person.patch(
            "table", T, {"/columns/0/description": "the key", "/columns/0/tags/0": PII, "/retentionPeriod": "P30D"}
        )
        soft_delete(person, "table", T)
        synced.apply(write_run(5, run=2, schema=schema("k", "v", "w"))).converge()
        table = synced.entities("table")[T]
        assert [column["name"] for column in table["columns"]] == ["k", "v", "w"]
        assert table["columns"][0]["description"] == "the key"
        assert [label["tagFQN"] for label in table["columns"][0]["tags"]] == ["PII.Sensitive"]
        assert table["retentionPeriod"] == "P30D"


def test_deleted_foreign_schema_stays_deleted() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table("x", "k")
        person.patch("databaseSchema", "warehouse.d.s", {"/retentionPeriod": "P30D"})
        soft_delete(person, "databaseSchema", "warehouse.d.s")
        synced.apply(write_run()).converge()
        schema_entity = person.find("databaseSchema", "warehouse.d.s")
        assert schema_entity.deleted
        assert schema_entity.data["retentionPeriod"] == "P30D"
        assert all("warehouse.d.s was deleted by admin on " in reason for reason in unresolved_reasons(synced))


@pytest.mark.parametrize(
    ("type_name", "data_type", "length"),
    [
        ("varchar(2147483648)", "VARCHAR", 2147483647),
        ("longtext(4294967295)", "TEXT", None),
        ("decimal(4294967295,2)", "DECIMAL", None),
        ("decimal(10,-2)", "DECIMAL", None),
    ],
)
def test_lengths_beyond_an_int_do_not_reject_the_table(type_name: str, data_type: str, length: int | None) -> None:
    with OpenMetadataHarness() as synced:
        fields = facet(fields=[{"name": "k", "type": type_name}])
        synced.apply(run_event(outputs=[dataset("t", schema=fields)])).converge()
        [column] = synced.entities("table")[T]["columns"]
        assert (column["dataType"], column.get("dataLength")) == (data_type, length)
        assert column["dataTypeDisplay"] == type_name


def test_functions_of_several_sources_are_separate_entries() -> None:
    with OpenMetadataHarness() as synced:
        sources = [
            field("a", "k", transformation("DIRECT", "IDENTITY")),
            field("a", "v", transformation("DIRECT", "AGGREGATION")),
        ]
        synced.apply(write_run(columnLineage=columns({"k": sources}))).converge()
        entries = synced.edges()[A, T]["columnsLineage"]
        assert [(entry["fromColumns"], entry["function"]) for entry in entries] == [
            ([A + ".v"], "AGGREGATION"),
            ([A + ".k"], "IDENTITY"),
        ]
        assert synced.calls_of_next_round() == {}


def test_restores_own_deleted_pipeline_with_edits_of_people() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        synced.apply(write_run()).converge()
        [name] = synced.entities("pipeline")
        person.patch("pipeline", name, {"/scheduleInterval": "0 6 * * *"})
        soft_delete(person, "pipeline", name)
        synced.apply(
            run_event(second=5, run=2, job_facets={"documentation": facet(description="loads t")})
        ).converge()
        pipeline = synced.entities("pipeline")[name]
        assert (pipeline["scheduleInterval"], pipeline["description"]) == ("0 6 * * *", "loads t")


def action(second: float, run: int, name: str, **io: Any) -> dict[str, Any]:
    """An action of the Spark application `app`."""
    return run_event(
        second=second, run=run, job=f"app.{name}", job_facets={"jobType": spark_type()},
        run_facets={"parent": parent(90, "app")}, **io,
    )  # fmt: skip


def test_consumption_edges_only_for_datasets_that_lead_nowhere() -> None:
    with OpenMetadataHarness() as synced:
        a, b, t = (dataset(name, schema=schema("k")) for name in "abt")
        synced.apply(action(1, 1, "count", inputs=[a, b])).converge()
        assert synced.edges().keys() == {(A, "runs.app"), (W + "b", "runs.app")}
        synced.apply(action(3, 2, "write", inputs=[a], outputs=[t])).converge()
        assert synced.edges().keys() == {(A, T), (W + "b", "runs.app")}
        assert synced.calls_of_next_round() == {}


ROWS, NOT_NULL = f"{T}.enough (rowCount)", f"{T}.k.filled (completeness)"


def expect(second: float, *checks: dict[str, Any]) -> dict[str, Any]:
    """An asset file that requires checks of t; without checks, it requires none."""
    expectations = facet(checks=list(checks)) if checks else {"_deleted": True}
    return dataset_event(second, dataset("t", lineageBridge_expectations=expectations))


ENOUGH = {"name": "enough", "check": "rowCount"}
FILLED = {"name": "filled", "check": "completeness", "column": "k"}


def live_cases(synced: OpenMetadataHarness) -> set[str]:
    return {name for name, case in synced.standin.store.checks.cases.items() if not case.deleted}


@pytest.mark.parametrize("remaining", [(), (FILLED,)], ids=["facet deleted", "check removed"])
def test_withdrawn_check_is_deleted(remaining: tuple[dict[str, Any], ...]) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(), expect(1, ENOUGH, FILLED)).converge()
        assert live_cases(synced) == {ROWS, NOT_NULL}
        synced.apply(expect(2, *remaining)).converge()
        assert live_cases(synced) == ({NOT_NULL} if remaining else set())
        assert synced.calls_of_next_round() == {}


def test_withdrawn_check_that_runs_still_report_remains() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(), expect(1, ENOUGH)).converge()
        synced.apply(expect(2)).converge()
        assert live_cases(synced) == set()
        outcome = {"assertion": "rowCount", "name": "enough", "success": True}
        synced.apply(write_run(3, run=2, dataQualityAssertions=facet(assertions=[outcome]))).converge()
        assert live_cases(synced) == {ROWS}


def test_renamed_check_replaces_its_test_case() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(), expect(1, ENOUGH)).converge()
        synced.apply(expect(2, ENOUGH | {"name": "many"})).converge()
        assert live_cases(synced) == {f"{T}.many (rowCount)"}


def test_check_of_a_removed_column_leaves_no_column_test() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(), expect(1, FILLED)).converge()
        synced.apply(write_run(5, run=2, schema=schema("v"))).converge()
        assert live_cases(synced) == {f"{T}.k: filled (completeness)"}


def test_test_cases_left_by_earlier_versions_are_deleted() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3600
        synced.connect()
        person = Person(synced.standin)
        synced.apply(write_run(), expect(1, ENOUGH)).converge()
        link = {"entityLink": f"<#E::table::{T}>"}
        leftover = {"name": "leftover", "testDefinition": "lineageBridge_rowCount_table"}
        person.request("PUT", "dataQuality/testCases", leftover | link)
        foreign = {"name": "foreign", "entityType": "TABLE", "testPlatforms": ["Other"], "description": "x"}
        person.request("PUT", "dataQuality/testDefinitions", foreign)
        person.request("PUT", "dataQuality/testCases", {"name": "theirs", "testDefinition": "foreign"} | link)
        synced.compare()
        assert live_cases(synced) == {ROWS, f"{T}.theirs"}


def governed(second: float, **fields: Any) -> dict[str, Any]:
    return dataset_event(second, dataset("t", lineageBridge_governance=facet(**fields)))


def test_display_name_is_set_where_there_is_none() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        synced.apply(write_run()).converge()
        person.patch("table", T, {"/columns/0/description": "the key"})
        synced.apply(governed(1, displayName="Trades", description="All trades.")).converge()
        table = synced.entities("table")[T]
        assert (table["displayName"], table["description"]) == ("Trades", "All trades.")
        assert table["columns"][0]["description"] == "the key"
        assert synced.items_by(Outcome.UNRESOLVED) == []
        assert synced.calls_of_next_round() == {}


def test_older_server_keeps_a_display_name() -> None:
    with OpenMetadataHarness() as synced:
        synced.standin.app.version = "1.13.1"
        synced.apply(write_run(), governed(1, displayName="Trades")).converge()
        synced.apply(governed(2, displayName="All trades")).converge()
        assert synced.entities("table")[T]["displayName"] == "Trades"
        [item] = synced.items_by_kind("governance")
        assert (item.outcome, item.reason) == (
            Outcome.PUSHED, "displayName stays as it is: before OpenMetadata 2.0, a bot may only set a missing one",
        )  # fmt: skip
        assert synced.calls_of_next_round() == {}


def test_completeness_reaches_100_percent_after_a_drop() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3600
        synced.connect()
        statistics = {"output_facets": {"outputStatistics": facet(rowCount=3, size=30)}}
        checked = facet(assertions=[{"assertion": "rows", "success": True}])
        written = dataset("t", schema=schema("k"), dataQualityAssertions=checked, **statistics)
        synced.apply(run_event(outputs=[written])).converge()
        synced.compare()
        dropped = dataset("t", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
        synced.apply(run_event(second=5, run=2, outputs=[dropped])).converge()
        synced.compare()
        report = synced.reconciler.last_comparison()
        assert report is not None
        assert {kind: (counts.expected, counts.in_sync) for kind, counts in report.kinds.items()} == {
            "dataset": (0, 0), "job": (1, 1), "lineage": (0, 0), "run": (2, 2), "check": (0, 0), "result": (0, 0),
            "profile": (0, 0),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/tables/bulk"), ("PUT", "/v1/lineage"), ("PUT", "/status"), ("GET", "/tables/name/")],
)
@pytest.mark.parametrize(
    "lie",
    [Fault(status=200, body={"hello": "world"}), Fault(status=302, body=""), html(200)],
    ids=["other JSON", "redirect", "page"],
)
def test_unexpected_response_opens_the_circuit(method: str, path: str, lie: Fault) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run())
        synced.standin.faults.next(lie, method=method, path=path)
        for _ in range(3):
            synced.round()
        assert synced.reconciler.breaker.open
        assert synced.items_by(Outcome.DEAD) == []
        synced.converge()
        assert synced.edges().keys() == {(A, T)}


def test_failed_run_with_only_an_exit_code_shows_it() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("FAIL", 1, outputs=[dataset("t")], run_facets={"exitCode": facet(value=3)})).converge()
        [status] = [status for statuses in synced.standin.store.statuses.values() for status in statuses.values()]
        assert status["error"]["errorMessage"] == "exit code 3"


def test_zero_bytes_of_some_rows_are_unknown() -> None:
    with OpenMetadataHarness() as synced:
        statistics = {"output_facets": {"outputStatistics": facet(rowCount=3, size=0)}}
        written = dataset(
            "t", schema=schema("k"), lifecycleStateChange=facet(lifecycleStateChange="OVERWRITE"), **statistics
        )
        synced.apply(run_event("COMPLETE", 1, outputs=[written])).converge()
        [profile] = synced.standin.state()["profiles"][T]["table"]
        assert (profile["rowCount"], profile.get("sizeInByte")) == (3, None)
        [status] = [status for statuses in synced.standin.store.statuses.values() for status in statuses.values()]
        assert "sizeBytes" not in status["outputs"][0]


def test_endpoint_url_contains_the_host_of_its_namespace() -> None:
    with OpenMetadataHarness() as synced:
        endpoint = {"namespace": "https://api.example.com", "name": "/v1/positions"}
        synced.apply(run_event("COMPLETE", 1, inputs=[endpoint], outputs=[dataset("t")])).converge()
        [endpoint_entity] = synced.entities("apiEndpoint").values()
        assert endpoint_entity["endpointURL"] == "https://api.example.com/v1/positions"


def test_token_without_key_id_pauses_the_target_and_is_named() -> None:
    with OpenMetadataHarness() as synced:
        synced.connect(token=TOKEN_WITHOUT_KEY_ID)
        synced.apply(write_run()).round()
        assert "the server cannot process the token" in (synced.reconciler.breaker.pause_reason or "")
        assert not synced.items_by(Outcome.DEAD)


def test_items_are_listed_with_the_dataset_they_belong_to() -> None:
    with OpenMetadataHarness() as synced:
        statistics = {"outputStatistics": facet(rowCount=3, size=30)}
        synced.standin.faults.next(error(400, "Invalid"), method="PUT", path="/tables/bulk")
        synced.apply(run_event("COMPLETE", outputs=[dataset("t", output_facets=statistics)])).converge()
        names = {item.kind: item.name for item in synced.reconciler.unsynced_items(10)}
        assert names["profile"].endswith(" t")


def test_repairs_of_a_comparison_are_logged() -> None:
    synced = OpenMetadataHarness()
    synced.compare_seconds = 3_600
    with synced, capture_logs() as logs:
        synced.apply(write_run()).converge()
        soft_delete(Person(synced.standin), "table", T)
        synced.compare()
    assert [log["dataset"] for log in logs if log["event"] == "comparison found differences; repairing them"] == [1]
