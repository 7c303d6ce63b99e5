"""The asset watcher syncs files, store and OpenMetadata, without loops."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.governance.asset_files import load_assets
from bridge.governance.change_events import ChangeEventReader
from bridge.governance.loaded_asset import LoadedAsset
from bridge.governance.pull import plan_file_edits, write_file
from bridge.governance.remote_changes import RemoteChangeImporter
from bridge.governance.watcher import AssetWatcher
from connectors.openmetadata.client import OpenMetadataClient
from connectors.session import StaticToken
from mappers.openmetadata.governance import TagVocabulary
from tests.factories import dataset, facet, run_event, schema
from tests.governance.asset_harness import (
    asset,
    asset_with_governance,
    contract_checker,
    make_applier,
    make_asset_sync,
    write_asset,
)
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

TABLE_FQN = "warehouse.d.s.t"
WATCHED_ASSET = asset_with_governance(tags=["a"])


class WatcherHarness:
    """A watcher of asset files, a store and a stand-in; tests trigger polls and sync rounds."""

    def __init__(self, synced: OpenMetadataHarness, folder: Path, mode: Any = "apply") -> None:
        self.synced = synced
        self.folder = folder
        self.patches = folder.parent / "patches"
        self.clock = 0.0
        applier = make_applier(synced.store, items=synced.items)
        client = OpenMetadataClient(synced.session, StaticToken(synced.standin.bot_token), lambda _: None)
        events = ChangeEventReader(synced.store.db, "default", "openmetadata", client, synced.items, synced.clock)
        importer = RemoteChangeImporter(applier, synced.items, TagVocabulary(), mode, self.patches)
        self.importer = importer
        self.watcher = AssetWatcher([folder], applier, contract_checker(synced.store), lambda: self.clock)
        self.watcher.watch_remote(events, importer, 1.0)

    def converge(self) -> Any:
        """Poll and sync until nothing changes."""
        for _ in range(10):
            self.clock += 100
            self.synced.clock.wait(2)
            poll = self.watcher.poll()
            self.synced.converge()
            if not (poll.changed_count or poll.event_count or poll.imported_count):
                return poll
        raise AssertionError("does not converge")

    def person(self, *operations: dict[str, Any]) -> None:
        person = Person(self.synced.standin)
        id_ = person.find("table", TABLE_FQN).id
        person.request("PATCH", f"tables/{id_}", list(operations), "application/json-patch+json")

    def tags(self) -> set[str]:
        return {tag["tagFQN"] for tag in self.table()["tags"]}

    def table(self) -> dict[str, Any]:
        return Person(self.synced.standin).request("GET", f"tables/name/{TABLE_FQN}?fields=tags,owners")

    def stored_facet(self) -> dict[str, Any]:
        applier = make_applier(self.synced.store, items=self.synced.items)
        return applier.governance_facets([("db", "t")])[("db", "t")]


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    with OpenMetadataHarness() as opened:
        opened.apply(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))])).converge()
        yield opened


@pytest.fixture
def harness(synced: OpenMetadataHarness, tmp_path: Path) -> WatcherHarness:
    folder = tmp_path / "assets"
    folder.mkdir()
    write_asset(folder, WATCHED_ASSET)
    created = WatcherHarness(synced, folder)
    created.converge()
    return created


ADDED_TAG = {
    "tagFQN": "PersonalData.Personal",
    "source": "Classification",
    "labelType": "Manual",
    "state": "Confirmed",
}


def test_file_change_is_pushed(harness: WatcherHarness) -> None:
    assert harness.tags() == {"LineageBridge.a"}
    write_asset(harness.folder, asset_with_governance(tags=["a", "b"]))
    harness.converge()
    assert harness.tags() == {"LineageBridge.a", "LineageBridge.b"}


def test_unchanged_state_causes_no_events(harness: WatcherHarness) -> None:
    version = harness.table()["version"]
    for _ in range(5):
        poll = harness.converge()
        assert (poll.changed_count, poll.event_count, poll.imported_count) == (0, 0, 0)
    assert harness.table()["version"] == version


def test_remote_change_is_imported_and_written_as_patch(harness: WatcherHarness) -> None:
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.converge()
    assert harness.stored_facet()["tags"] == ["a", "PersonalData.Personal"]
    (patch,) = harness.patches.iterdir()
    assert "+    - PersonalData.Personal" in patch.read_text(encoding="utf-8")
    version = harness.table()["version"]
    harness.converge()
    assert harness.table()["version"] == version


def test_later_file_change_keeps_imported_values(harness: WatcherHarness) -> None:
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.converge()
    write_asset(harness.folder, asset_with_governance(tags=["a", "b"]))
    harness.converge()
    assert harness.tags() == {"LineageBridge.a", "LineageBridge.b", "PersonalData.Personal"}
    assert set(harness.stored_facet()["tags"]) == {"a", "b", "PersonalData.Personal"}


def test_applied_patch_leaves_no_difference(harness: WatcherHarness) -> None:
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.converge()
    write_asset(harness.folder, asset_with_governance(tags=["a", "PersonalData.Personal"]))
    harness.converge()
    assert "file" not in harness.stored_facet()
    assert harness.tags() == {"LineageBridge.a", "PersonalData.Personal"}
    write_asset(harness.folder, asset_with_governance(tags=["a"]))
    harness.converge()
    assert harness.tags() == {"LineageBridge.a"}


def test_report_mode_does_not_change_store(synced: OpenMetadataHarness, tmp_path: Path) -> None:
    write_asset(tmp_path, asset_with_governance(tags=["a"]))
    harness = WatcherHarness(synced, tmp_path, "report")
    harness.converge()
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    for _ in range(3):
        harness.clock += 100
        harness.synced.clock.wait(2)
        harness.watcher.poll()
        harness.synced.converge()
    assert harness.stored_facet()["tags"] == ["a"]
    (item,) = synced.items.get("governance", [key for _, key in synced.items.list_pushed("governance")]).values()
    assert item.reason is not None
    assert item.reason.startswith("changed in OpenMetadata: tags is ")
    assert harness.tags() == {"LineageBridge.a", "PersonalData.Personal"}


def test_invalid_file_keeps_its_last_state(harness: WatcherHarness) -> None:
    (harness.folder / "t.yaml").write_text("asset: {name: t", encoding="utf-8")
    write_asset(harness.folder, asset_with_governance("u", tags=["b"]))
    harness.clock += 100
    assert harness.watcher.poll().problem_count == 1
    harness.synced.converge()
    assert harness.tags() == {"LineageBridge.a"}


def test_pattern_applies_to_later_dataset(harness: WatcherHarness) -> None:
    write_asset(harness.folder, asset_with_governance("*", tags=["every"]))
    harness.converge()
    harness.synced.apply(run_event("COMPLETE", 5, run=5, outputs=[dataset("later", schema=schema("k"))]))
    harness.converge()
    table = Person(harness.synced.standin).request("GET", "tables/name/warehouse.d.s.later?fields=tags")
    assert [tag["tagFQN"] for tag in table["tags"]] == ["LineageBridge.every"]


def test_failed_event_read_is_retried(harness: WatcherHarness) -> None:
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.synced.standin.faults.next(error(503), path="/events", times=1)
    harness.converge()
    harness.converge()
    assert "PersonalData.Personal" in harness.stored_facet()["tags"]


def test_contracts_are_checked(harness: WatcherHarness) -> None:
    file = harness.folder / "t.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["asset"]["schema"] = [{"name": "k"}, {"name": "gone"}]
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    harness.clock += 100
    (check,) = harness.watcher.poll().contract_checks
    assert check.violations == ["gone is missing"]


def set_retention(value: str) -> dict[str, Any]:
    return {"op": "add", "path": "/retentionPeriod", "value": value}


def set_description(text: str) -> dict[str, Any]:
    return {"op": "add", "path": "/description", "value": text}


def test_unsupported_remote_value_is_reported_once(harness: WatcherHarness) -> None:
    write_asset(harness.folder, asset_with_governance(tags=["a"], retention_days=90))
    harness.converge()
    harness.person(set_retention("P1M"))
    harness.converge()
    events = harness.synced.store.db.fetch_all("SELECT count(*) FROM run_event")
    for _ in range(3):
        harness.converge()
    assert harness.synced.store.db.fetch_all("SELECT count(*) FROM run_event") == events
    assert harness.stored_facet()["retentionDays"] == 90


def test_patch_contains_all_imported_changes(harness: WatcherHarness) -> None:
    file = write_asset(
        harness.folder, LoadedAsset(WATCHED_ASSET.asset.model_copy(update={"description": "old"}), "t.yaml")
    )
    harness.converge()
    for operation in (set_description("new"), {"op": "add", "path": "/tags/-", "value": ADDED_TAG}):
        harness.person(operation)
        harness.converge()
    (patch,) = harness.patches.iterdir()
    patch_text = patch.read_text(encoding="utf-8")
    assert "+  description: new" in patch_text
    assert "+    - PersonalData.Personal" in patch_text
    (plan,) = make_asset_sync(harness.synced).plan(load_assets([file]).loaded)[1]
    assert plan.has_differences
    (edit,) = plan_file_edits([plan], TagVocabulary())
    assert edit.patch == patch_text
    assert write_file(edit) is None
    (plan,) = make_asset_sync(harness.synced).plan(load_assets([file]).loaded)[1]
    harness.converge()
    assert "file" not in harness.stored_facet()


@pytest.mark.parametrize("mode", ["apply", "report"])
def test_invalid_file_and_patch_folder_do_not_stop_watcher(
    synced: OpenMetadataHarness, tmp_path: Path, mode: str
) -> None:
    folder = tmp_path / "assets"
    folder.mkdir()
    file = write_asset(folder, asset_with_governance(tags=["a"]))
    harness = WatcherHarness(synced, folder, mode)
    harness.converge()
    original = file.read_text(encoding="utf-8")
    file.write_text("asset: [", encoding="utf-8")
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.converge()
    harness.patches.write_text("no directory", encoding="utf-8")
    file.write_text(original, encoding="utf-8")
    harness.person({"op": "remove", "path": "/tags/0"})
    harness.converge()


@pytest.mark.parametrize(
    "own",
    [asset("u", "lake", governance={"tags": ["a"]}), asset("t", "warehouse.d.s", governance={"tags": ["a"]})],
    ids=["symlink", "table name"],
)
def test_patch_is_written_for_file_of_any_name(synced: OpenMetadataHarness, tmp_path: Path, own: LoadedAsset) -> None:
    symlink = facet(identifiers=[{"namespace": "lake", "name": "u", "type": "TABLE"}])
    synced.apply(run_event("COMPLETE", 3, run=3, outputs=[dataset("t", symlinks=symlink)])).converge()
    folder = tmp_path / "assets"
    folder.mkdir()
    write_asset(folder, own)
    harness = WatcherHarness(synced, folder)
    harness.converge()
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.converge()
    assert [file.name.rpartition("assets_")[2] for file in harness.patches.iterdir()] == [f"{own.source}.patch"]


def test_items_settled_by_a_slow_clock_are_imported(harness: WatcherHarness) -> None:
    harness.person({"op": "add", "path": "/tags/-", "value": ADDED_TAG})
    harness.clock += 100
    harness.synced.clock.wait(2)
    harness.watcher.poll()
    harness.synced.converge()
    harness.synced.store.db.execute(
        "UPDATE sync_item SET settled_at = settled_at - 30000000 WHERE kind = 'governance'"
    )
    assert [change.name for change in harness.importer.import_changes()] == [("db", "t")]
    assert harness.importer.import_changes() == []
