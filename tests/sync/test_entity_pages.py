"""What the pages of tables show beyond columns and lineage: generated descriptions and the last run."""

from datetime import datetime
from typing import Any

import pytest

from bridge.governance.loaded_asset import LoadedAsset
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import at, dataset, dataset_event, facet, parent, run_event, schema, spark_type, symlinks
from tests.governance.asset_harness import asset, make_asset_sync, push
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]
T = "warehouse.d.s.t"
PARQUET = facet(storageLayer="file", fileFormat="parquet")


def write_run(
    second: float, run: int, *inputs: str, job: str = "load", kind: str = "COMPLETE", **facets: Any
) -> Json:
    """A run of `job` that reads datasets and writes t."""
    read = [dataset(name, schema=schema("k")) for name in inputs]
    return run_event(
        kind, second, run=run, job=job, inputs=read, outputs=[dataset("t", schema=schema("k"), **facets)]
    )


def description(synced: OpenMetadataHarness) -> str | None:
    text: str | None = synced.entities("table")[T].get("description")
    return text


def last_runs(synced: OpenMetadataHarness) -> dict[str, Json]:
    """Last runs of t by pipeline."""
    table = synced.entities("table")[T]
    return synced.standin.store.last_runs.get(table["id"], {})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([write_run(0, 1)], "Written by load"),
        ([write_run(0, 1, storage=PARQUET)], "Parquet, written by load"),
        ([write_run(0, 1, "a", "b")], "Written by load from a and b"),
        ([write_run(0, 1, "e", "b", "d", "c", "a")], "Written by load from a, b, c and 2 more"),
        ([write_run(0, 1, "a"), write_run(1, 2, "b", job="fix")], "Written by fix and load from a and b"),
        ([write_run(0, 1, "a", documentation=facet(description="documented"))], "documented"),
        ([run_event(inputs=[dataset("t")])], None),
    ],
    ids=["writer", "format", "sources", "many sources", "two writers", "documented", "only read"],
)
def test_description_is_generated_where_there_is_none(events: list[Json], expected: str | None) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*events).converge()
        assert description(synced) == expected


def test_generated_description_follows_the_lineage() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1, "a")).converge()
        synced.apply(write_run(1, 2, "a", "b")).converge()
        assert description(synced) == "Written by load from a and b"
        calls = synced.apply(write_run(2, 3, "a", "b")).calls_of_next_round()
        assert not calls["bulk"]
        assert not calls["patch"]


def test_generated_description_names_sources_by_their_preferred_name() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1, "lake/zone/a")).converge()
        assert description(synced) == "Written by load from a"
        renamed = dataset("lake/zone/a", symlinks=symlinks("orders"))
        synced.apply(run_event("COMPLETE", 1, run=9, job="other", inputs=[renamed])).converge()
        preferred = synced.store.rows(
            "SELECT h.name FROM ol_dataset d JOIN ol_dataset h ON h.dataset_id = d.class_id WHERE d.name = 'orders'"
        )
        assert description(synced) == f"Written by load from {preferred[0][0].rpartition('/')[2]}"


def test_description_of_a_person_replaces_the_generated_one() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1, "a")).converge()
        Person(synced.standin).patch("table", T, {"/description": "by a person"})
        synced.apply(write_run(1, 2, "a", "b")).converge()
        assert description(synced) == "by a person"


@pytest.mark.parametrize("asset_first", [False, True])
def test_description_of_an_asset_replaces_the_generated_one(asset_first: bool) -> None:
    with OpenMetadataHarness() as synced:
        described = asset(description="from the asset")
        if asset_first:
            push(make_asset_sync(synced), described)
        synced.apply(write_run(0, 1, "a")).converge()
        if not asset_first:
            push(make_asset_sync(synced), described)
        synced.apply(write_run(1, 2, "a", "b")).converge()
        assert description(synced) == "from the asset"
        assert not synced.store.rows("SELECT reason FROM sync_item WHERE outcome = 'unresolved'")


def test_generated_description_returns_when_an_asset_drops_its_own() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1, "a")).converge()
        push(make_asset_sync(synced), asset(description="from the asset"))
        push(make_asset_sync(synced), asset(governance={"tags": ["a"]}))
        synced.converge()
        assert description(synced) == "Written by load from a"


FILES = OpenMetadataOptions(ServiceLayout((ServiceMapping("file", "warehouse", "d", "s"), *LAYOUT.mappings)))
ENRICHED = "warehouse.d.s./data/out/enriched"


