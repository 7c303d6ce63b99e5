"""Definitions of processes and DAGs, and metadata of datasets and versions."""

import pytest

from bridge.errors import NotFound, StateConflict
from bridge.versions.definitions import DefinitionKind, RegisteredDefinition, process_id
from tests.factories import run_event
from tests.versions.version_store import VersionStore, version


def register(
    version_store: VersionStore, steps: int, version_name: str | None = None, kind: DefinitionKind = "process"
) -> RegisteredDefinition:
    definition = {"steps": steps, "name": "p"}
    with version_store.registry.transaction():
        return version_store.registry.definitions.register(kind, "lb", "p", definition, "ann", version=version_name)


def list_definitions(version_store: VersionStore, kind: DefinitionKind = "process") -> list[tuple[int, str, bool]]:
    definitions = version_store.registry.definitions.list_versions(process_id("default", kind, "lb", "p"))
    return [(definition.number, definition.version, definition.is_active) for definition in definitions]


def test_content_is_registered_once_and_the_last_one_is_active(version_store: VersionStore) -> None:
    first = register(version_store, 1)
    register(version_store, 2, "spring")
    repeated = register(version_store, 1)
    assert repeated == first._replace(is_active=True)
    assert list_definitions(version_store) == [(2, "spring", False), (1, "1", True)]
    active = version_store.registry.definitions.get_active(first.process)
    assert active == repeated
    assert active.definition == '{"name":"p","steps":1}'


def test_version_name_has_one_content(version_store: VersionStore) -> None:
    register(version_store, 1, "spring")
    with pytest.raises(StateConflict, match="version 'spring' of lb p already exists with different content"):
        register(version_store, 2, "spring")
    assert list_definitions(version_store) == [(1, "spring", True)]


def test_earlier_version_can_be_activated(version_store: VersionStore) -> None:
    process = register(version_store, 1).process
    register(version_store, 2)
    with version_store.registry.transaction():
        version_store.registry.definitions.activate(process, "1")
    assert list_definitions(version_store) == [(2, "2", False), (1, "1", True)]
    with pytest.raises(NotFound, match="no version '9' of the process"):
        version_store.registry.definitions.activate(process, "9")


def test_dags_and_processes_have_separate_names(version_store: VersionStore) -> None:
    register(version_store, 1)
    register(version_store, 2, kind="dag")
    assert (list_definitions(version_store), list_definitions(version_store, "dag")) == (
        [(1, "1", True)],
        [(1, "1", True)],
    )
    assert [definition.kind for definition in version_store.registry.definitions.list_active("dag")] == ["dag"]
    assert [definition.name for definition in version_store.registry.definitions.list_active()] == ["p"]


def test_process_has_the_id_of_its_job(version_store: VersionStore) -> None:
    version_store.write(run_event(job="p", namespace="lb", run=40))
    job = version_store.store.value("SELECT job_id FROM ol_job WHERE name = 'p'")
    assert register(version_store, 1).process == bytes(job)


def test_metadata_is_patched(version_store: VersionStore) -> None:
    registry = version_store.registry
    orders = version_store.id("orders")
    with registry.transaction():
        registry.metadata.patch_dataset(orders, {"desk": {"name": "fx", "floor": 2}, "old": 1}, "ann")
        registry.metadata.patch_dataset(orders, {"desk": {"floor": None, "head": "bob"}, "old": None}, "ann")
        first = registry.versions.find(orders, "o1")
        registry.metadata.patch_version(first, {"reviewed": True}, "sha256:1")
    assert registry.metadata.get(orders) == {"desk": {"name": "fx", "head": "bob"}}
    assert registry.metadata.get(version_store.id("items")) == {}
    with registry.transaction():
        first = registry.versions.find(orders, "o1")
        registry.metadata.patch_version(first, {"by": "ann"})
    first = registry.versions.find(orders, "o1")
    assert (first.metadata, first.checksum) == ('{"by":"ann","reviewed":true}', "sha256:1")


def test_late_events_leave_metadata_unchanged(version_store: VersionStore) -> None:
    registry = version_store.registry
    with registry.transaction():
        first = registry.versions.find(version_store.id("orders"), "o1")
        registry.metadata.patch_version(first, {"reviewed": True})
    version_store.write(version("orders", "o1", 1, "RUNNING", second=0.5))
    assert registry.versions.find(version_store.id("orders"), "o1").metadata == '{"reviewed":true}'


def test_decisions_are_not_exported(version_store: VersionStore) -> None:
    before = version_store.store.export()
    version_store.publish(orders="o1")
    version_store.pin("january", until=version_store.now + 1, items="i1")
    version_store.invalidate("items", "i2")
    register(version_store, 1)
    with version_store.registry.transaction():
        first = version_store.registry.versions.find(version_store.id("orders"), "o1")
        version_store.registry.metadata.patch_dataset(version_store.id("orders"), {"a": 1}, "ann")
        version_store.registry.metadata.patch_version(first, {"a": 1}, "c")
    assert version_store.store.export() == before
