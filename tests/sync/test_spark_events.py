"""Events of the real Spark listener: all that the store draws is drawn in OpenMetadata, under typed columns."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.store.lineage.evidence import EdgeEvidenceReader
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests.sync.openmetadata_harness import HOME, Synced

EVENTS = sorted((Path(__file__).parents[1] / "data" / "events").rglob("*.ndjson"))


@pytest.fixture(scope="module")
def synced() -> Iterator[Synced]:
    with Synced(OpenMetadataOptions(ServiceLayout())) as made:
        lines = (line for path in EVENTS for line in path.read_bytes().splitlines())
        made.apply(*lines).converge()
        yield made


def names(synced: Synced) -> dict[bytes, str]:
    rows = synced.store.rows(
        "SELECT key, remote_name FROM sync_item WHERE kind = 'dataset' AND remote_name IS NOT NULL"
    )
    return dict(rows)


def test_every_edge_between_datasets_of_complete_runs_is_there(synced: Synced) -> None:
    there, known = synced.edges(), names(synced)
    drawn = {
        (known[found.source], known[found.target])
        for found in EdgeEvidenceReader(synced.store.db, "default").into(sorted(known))
        if found.source in known
    }
    assert len(drawn) >= 30  # those of tables that the jobs dropped are gone
    assert drawn <= there.keys()


def test_edges_have_columns_jobs_and_sql(synced: Synced) -> None:
    edge = synced.edges()[
        f"{HOME}.file.default./data/lake/orders", f"{HOME}.file.default./data/out/revenue_by_country"
    ]
    assert edge["pipeline"]["fullyQualifiedName"] == f"{HOME}.prod-spark/b_join_aggregate"
    told = {line["toColumn"].rpartition(".")[2]: line["function"] for line in edge["columnsLineage"]}
    assert "AGGREGATION" in " ".join(told.values())
    assert sum("sqlQuery" in one for one in synced.edges().values()) >= 2


def test_columns_are_typed_and_nested(synced: Synced) -> None:
    columns = [column for table in synced.entities("table").values() for column in table["columns"]]
    assert len(columns) > 100
    assert [column for column in columns if column["dataType"] == "UNKNOWN"] == []
    assert any(column.get("children") for column in columns)


def test_nothing_is_refused_or_without_a_place(synced: Synced) -> None:
    assert synced.items_by(Outcome.DEAD) == []
    assert synced.items_by(Outcome.UNRESOLVED) == []
    assert synced.quiet() == {}