def display_name(synced: OpenMetadataHarness) -> str | None:
    text: str | None = synced.entities("table")[ENRICHED].get("displayName")
    return text


def file_asset(**fields: Any) -> LoadedAsset:
    return asset("/data/out/enriched", "file", **fields)


FILE_RUN = run_event(outputs=[dataset("/data/out/enriched", namespace="file", schema=schema("k"))])


def test_files_are_displayed_without_their_folder() -> None:
    with OpenMetadataHarness(FILES) as synced:
        synced.apply(FILE_RUN).converge()
        assert display_name(synced) == "enriched"


def test_display_name_of_an_asset_replaces_the_generated_one() -> None:
    with OpenMetadataHarness(FILES) as synced:
        person = Person(synced.standin)
        synced.apply(FILE_RUN).converge()
        team = person.request("PUT", "teams", {"name": "data", "teamType": "Group"})
        owners = [{"id": team["id"], "type": "team"}]
        person.patch("table", ENRICHED, {"/description": "by a person", "/owners": owners})
        for name in ("Trades", "All trades"):
            push(make_asset_sync(synced), file_asset(display_name=name))
            table = synced.entities("table")[ENRICHED]
            assert (table["displayName"], table["description"]) == (name, "by a person")
            assert [owner["name"] for owner in table["owners"]] == ["data"]
        push(make_asset_sync(synced), file_asset(governance={"tags": ["a"]}))
        synced.converge()
        assert display_name(synced) == "enriched"
        assert not synced.items_by(Outcome.UNRESOLVED)


def test_display_name_of_a_person_is_kept() -> None:
    with OpenMetadataHarness(FILES) as synced:
        synced.apply(FILE_RUN).converge()
        Person(synced.standin).patch("table", ENRICHED, {"/displayName": "Trades of all desks"})
        push(make_asset_sync(synced), file_asset(display_name="Trades"))
        assert display_name(synced) == "Trades of all desks"
        assert [item.kind for item in synced.items_by(Outcome.UNRESOLVED)] == ["governance"]


def test_table_shows_the_newest_run_of_its_writers() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(5, 2), write_run(1, 1, job="older")).converge()
        [(pipeline, shown)] = last_runs(synced).items()
        assert pipeline == "runs.load"
        started = int(datetime.fromisoformat(at(5)).timestamp() * 1_000)
        assert (shown["lastRunTime"], shown["lastRunStatus"]) == (started, "Successful")
        assert shown["pipeline"]["id"] == synced.entities("pipeline")["runs.load"]["id"]


def test_last_run_may_have_failed_before_it_wrote() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1)).converge()
        synced.apply(run_event("FAIL", 9, run=2, job="load")).converge()
        assert last_runs(synced)["runs.load"]["lastRunStatus"] == "Failed"


def test_last_run_of_an_action_is_the_run_of_its_application() -> None:
    application = parent(7, "app")
    with OpenMetadataHarness() as synced:
        synced.apply(
            run_event("START", 0, run=7, job="app", job_facets={"jobType": spark_type("APPLICATION")}),
            run_event(
                "COMPLETE", 1, run=1, job="app.action", outputs=[dataset("t", schema=schema("k"))],
                run_facets={"parent": application}, job_facets={"jobType": spark_type("SQL_JOB")},
            ),
            run_event("FAIL", 3, run=7, job="app", job_facets={"jobType": spark_type("APPLICATION")}),
        )  # fmt: skip
        synced.converge()
        assert {name: shown["lastRunStatus"] for name, shown in last_runs(synced).items()} == {"runs.app": "Failed"}


def test_last_run_is_sent_at_most_once_a_minute() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1)).converge()
        sent = synced.calls["put last run"]
        for run in range(2, 7):
            synced.clock.wait(5)
            synced.apply(write_run(run, run)).round()
        within_a_minute = synced.calls["put last run"] - sent
        synced.clock.wait(61)
        synced.round()
        assert (within_a_minute, synced.calls["put last run"] - sent) == (0, 1)
        assert last_runs(synced)["runs.load"]["lastRunTime"] == int(datetime.fromisoformat(at(6)).timestamp() * 1_000)


def test_sync_to_completion_does_not_wait_for_the_interval() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(0, 1)).converge()
        for run in (2, 3):
            synced.apply(write_run(run, run))
            synced.reconciler.run_until_idle(0.0)
            assert not synced.unsettled()


