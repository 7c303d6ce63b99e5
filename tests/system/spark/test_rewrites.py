"""An application whose runs write a table by different actions, or fail to: columns in any order of arrival."""

import json
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import zstandard

from bridge.store.sqlite import SqliteDatabase
from connectors.spark.conf import ConfOptions
from connectors.spark.releases import TableFormat
from tests.factories import Json
from tests.stores import Store
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.system.service import Service, new_store
from tests.system.spark.job import make_inputs, release_under_test, run_job

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

_COLUMNS = """
SELECT s.name, c.source_field, c.target_field FROM column_lineage c JOIN ol_dataset s ON s.dataset_id = c.source_id
WHERE c.is_active
"""
#: The second run wrote the table last: the action of the third run failed.
EXPECTED = {("orders.csv", "id", "id"), ("orders.csv", "customer", "name")}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """Events of three runs of one application: create a table, append to it, and fail to append to it."""
    base = tmp_path_factory.mktemp("rewrites")
    make_inputs(base)
    store = new_store(base)
    with Service(store) as service:
        options = ConfOptions(
            release_under_test(), url=f"http://127.0.0.1:{service.port}", namespace="spark",
            catalog=TableFormat.iceberg, warehouse=str(base / "ice"),
        )  # fmt: skip
        for how, code in (("create", 0), ("append", 0), ("fail", 1)):
            result = run_job(base, "rewrite", how, options=options)
            assert result.code == code, result.log[-4000:]
    with closing(SqliteDatabase.for_reading(store)) as db:
        payloads = [payload for (payload,) in db.fetch_all("SELECT payload FROM run_event ORDER BY seq")]
    return [json.loads(zstandard.decompress(payload)) for payload in payloads]


def test_first_run_has_another_action_and_failed_run_reports_columns(events: list[Json]) -> None:
    reports = set()
    for event in events:
        for output in event.get("outputs", ()):
            fields = output.get("facets", {}).get("columnLineage", {}).get("fields", {})
            sources = {Path(source["name"]).name for field in fields.values() for source in field["inputFields"]}
            reports |= {(event["job"]["name"].split(".")[1], event["eventType"], source) for source in sources}
    assert reports >= {
        ("atomic_create_table_as_select", "COMPLETE", "customers"),
        ("append_data", "COMPLETE", "orders.csv"),
        ("append_data", "FAIL", "customers"),
    }


def test_columns_are_those_of_the_newest_successful_run(events: list[Json]) -> None:
    for seed in range(10):
        shuffled = Random(seed).sample(events, len(events))
        with Store() as store:
            store.apply_each(*shuffled)
            rows = store.rows(_COLUMNS)
        assert {(Path(name).name, source, target) for name, source, target in rows} == EXPECTED


@pytest.mark.parametrize("newest_first", [False, True])
def test_openmetadata_shows_these_columns(events: list[Json], newest_first: bool) -> None:
    with OpenMetadataHarness() as synced:
        for event in reversed(events) if newest_first else events:
            synced.apply(event).converge()
        lines = [line for edge in synced.edges().values() for line in edge["columnsLineage"]]
        last_parts = {
            (source.rpartition(".")[2], line["toColumn"].rpartition(".")[2])
            for line in lines
            for source in line["fromColumns"]
        }
    assert last_parts == {(source, target) for _, source, target in EXPECTED}
