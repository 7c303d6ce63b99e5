"""All events that the spec allows are merged, on both stores, and idempotently."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.spec_events import events, events_with_facet
from tests.fuzz.spec_facets import ENTITIES, facet_classes
from tests.stores import Store

#: Classes that validate their values reject many drawn ones.
_FIXTURE = [
    HealthCheck.function_scoped_fixture,
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
]
_FACETS = [(entity, key) for entity in ENTITIES for key in facet_classes(entity)]


def assert_merged_once(store: Store, event: bytes) -> None:
    before = store.value("SELECT count(*) FROM run_event WHERE failure IS NOT NULL")
    store.apply(event)
    first = store.export()
    store.apply(event, event)
    assert store.export() == first
    assert store.value("SELECT count(*) FROM run_event WHERE failure IS NOT NULL") == before == 0


def test_facets_of_every_entity_are_found() -> None:
    counts = {entity: len(facet_classes(entity)) for entity in ENTITIES}
    assert all(counts[entity] >= minimum for entity, minimum in zip(ENTITIES, (10, 8, 12, 3, 2), strict=True)), counts
    keys = {key for _, key in _FACETS}
    assert keys >= {"schema", "columnLineage", "symlinks", "parent", "sql", "subset", "tags", "lineage", "version"}


@settings(suppress_health_check=_FIXTURE, max_examples=120)
@given(event=events)
def test_events_of_the_spec_are_merged_idempotently(store: Store, event: bytes) -> None:
    assert_merged_once(store, event)


@pytest.mark.parametrize(("entity", "key"), _FACETS, ids=lambda value: value)
@settings(suppress_health_check=_FIXTURE, max_examples=20)
@given(data=st.data())
def test_facets_of_the_spec_are_merged(sqlite_store: Store, entity: str, key: str, data: st.DataObject) -> None:
    assert_merged_once(sqlite_store, data.draw(events_with_facet(entity, key)))
