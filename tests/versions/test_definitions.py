"""Definitions of processes and DAGs, and what anybody remembers of datasets and versions."""

import pytest

from bridge.errors import NotFound, StateConflict
from bridge.versions.definitions import DefinitionKind, RegisteredDefinition, process_id
from tests.factories import run_event
from tests.versions.version_store import Shelf, version


def register(
    shelf: Shelf, steps: int, called: str | None = None, kind: DefinitionKind = "process"
) -> RegisteredDefinition:
    definition = {"steps": steps, "name": "p"}
    with shelf.registry.transaction():
        return shelf.registry.definitions.register(kind, "lb", "p", definition, "ann", version=called)


def listed(shelf: Shelf, kind: DefinitionKind = "process") -> list[tuple[int, str, bool]]:
    found = shelf.registry.definitions.list_versions(process_id("default", kind, "lb", "p"))
    return [(one.number, one.version, one.is_active) for one in found]


def test_a_content_is_registered_once_and_the_last_is_in_effect(shelf: Shelf) -> None:
    first = register(shelf, 1)
    register(shelf, 2, "spring")
    again = register(shelf, 1)
    assert again == first._replace(is_active=True)
    assert listed(shelf) == [(2, "spring", False), (1, "1", True)]
    active = shelf.registry.definitions.get_active(first.process)
    assert active == again
    assert active.definition == '{"name":"p","steps":1}'


def test_a_version_has_one_content(shelf: Shelf) -> None:
    register(shelf, 1, "spring")
    with pytest.raises(StateConflict, match="version 'spring' of lb p already exists with different content"):
        register(shelf, 2, "spring")
    assert listed(shelf) == [(1, "spring", True)]


def test_an_earlier_version_is_activated(shelf: Shelf) -> None:
    process = register(shelf, 1).process
    register(shelf, 2)
    with shelf.registry.transaction():
        shelf.registry.definitions.activate(process, "1")
    assert listed(shelf) == [(2, "2", False), (1, "1", True)]
    with pytest.raises(NotFound, match="no version '9' of the process"):
        shelf.registry.definitions.activate(process, "9")


def test_dags_have_names_of_their_own(shelf: Shelf) -> None:
    register(shelf, 1)
    register(shelf, 2, kind="dag")
    assert (listed(shelf), listed(shelf, "dag")) == ([(1, "1", True)], [(1, "1", True)])
    assert [one.kind for one in shelf.registry.definitions.list_active("dag")] == ["dag"]
    assert [one.name for one in shelf.registry.definitions.list_active()] == ["p"]


def test_a_process_is_the_job_of_its_name(shelf: Shelf) -> None:
    shelf.write(run_event(job="p", namespace="lb", run=40))
    job = shelf.store.value("SELECT job_id FROM ol_job WHERE name = 'p'")
    assert register(shelf, 1).process == bytes(job)


def test_metadata_is_patched(shelf: Shelf) -> None:
    registry = shelf.registry
    orders = shelf.id("orders")
    with registry.transaction():
        registry.metadata.patch_dataset(orders, {"desk": {"name": "fx", "floor": 2}, "old": 1}, "ann")
        registry.metadata.patch_dataset(orders, {"desk": {"floor": None, "head": "bob"}, "old": None}, "ann")
        first = registry.versions.find(orders, "o1")
        registry.metadata.patch_version(first, {"reviewed": True}, "sha256:1")
    assert registry.metadata.get(orders) == {"desk": {"name": "fx", "head": "bob"}}
    assert registry.metadata.get(shelf.id("items")) == {}
    with registry.transaction():
        first = registry.versions.find(orders, "o1")
        registry.metadata.patch_version(first, {"by": "ann"})
    first = registry.versions.find(orders, "o1")
    assert (first.metadata, first.checksum) == ('{"by":"ann","reviewed":true}', "sha256:1")


def test_late_facts_leave_metadata_as_it_is(shelf: Shelf) -> None:
    registry = shelf.registry
    with registry.transaction():
        first = registry.versions.find(shelf.id("orders"), "o1")
        registry.metadata.patch_version(first, {"reviewed": True})
    shelf.write(version("orders", "o1", 1, "RUNNING", second=0.5))
    assert registry.versions.find(shelf.id("orders"), "o1").metadata == '{"reviewed":true}'


def test_nothing_that_is_decided_is_exported(shelf: Shelf) -> None:
    before = shelf.store.export()
    shelf.publish(orders="o1")
    shelf.pin("january", until=shelf.now + 1, items="i1")
    shelf.invalidate("items", "i2")
    register(shelf, 1)
    with shelf.registry.transaction():
        first = shelf.registry.versions.find(shelf.id("orders"), "o1")
        shelf.registry.metadata.patch_dataset(shelf.id("orders"), {"a": 1}, "ann")
        shelf.registry.metadata.patch_version(first, {"a": 1}, "c")
    assert shelf.store.export() == before