def test_last_run_moves_to_a_recreated_table() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3_600
        synced.connect()
        synced.apply(write_run(0, 1)).converge()
        table = synced.entities("table")[T]
        Person(synced.standin).request("DELETE", f"tables/{table['id']}?hardDelete=true&recursive=true")
        synced.compare()
        assert last_runs(synced)["runs.load"]["lastRunStatus"] == "Successful"


def test_servers_without_last_runs_get_none() -> None:
    with OpenMetadataHarness() as synced:
        synced.standin.app.version = "1.12.3"
        synced.apply(write_run(0, 1)).converge()
        assert not synced.calls["put last run"]
        assert "since version 1.13" in str([item.reason for item in synced.items_by_kind("last_run")])


def test_rejected_last_run_becomes_a_dead_letter() -> None:
    with OpenMetadataHarness() as synced:
        synced.standin.faults.next(error(400, "no"), method="PUT", path="/pipelineObservability/")
        synced.apply(write_run(0, 1)).converge()
        [item] = synced.items_by_kind("last_run")
        assert (item.outcome, "no" in str(item.reason)) == ("dead", True)


CONTRACT = {
    "version": "2",
    "columns": [{"name": "k", "type": "bigint", "required": True}, {"name": "v", "type": "decimal(10,2)"}],
}


def with_contract(second: float, contract: Json | None, **sla: Any) -> Json:
    content = {"_deleted": True} if contract is None else contract
    return dataset_event(
        second, dataset("t", lineageBridge_contract=facet(**content), lineageBridge_sla=facet(**sla))
    )


def contracts(synced: OpenMetadataHarness) -> list[Json]:
    return list(synced.standin.store.contracts.values())


def test_contract_of_an_asset_is_a_data_contract() -> None:
    with OpenMetadataHarness() as synced:
        written = run_event(outputs=[dataset("t", schema=schema("k", "v"))])
        sla = {"expected_by": "06:30", "timezone": "Europe/London", "freshness": "90m"}
        synced.apply(written, with_contract(1, CONTRACT, **sla)).converge()
        [contract] = contracts(synced)
        assert contract["entity"] == {"id": synced.entities("table")[T]["id"], "type": "table"}
        assert [(column["name"], column["dataType"]) for column in contract["schema"]] == [
            ("k", "BIGINT"),
            ("v", "DECIMAL"),
        ]
        assert contract["sla"] == {
            "availabilityTime": "06:30 Europe/London",
            "maxLatency": {"value": 90, "unit": "minute"},
        }
        assert synced.calls_of_next_round() == {}


def test_contract_follows_its_asset() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(
            run_event(outputs=[dataset("t", schema=schema("k", "v"))]), with_contract(1, CONTRACT)
        ).converge()
        synced.apply(with_contract(2, {**CONTRACT, "version": "3"})).converge()
        [contract] = contracts(synced)
        assert "version 3" in contract["description"]
        synced.apply(with_contract(3, None)).converge()
        assert contracts(synced) == []
        synced.apply(with_contract(4, CONTRACT)).converge()
        assert len(contracts(synced)) == 1


def test_contract_leaves_out_columns_that_the_table_lacks() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))]), with_contract(1, CONTRACT)).converge()
        [contract], [item] = contracts(synced), synced.items_by_kind("contract")
        assert [column["name"] for column in contract["schema"]] == ["k"]
        assert item.reason == "the dataset lacks columns of its contract: v"
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        assert len(contracts(synced)[0]["schema"]) == 2


def test_contract_of_a_person_is_left_alone() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        table = synced.entities("table")[T]
        theirs = {"name": "theirs", "entity": {"id": table["id"], "type": "table"}}
        Person(synced.standin).request("PUT", "dataContracts", theirs)
        synced.apply(with_contract(1, CONTRACT)).converge()
        assert [contract["name"] for contract in contracts(synced)] == ["theirs"]
        [item] = synced.items_by(Outcome.UNRESOLVED)
        assert item.reason == f"{T} has a data contract of its own: theirs"


def test_push_of_an_asset_includes_its_data_contract() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))])).converge()
        push(make_asset_sync(synced), asset(version="7", schema=[{"name": "k", "type": "string"}]))
        [contract] = contracts(synced)
        assert "version 7" in contract["description"]
