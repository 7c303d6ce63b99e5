"""Queries of versions, publications, partitions, pins and definitions, on both stores."""

import msgspec
import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.queries.dataset import DatasetQuery
from bridge.queries.processes import DefinitionsQuery
from bridge.queries.publications import PinsQuery, PublicationsQuery
from bridge.queries.versions import PartitionsQuery, ResolveVersionQuery, VersionsQuery
from tests.factories import at, run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import APP_JOB, CLEAN_DATASET, SAMPLE_EVENTS
from tests.stores import Store

REPORT_DATASET = {"namespace": "db", "name": "report"}


@pytest.fixture
def sample(store: Store) -> Store:
    store.apply_each(*SAMPLE_EVENTS)
    decide(store.db)
    return store


def test_version_contains_decisions_about_it(sample: Store) -> None:
    (version,) = sample.ask(VersionsQuery(**CLEAN_DATASET)).items
    assert (version.published, version.pins, version.invalid, version.metadata) == (
        True,
        ["january"],
        None,
        {"ticket": "DATA-7"},
    )
    assert sample.ask(DatasetQuery(**CLEAN_DATASET)).versions == [version]
    assert sample.ask(VersionsQuery(**REPORT_DATASET)).items[0].published is False


@pytest.mark.parametrize(("pin", "by"), [("published", "published"), ("latest", "latest"), ("january", "pin")])
def test_resolved_version_reports_how_it_was_resolved(sample: Store, pin: str, by: str) -> None:
    resolved = sample.ask(ResolveVersionQuery(**CLEAN_DATASET, pin=pin))
    assert (resolved.by, resolved.tag, resolved.run_id, resolved.rows) == (by, run_uuid(1), run_uuid(1), 3)
    assert (resolved.published_at, resolved.published_by) == ((at(59), "ann") if by == "published" else (None, None))
    assert resolved.schema_hash == sample.ask(VersionsQuery(**CLEAN_DATASET)).items[0].schema_hash


def test_publications_are_listed(sample: Store) -> None:
    (entry,) = sample.ask(PublicationsQuery(**CLEAN_DATASET)).items
    assert (entry.publication, entry.from_version, entry.to_version, entry.at, entry.by, entry.why) == (
        1, None, run_uuid(1), at(59), "ann", "checked",
    )  # fmt: skip


def test_partitions_report_invalid_versions(sample: Store) -> None:
    (partition,) = sample.ask(PartitionsQuery(**REPORT_DATASET)).items
    assert (partition.partition, partition.latest, partition.published) == ("day=2026-01-31", None, None)
    assert partition.invalid == {run_uuid(3): "cut off"}
    with pytest.raises(StateConflict, match="cut off"):
        sample.ask(ResolveVersionQuery(**REPORT_DATASET, pin="latest", partition="day=2026-01-31"))
    with pytest.raises(InvalidParameter, match="partition: a partition is written as"):
        sample.ask(ResolveVersionQuery(**REPORT_DATASET, pin="latest", partition="/"))


def test_pins_are_listed(sample: Store) -> None:
    (pin,) = sample.ask(PinsQuery()).items
    assert (pin.name, pin.dataset.name, pin.version, pin.why) == (
        "january", "lake.clean", run_uuid(1), "for the auditors",
    )  # fmt: skip


def test_definitions_are_listed(sample: Store) -> None:
    (definition,) = sample.ask(DefinitionsQuery(**APP_JOB)).items
    assert (definition.version, definition.active, msgspec.json.decode(definition.definition)) == (
        "1",
        True,
        {"steps": ["report"]},
    )
    with pytest.raises(NotFound, match="no job 'nothing'"):
        sample.ask(DefinitionsQuery(namespace="jobs", name="nothing"))
    with pytest.raises(InvalidParameter, match="missing job"):
        sample.ask(DefinitionsQuery(name="app2"))
