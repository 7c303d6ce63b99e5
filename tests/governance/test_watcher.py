"""The service keeps files, store and OpenMetadata alike: what any of them changes comes to the others, and no further."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.governance.asset_files import load_assets
from bridge.governance.loaded_asset import LoadedAsset
from bridge.governance.pull import plan_file_edits, write_file
from bridge.governance.remote_changes import RemoteChangeImporter
from bridge.governance.watcher import AssetWatcher
from bridge.sync.openmetadata.change_events import ChangeEventReader
from connectors.openmetadata.auth import StaticToken
from connectors.openmetadata.client import OpenMetadataClient
from mappers.openmetadata.governance import TagVocabulary
from tests.factories import dataset, facet, run_event, schema
from tests.governance.asset_harness import asset, contracts, governed, steward, stewardship, write_asset
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

T = "warehouse.d.s.t"
WATCHED = governed(tags=["a"])


class Watched:
    """A store, asset files and a stand-in that are kept alike; looks and rounds happen when a test says so."""

    def __init__(self, synced: Synced, place: Path, mode: Any = "apply") -> None:
        self.synced = synced
        self.place = place
        self.patches = place.parent / "patches"
        self.clock = 0.0
        of = stewardship(synced.store, items=synced.items)
        client = OpenMetadataClient(synced.session, StaticToken(synced.standin.bot_token), lambda _: None)
        events = ChangeEventReader(synced.store.db, "default", "openmetadata", client, synced.items, synced.clock)
        adopting = RemoteChangeImporter(of, synced.items, TagVocabulary(), mode, self.patches)
        self.adopting = adopting
        self.watching = AssetWatcher([place], of, contracts(synced.store), lambda: self.clock)
        self.watching.watch_remote(events, adopting, 1.0)

    def look(self) -> Any:
        """Let everything come to rest: looks and rounds until neither does anything."""
        for _ in range(10):
            self.clock += 100
            self.synced.clock.wait(2)
            looked = self.watching.poll()
            self.synced.converge()
            if not (looked.changed or looked.events or looked.imported):
                return looked
        raise AssertionError("it does not come to rest")

    def person(self, *operations: dict[str, Any]) -> None:
        person = Person(self.synced.standin)
        id_ = person.find("table", T).id
        person.ask("PATCH", f"tables/{id_}", list(operations), "application/json-patch+json")

    def tags(self) -> set[str]:
        return {one["tagFQN"] for one in self.table()["tags"]}

    def table(self) -> dict[str, Any]:
        return Person(self.synced.standin).ask("GET", f"tables/name/{T}?fields=tags,owners")

    def said(self) -> dict[str, Any]:
        of = stewardship(self.synced.store, items=self.synced.items)
        return of.governance_facets([("db", "t")])[("db", "t")]


@pytest.fixture
def synced() -> Iterator[Synced]:
    with Synced() as made:
        made.apply(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))])).converge()
        yield made


@pytest.fixture
def watched(synced: Synced, tmp_path: Path) -> Watched:
    place = tmp_path / "assets"
    place.mkdir()
    write_asset(place, WATCHED)
    made = Watched(synced, place)
    made.look()
    return made


ADD = {"tagFQN": "PersonalData.Personal", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}


def test_a_file_that_changes_is_taken(watched: Watched) -> None:
    assert watched.tags() == {"LineageBridge.a"}
    write_asset(watched.place, governed(tags=["a", "b"]))
    watched.look()
    assert watched.tags() == {"LineageBridge.a", "LineageBridge.b"}


def test_nothing_loops(watched: Watched) -> None:
    version = watched.table()["version"]
    for _ in range(5):
        looked = watched.look()
        assert (looked.changed, looked.events, looked.imported) == (0, 0, 0)
    assert watched.table()["version"] == version


def test_a_change_over_there_comes_to_the_store_and_as_a_patch(watched: Watched) -> None:
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.look()
    assert watched.said()["tags"] == ["a", "PersonalData.Personal"]
    (patch,) = watched.patches.iterdir()
    assert "+    - PersonalData.Personal" in patch.read_text(encoding="utf-8")
    version = watched.table()["version"]
    watched.look()
    assert watched.table()["version"] == version


def test_a_file_that_changes_later_does_not_undo_what_was_taken_over(watched: Watched) -> None:
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.look()
    write_asset(watched.place, governed(tags=["a", "b"]))
    watched.look()
    assert watched.tags() == {"LineageBridge.a", "LineageBridge.b", "PersonalData.Personal"}
    assert set(watched.said()["tags"]) == {"a", "b", "PersonalData.Personal"}


def test_the_patch_applied_is_no_change_any_more(watched: Watched) -> None:
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.look()
    write_asset(watched.place, governed(tags=["a", "PersonalData.Personal"]))
    watched.look()
    assert "file" not in watched.said()
    assert watched.tags() == {"LineageBridge.a", "PersonalData.Personal"}
    write_asset(watched.place, governed(tags=["a"]))
    watched.look()
    assert watched.tags() == {"LineageBridge.a"}


def test_where_it_is_only_reported_the_store_stays(synced: Synced, tmp_path: Path) -> None:
    write_asset(tmp_path, governed(tags=["a"]))
    watched = Watched(synced, tmp_path, "report")
    watched.look()
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    for _ in range(3):
        watched.clock += 100
        watched.synced.clock.wait(2)
        watched.watching.poll()
        watched.synced.converge()
    assert watched.said()["tags"] == ["a"]
    (item,) = synced.items.get("governance", [key for _, key in synced.items.list_pushed("governance")]).values()
    assert item.reason is not None
    assert item.reason.startswith("changed in OpenMetadata: tags is ")
    assert watched.tags() == {"LineageBridge.a", "PersonalData.Personal"}


def test_a_file_that_is_wrong_keeps_none_back_and_what_it_said_stands(watched: Watched) -> None:
    (watched.place / "t.yaml").write_text("asset: {name: t", encoding="utf-8")
    write_asset(watched.place, governed("u", tags=["b"]))
    watched.clock += 100
    assert watched.watching.poll().problems == 1
    watched.synced.converge()
    assert watched.tags() == {"LineageBridge.a"}


def test_a_dataset_that_comes_later_is_found_by_a_pattern(watched: Watched) -> None:
    write_asset(watched.place, governed("*", tags=["every"]))
    watched.look()
    watched.synced.apply(run_event("COMPLETE", 5, run=5, outputs=[dataset("later", schema=schema("k"))]))
    watched.look()
    found = Person(watched.synced.standin).ask("GET", "tables/name/warehouse.d.s.later?fields=tags")
    assert [one["tagFQN"] for one in found["tags"]] == ["LineageBridge.every"]


def test_events_that_cannot_be_read_are_read_later(watched: Watched) -> None:
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.synced.standin.faults.next(error(503), path="/events", times=1)
    watched.look()
    watched.look()
    assert "PersonalData.Personal" in watched.said()["tags"]


def test_contracts_are_looked_at(watched: Watched) -> None:
    file = watched.place / "t.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["asset"]["schema"] = [{"name": "k"}, {"name": "gone"}]
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    watched.clock += 100
    (kept,) = watched.watching.poll().contracts
    assert kept.violations == ["gone is missing"]


def period(value: str) -> dict[str, Any]:
    return {"op": "add", "path": "/retentionPeriod", "value": value}


def described(text: str) -> dict[str, Any]:
    return {"op": "add", "path": "/description", "value": text}


def test_what_no_file_can_say_is_told_once_and_does_not_loop(watched: Watched) -> None:
    write_asset(watched.place, governed(tags=["a"], retention_days=90))
    watched.look()
    watched.person(period("P1M"))
    watched.look()
    events = watched.synced.store.db.fetch_all("SELECT count(*) FROM run_event")
    for _ in range(3):
        watched.look()
    assert watched.synced.store.db.fetch_all("SELECT count(*) FROM run_event") == events
    assert watched.said()["retentionDays"] == 90


def test_all_that_was_taken_over_is_in_the_patch_and_is_pulled_into_the_file(watched: Watched) -> None:
    file = write_asset(watched.place, LoadedAsset(WATCHED.asset.model_copy(update={"description": "old"}), "t.yaml"))
    watched.look()
    for operation in (described("new"), {"op": "add", "path": "/tags/-", "value": ADD}):
        watched.person(operation)
        watched.look()
    (patch,) = watched.patches.iterdir()
    told = patch.read_text(encoding="utf-8")
    assert "+  description: new" in told
    assert "+    - PersonalData.Personal" in told
    (seen,) = steward(watched.synced).plan(load_assets([file]).loaded)[1]
    assert seen.has_differences
    (pulled,) = plan_file_edits([seen], TagVocabulary())
    assert pulled.patch == told
    assert write_file(pulled) is None
    (seen,) = steward(watched.synced).plan(load_assets([file]).loaded)[1]
    watched.look()
    assert "file" not in watched.said()


@pytest.mark.parametrize("mode", ["apply", "report"])
def test_a_file_at_which_somebody_works_and_a_place_that_is_none_keep_nothing_back(
    synced: Synced, tmp_path: Path, mode: str
) -> None:
    place = tmp_path / "assets"
    place.mkdir()
    file = write_asset(place, governed(tags=["a"]))
    watched = Watched(synced, place, mode)
    watched.look()
    whole = file.read_text(encoding="utf-8")
    file.write_text("asset: [", encoding="utf-8")
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.look()
    watched.patches.write_text("no directory", encoding="utf-8")
    file.write_text(whole, encoding="utf-8")
    watched.person({"op": "remove", "path": "/tags/0"})
    watched.look()


@pytest.mark.parametrize(
    "own",
    [asset("u", "lake", governance={"tags": ["a"]}), asset("t", "warehouse.d.s", governance={"tags": ["a"]})],
    ids=["another name of it", "its table"],
)
def test_the_file_is_found_by_whichever_name_it_is_about(synced: Synced, tmp_path: Path, own: LoadedAsset) -> None:
    symlink = facet(identifiers=[{"namespace": "lake", "name": "u", "type": "TABLE"}])
    synced.apply(run_event("COMPLETE", 3, run=3, outputs=[dataset("t", symlinks=symlink)])).converge()
    place = tmp_path / "assets"
    place.mkdir()
    write_asset(place, own)
    watched = Watched(synced, place)
    watched.look()
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.look()
    assert [file.name.rpartition("assets_")[2] for file in watched.patches.iterdir()] == [f"{own.source}.patch"]


def test_what_is_settled_by_a_clock_that_goes_behind_is_looked_at_too(watched: Watched) -> None:
    watched.person({"op": "add", "path": "/tags/-", "value": ADD})
    watched.clock += 100
    watched.synced.clock.wait(2)
    watched.watching.poll()
    watched.synced.converge()
    watched.synced.store.db.execute(
        "UPDATE sync_item SET settled_at = settled_at - 30000000 WHERE kind = 'governance'"
    )
    assert [one.name for one in watched.adopting.import_changes()] == [("db", "t")]
    assert watched.adopting.import_changes() == []
