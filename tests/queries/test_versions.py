"""What was decided of versions, as questions tell it, on both stores."""

import msgspec
import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.queries.dataset import DatasetQuery
from bridge.queries.processes import DefinitionsQuery
from bridge.queries.publications import PinsQuery, PublicationsQuery
from bridge.queries.versions import PartitionsQuery, ResolveVersionQuery, VersionsQuery
from tests.factories import at, run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import ESTATE, OF_APP, OF_CLEAN
from tests.stores import Store

OF_REPORT = {"namespace": "db", "name": "report"}


@pytest.fixture
def decided(store: Store) -> Store:
    store.apply_each(*ESTATE)
    decide(store.db)
    return store


def test_a_version_tells_what_was_decided_of_it(decided: Store) -> None:
    (one,) = decided.ask(VersionsQuery(**OF_CLEAN)).items
    assert (one.published, one.pins, one.invalid, one.metadata) == (True, ["january"], None, {"ticket": "DATA-7"})
    assert decided.ask(DatasetQuery(**OF_CLEAN)).versions == [one]
    assert decided.ask(VersionsQuery(**OF_REPORT)).items[0].published is False


@pytest.mark.parametrize(("pin", "by"), [("published", "published"), ("latest", "latest"), ("january", "pin")])
def test_a_resolution_says_how_it_came_about(decided: Store, pin: str, by: str) -> None:
    found = decided.ask(ResolveVersionQuery(**OF_CLEAN, pin=pin))
    assert (found.by, found.tag, found.run_id, found.rows) == (by, run_uuid(1), run_uuid(1), 3)
    assert (found.published_at, found.published_by) == ((at(59), "ann") if by == "published" else (None, None))
    assert found.schema_hash == decided.ask(VersionsQuery(**OF_CLEAN)).items[0].schema_hash


def test_a_publication_is_told(decided: Store) -> None:
    (one,) = decided.ask(PublicationsQuery(**OF_CLEAN)).items
    assert (one.publication, one.from_version, one.to_version, one.at, one.by, one.why) == (
        1, None, run_uuid(1), at(59), "ann", "checked",
    )  # fmt: skip


def test_partitions_and_their_faults_are_told(decided: Store) -> None:
    (one,) = decided.ask(PartitionsQuery(**OF_REPORT)).items
    assert (one.partition, one.latest, one.published) == ("day=2026-01-31", None, None)
    assert one.invalid == {run_uuid(3): "cut off"}
    with pytest.raises(StateConflict, match="cut off"):
        decided.ask(ResolveVersionQuery(**OF_REPORT, pin="latest", partition="day=2026-01-31"))
    with pytest.raises(InvalidParameter, match="partition: a partition is written as"):
        decided.ask(ResolveVersionQuery(**OF_REPORT, pin="latest", partition="/"))


def test_pins_are_told(decided: Store) -> None:
    (one,) = decided.ask(PinsQuery()).items
    assert (one.name, one.dataset.name, one.version, one.why) == (
        "january", "lake.clean", run_uuid(1), "for the auditors",
    )  # fmt: skip


def test_definitions_are_told(decided: Store) -> None:
    (one,) = decided.ask(DefinitionsQuery(**OF_APP)).items
    assert (one.version, one.active, msgspec.json.decode(one.definition)) == ("1", True, {"steps": ["report"]})
    with pytest.raises(NotFound, match="no job 'nothing'"):
        decided.ask(DefinitionsQuery(namespace="jobs", name="nothing"))
    with pytest.raises(InvalidParameter, match="missing job"):
        decided.ask(DefinitionsQuery(name="app2"))
