"""Applies asset files to the store as OpenLineage dataset events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bridge.governance.asset import Asset
from bridge.governance.facets import STEWARD_FACETS, can_write_later_event, changed_facets, combine_assets
from bridge.governance.loaded_asset import LoadedAsset, dump_asset, from_records, group_by_dataset, to_record
from bridge.governance.matcher import AssetMatcher, QualifiedName
from bridge.intake.event_reader import EventReader
from bridge.store.assets import AssetRecord, AssetStore
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent
from bridge.store.governance_facets import CONTRACT, GOVERNANCE, datasets_with_facet, facet_times, read_facets
from bridge.store.identity_groups import group_ids, group_names
from bridge.store.symlink_graph import dataset_names
from bridge.store.writer import Writer
from bridge.sync.item_store import SyncItemStore
from mappers.openlineage.event_builder import build_event, custom_facet, standard_facet
from mappers.openlineage.names import canonical_dataset_name
from mappers.timestamps import format_timestamp

_EVENTS_PER_GROUP = 200
_SOURCE = "assets"


class DatasetChange(NamedTuple):
    """Changed facets of a dataset. The value None removes a facet."""

    name: QualifiedName
    facets: dict[str, dict[str, Any] | None]
    #: Asset files that define the facets.
    sources: tuple[str, ...]
    #: True if no run has read or written the dataset, so that only the contract describes its columns.
    has_no_runs: bool


class ApplyResult(NamedTuple):
    """Result of applying asset files."""

    changes: list[DatasetChange]
    #: Assets by dataset.
    datasets: dict[QualifiedName, list[LoadedAsset]]
    #: Reason for each asset that matches no dataset yet.
    pending: dict[QualifiedName, str]
    #: Stored assets whose file no longer exists.
    orphaned: list[AssetRecord]


class AssetApplier:
    """Applies asset files to the store. Not thread-safe."""

    def __init__(
        self,
        db: Database,
        org: str,
        items: SyncItemStore,
        reader: EventReader,
        writer: Writer,
        clock: Callable[[], int],
    ) -> None:
        self._db = db
        self._org = org
        self._assets = AssetStore(db, org)
        self._matcher = AssetMatcher(db, org, items)
        self._reader = reader
        self._writer = writer
        self._clock = clock

    def group_ids(self, names: Iterable[QualifiedName]) -> dict[QualifiedName, bytes]:
        """Return the identity group of each dataset. Any name of a dataset is accepted."""
        ids = {name: canonical_dataset_name(self._org, *name).id for name in names}
        groups = group_ids(self._db, self._org, set(ids.values()))
        return {name: groups.get(id_, id_) for name, id_ in ids.items()}

    def governance_facets(self, names: Iterable[QualifiedName]) -> dict[QualifiedName, dict[str, Any]]:
        """Return governance facets by dataset name."""
        groups = self.group_ids(names)
        facets = read_facets(self._db, self._org, set(groups.values()), GOVERNANCE)
        return {name: facets[group_id] for name, group_id in groups.items() if group_id in facets}

    def dataset_names(self, keys: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        return dataset_names(self._db, self._org, keys)

    def find_own_asset(self, key: bytes, table: str) -> LoadedAsset | None:
        """Find the asset for exactly this dataset, by one of the dataset's names or by its table name."""
        namespace, _, name = table.rpartition(".")
        names = [*group_names(self._db, self._org, key), (namespace, name)]
        assets = from_records(record for asset_name in names for record in self._assets.find(*asset_name))
        return assets[0] if assets else None

    def write_facet(self, name: QualifiedName, facet: dict[str, Any]) -> None:
        """Write a governance facet that was changed elsewhere."""
        self._write_changes([DatasetChange(name, {GOVERNANCE: facet}, (), has_no_runs=False)], self._clock())

    def preview(self, loaded_assets: Sequence[LoadedAsset], *, prune: bool = False) -> ApplyResult:
        """Compute the changes that `apply` would make. Stored assets without a file still apply unless pruned."""
        loaded_by_name = {entry.asset.qualified_name: entry for entry in loaded_assets}
        stored_assets = self._assets.all()
        orphaned_records = [
            record for record in stored_assets if (record.namespace, record.name) not in loaded_by_name
        ]
        retained_assets = [] if prune else from_records(orphaned_records)
        all_assets = [*loaded_by_name.values(), *retained_assets]
        loaded_by_id = {id(entry.asset): entry for entry in all_assets}
        match_result = self._matcher.match([entry.asset for entry in all_assets])
        datasets = {
            name: [loaded_by_id[id(asset)] for asset in assets] for name, assets in match_result.datasets.items()
        }
        superseded_assets = self._superseded_assets(stored_assets, loaded_by_name, prune=prune)
        names = {*datasets, *superseded_assets} if prune else set(datasets)
        assets_by_name = {name: datasets.get(name, []) for name in names}
        assets_by_dataset = group_by_dataset(assets_by_name, self.group_ids(assets_by_name))
        changes = self._find_changes(assets_by_dataset, superseded_assets)
        return ApplyResult(
            changes,
            {name: assets for name, assets in assets_by_dataset.items() if assets},
            match_result.pending,
            orphaned_records,
        )

    def apply(self, loaded_assets: Sequence[LoadedAsset], *, prune: bool = False) -> ApplyResult:
        """Write the facets of assets, and store the assets so that they apply to datasets that appear later."""
        result = self.preview(loaded_assets, prune=prune)
        now = self._clock()
        pending = result.pending
        records = {to_record(entry, pending.get(entry.asset.qualified_name)) for entry in loaded_assets}
        # Save the assets before the facets, because only policies of stored assets take effect.
        self._assets.save(records - {*self._assets.all()}, now)
        self._write_changes(result.changes, now)
        if prune:
            self._assets.delete(result.orphaned)
        return result

    def _superseded_assets(
        self, records: Iterable[AssetRecord], loaded_by_name: Mapping[QualifiedName, LoadedAsset], *, prune: bool
    ) -> dict[QualifiedName, list[Asset]]:
        """Return the stored versions of assets that have changed or been removed, by dataset.

        Only metadata from these versions may be removed.
        """
        superseded_records = []
        for record in records:
            entry = loaded_by_name.get((record.namespace, record.name))
            was_removed = entry is None and prune
            has_changed = entry is not None and dump_asset(entry.asset) != record.content
            if was_removed or has_changed:
                superseded_records.append(record)
        return self._matcher.match([entry.asset for entry in from_records(superseded_records)]).datasets

    def _find_changes(
        self,
        datasets: Mapping[QualifiedName, list[LoadedAsset]],
        superseded_assets: Mapping[QualifiedName, list[Asset]],
    ) -> list[DatasetChange]:
        """Compare the facets that assets define with the stored facets, and list the datasets that differ."""
        groups = self.group_ids({*datasets, *superseded_assets})
        superseded_facets: dict[bytes, set[str]] = {}
        for name, old_assets in superseded_assets.items():
            superseded_facets.setdefault(groups[name], set()).update(combine_assets(old_assets))
        stored_facets = {
            facet: read_facets(self._db, self._org, set(groups.values()), facet) for facet in STEWARD_FACETS
        }
        groups_with_runs = self._assets.datasets_with_runs(set(groups.values()))
        changes = []
        for name, assets in sorted(datasets.items()):
            group_id = groups[name]
            desired_facets = combine_assets(entry.asset for entry in assets)
            stored_bodies = {facet: bodies[group_id] for facet, bodies in stored_facets.items() if group_id in bodies}
            facets = changed_facets(desired_facets, stored_bodies, superseded_facets.get(group_id, set()))
            if facets:
                sources = tuple(sorted({entry.source for entry in assets}))
                changes.append(DatasetChange(name, facets, sources, group_id not in groups_with_runs))
        latest_facet_times = facet_times(
            self._db, self._org, {groups[change.name] for change in changes}, STEWARD_FACETS
        )
        return [
            change
            for change in changes
            if can_write_later_event(change.name, latest_facet_times.get(groups[change.name], 0))
        ]

    def _write_changes(self, changes: Sequence[DatasetChange], now: int) -> None:
        """Write events with the current time or, if the clock was set back, a time just after the latest facet."""
        changes = [*changes, *self._alias_retractions(changes)]
        groups = self.group_ids(change.name for change in changes)
        latest_facet_times = facet_times(self._db, self._org, set(groups.values()), STEWARD_FACETS)
        for start in range(0, len(changes), _EVENTS_PER_GROUP):
            batch = changes[start : start + _EVENTS_PER_GROUP]
            events = [
                self._build_event(change, max(now, latest_facet_times.get(groups[change.name], 0) + 1))
                for change in batch
            ]
            self._writer.write(events)

    def _alias_retractions(self, changes: Iterable[DatasetChange]) -> list[DatasetChange]:
        """Return changes that remove the same facets from aliases, for which they may have been written earlier."""
        removals = [change for change in changes if None in change.facets.values()]
        groups = self.group_ids(change.name for change in removals)
        ids_by_group = datasets_with_facet(self._db, self._org, set(groups.values()), GOVERNANCE)
        names = dataset_names(self._db, self._org, {id_ for ids in ids_by_group.values() for id_ in ids})
        retractions = []
        for change in removals:
            removed_facets: dict[str, dict[str, Any] | None] = {
                facet: None for facet, body in change.facets.items() if body is None
            }
            aliases = [names[id_] for id_ in ids_by_group.get(groups[change.name], ())]
            retractions += [
                change._replace(name=alias, facets=removed_facets) for alias in aliases if alias != change.name
            ]
        return retractions

    def _build_event(self, change: DatasetChange, event_time: int) -> IncomingEvent:
        """Build the dataset event of a change. A contract without runs also provides the schema."""
        facets = {
            facet: custom_facet("DatasetFacet", {"_deleted": True} if body is None else body)
            for facet, body in change.facets.items()
        }
        contract = change.facets.get(CONTRACT)
        if contract and change.has_no_runs:
            columns = [
                {key: column[key] for key in ("name", "type") if key in column} for column in contract["columns"]
            ]
            facets["schema"] = standard_facet("schema", {"fields": columns})
        namespace, name = change.name
        dataset = {"namespace": namespace, "name": name, "facets": facets}
        event = self._reader.read(
            build_event("DatasetEvent", format_timestamp(event_time), None, {"dataset": dataset}), _SOURCE
        )
        assert isinstance(event, IncomingEvent)  # noqa: S101 - build_event() produces valid events
        return event
