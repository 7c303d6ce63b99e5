"""Events of a real Spark listener: complete lineage and typed columns in OpenMetadata."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.store.lineage.evidence import EdgeEvidenceReader
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests.sync.openmetadata_harness import HOME, OpenMetadataHarness

EVENTS = sorted((Path(__file__).parents[1] / "data" / "events").rglob("*.ndjson"))


@pytest.fixture(scope="module")
def synced() -> Iterator[OpenMetadataHarness]:
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout())) as harness:
        lines = (line for path in EVENTS for line in path.read_bytes().splitlines())
        harness.apply(*lines).converge()
        yield harness


def pushed_tables(synced: OpenMetadataHarness) -> dict[bytes, str]:
    rows = synced.store.rows(
        "SELECT key, remote_name FROM sync_item WHERE kind = 'dataset' AND remote_name IS NOT NULL"
    )
    return dict(rows)


def test_pushes_all_edges_between_datasets_of_complete_runs(synced: OpenMetadataHarness) -> None:
    edges, tables = synced.edges(), pushed_tables(synced)
    expected = {
        (tables[evidence.source], tables[evidence.target])
        for evidence in EdgeEvidenceReader(synced.store.db, "default").into(sorted(tables))
        if evidence.source in tables
    }
    assert len(expected) >= 30  # without edges of dropped tables
    assert expected <= edges.keys()


def test_edges_have_columns_jobs_and_sql(synced: OpenMetadataHarness) -> None:
    edge = synced.edges()[f"{HOME}.file./data/lake.orders", f"{HOME}.file./data/out.revenue_by_country"]
    assert edge["pipeline"]["fullyQualifiedName"] == f"{HOME}.prod-spark/b_join_aggregate"
    functions = {line["toColumn"].rpartition(".")[2]: line["function"] for line in edge["columnsLineage"]}
    assert "AGGREGATION" in " ".join(functions.values())
    assert sum("sqlQuery" in candidate for candidate in synced.edges().values()) >= 2


def test_columns_are_typed_and_nested(synced: OpenMetadataHarness) -> None:
    columns = [column for table in synced.entities("table").values() for column in table["columns"]]
    assert len(columns) > 100
    assert [column for column in columns if column["dataType"] == "UNKNOWN"] == []
    assert any(column.get("children") for column in columns)


def test_all_items_are_accepted_and_resolved(synced: OpenMetadataHarness) -> None:
    assert synced.items_by(Outcome.DEAD) == []
    assert synced.items_by(Outcome.UNRESOLVED) == []
    assert synced.calls_of_next_round() == {}
