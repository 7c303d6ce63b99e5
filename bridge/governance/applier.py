"""Applies asset files to the store as OpenLineage dataset events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bridge.governance.asset import Asset
from bridge.governance.facets import STEWARD_FACETS, can_be_written_after, changed_facets, combine_assets
from bridge.governance.loaded_asset import LoadedAsset, dump_asset, from_stored, group_by_dataset, to_stored
from bridge.governance.matcher import AssetMatcher, QualifiedName
from bridge.intake.event_reader import EventReader
from bridge.store.assets import AssetRecord, AssetStore
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent
from bridge.store.governance_facets import CONTRACT, GOVERNANCE, datasets_with_facet, facet_times, read_facets
from bridge.store.identity_groups import dataset_names, group_ids, group_names
from bridge.store.writer import Writer
from bridge.sync.item_store import SyncItemStore
from mappers.openlineage.event_builder import build_event, custom_facet, standard_facet
from mappers.openlineage.names import canonical_dataset_name
from mappers.timestamps import format_timestamp

_GROUP = 200
_SOURCE = "assets"


class DatasetChange(NamedTuple):
    """What is new of a dataset: its facets, None where one is taken back."""

    name: QualifiedName
    facets: dict[str, dict[str, Any] | None]
    #: The files that say it.
    sources: tuple[str, ...]
    #: Whether no run has read or written it: what the contract promises is all that is known of its columns.
    unseen: bool


class ApplyResult(NamedTuple):
    """What became of assets: what changed, which datasets they are about, what they wait for, and which are gone."""

    changes: list[DatasetChange]
    datasets: dict[QualifiedName, list[LoadedAsset]]
    pending: dict[QualifiedName, str]
    #: Assets that were taken before, and stand in no file any more.
    orphaned: list[AssetRecord]


class AssetApplier:
    """Brings asset files and the store together. Not for several threads at once."""

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
        self._stored = AssetStore(db, org)
        self._matching = AssetMatcher(db, org, items)
        self._reader = reader
        self._writer = writer
        self._clock = clock

    def group_ids(self, names: Iterable[QualifiedName]) -> dict[QualifiedName, bytes]:
        """Give the keys of datasets, whichever of their names they are called by."""
        ids = {name: canonical_dataset_name(self._org, *name).id for name in names}
        classes = group_ids(self._db, self._org, set(ids.values()))
        return {name: classes.get(id_, id_) for name, id_ in ids.items()}

    def governance_facets(self, names: Iterable[QualifiedName]) -> dict[QualifiedName, dict[str, Any]]:
        """Give what the store says of the governance of datasets."""
        classes = self.group_ids(names)
        found = read_facets(self._db, self._org, set(classes.values()), GOVERNANCE)
        return {name: found[key] for name, key in classes.items() if key in found}

    def dataset_names(self, keys: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        """Name datasets by their keys."""
        return dataset_names(self._db, self._org, keys)

    def find_own_asset(self, key: bytes, table: str) -> LoadedAsset | None:
        """Give the asset that is about a dataset alone, by any of its names or that of its table, if there is one."""
        namespace, _, name = table.rpartition(".")
        names = [*group_names(self._db, self._org, key), (namespace, name)]
        return next(iter(from_stored(one for known in names for one in self._stored.find(*known))), None)

    def write_facet(self, name: QualifiedName, facet: dict[str, Any]) -> None:
        """Let the store say what was changed elsewhere."""
        self._write([DatasetChange(name, {GOVERNANCE: facet}, (), unseen=False)], self._clock())

    def preview(self, loaded: Sequence[LoadedAsset], *, prune: bool = False) -> ApplyResult:
        """Say what taking assets would change; those that were taken before count as well, unless they are pruned."""
        new = {(one.asset.namespace, one.asset.name): one for one in loaded}
        before = self._stored.all()
        left = [one for one in before if (one.namespace, one.name) not in new]
        kept = [] if prune else from_stored(left)
        everything = [*new.values(), *kept]
        source = {id(one.asset): one for one in everything}
        matched = self._matching.match([one.asset for one in everything])
        datasets = {name: [source[id(asset)] for asset in assets] for name, assets in matched.datasets.items()}
        former = self._previously_applied(before, new, prune=prune)
        all_of = {name: datasets.get(name, []) for name in {*datasets, *(former if prune else ())}}
        united = group_by_dataset(all_of, self.group_ids(all_of))
        changes = self._changes(united, former)
        return ApplyResult(changes, {name: of for name, of in united.items() if of}, matched.waiting, left)

    def apply(self, loaded: Sequence[LoadedAsset], *, prune: bool = False) -> ApplyResult:
        """Take assets: what they say enters the store, and they are remembered for datasets that come later."""
        applied = self.preview(loaded, prune=prune)
        now = self._clock()
        waiting = applied.pending
        taken = {to_stored(one, waiting.get((one.asset.namespace, one.asset.name))) for one in loaded}
        self._stored.save(taken - {*self._stored.all()}, now)  # first: rights are given by what was taken from files
        self._write(applied.changes, now)
        if prune:
            self._stored.delete(applied.orphaned)
        return applied

    def _previously_applied(
        self, before: Iterable[AssetRecord], new: Mapping[QualifiedName, LoadedAsset], *, prune: bool
    ) -> dict[QualifiedName, list[Asset]]:
        """Find what assets said that say otherwise now or are gone: that may be taken back, what others say never."""
        former = []
        for one in before:
            now = new.get((one.namespace, one.name))
            if prune if now is None else dump_asset(now.asset) != one.content:
                former.append(one)
        return self._matching.match([one.asset for one in from_stored(former)]).datasets

    def _changes(
        self, datasets: Mapping[QualifiedName, list[LoadedAsset]], former: Mapping[QualifiedName, list[Asset]]
    ) -> list[DatasetChange]:
        classes = self.group_ids({*datasets, *former})
        said_before: dict[bytes, set[str]] = {}
        for name, gone in former.items():
            said_before.setdefault(classes[name], set()).update(combine_assets(gone))
        known = {facet: read_facets(self._db, self._org, set(classes.values()), facet) for facet in STEWARD_FACETS}
        touched = self._stored.datasets_with_runs(set(classes.values()))
        changes = []
        for name, assets in sorted(datasets.items()):
            of = classes[name]
            before = {facet: known[facet][of] for facet in STEWARD_FACETS if of in known[facet]}
            new = changed_facets(combine_assets(one.asset for one in assets), before, said_before.get(of, set()))
            if new:
                changes.append(
                    DatasetChange(name, new, tuple(sorted({one.source for one in assets})), of not in touched)
                )
        last = facet_times(self._db, self._org, {classes[one.name] for one in changes}, STEWARD_FACETS)
        return [one for one in changes if can_be_written_after(one.name, last.get(classes[one.name], 0))]

    def _write(self, changes: Sequence[DatasetChange], now: int) -> None:
        """Write events of this time, or of a moment after the last one where the clock was put back since."""
        changes = [*changes, *self._retractions_under_aliases(changes)]
        keys = self.group_ids(change.name for change in changes)
        last = facet_times(self._db, self._org, set(keys.values()), STEWARD_FACETS)
        for i in range(0, len(changes), _GROUP):
            some = changes[i : i + _GROUP]
            self._writer.write([self._event(one, max(now, last.get(keys[one.name], 0) + 1)) for one in some])

    def _retractions_under_aliases(self, changes: Iterable[DatasetChange]) -> list[DatasetChange]:
        """Take back what was written of a dataset under another of its names, before they were known to be of one."""
        gone = [change for change in changes if None in change.facets.values()]
        keys = self.group_ids(change.name for change in gone)
        held = datasets_with_facet(self._db, self._org, set(keys.values()), GOVERNANCE)
        names = dataset_names(self._db, self._org, {id_ for ids in held.values() for id_ in ids})
        return [
            change._replace(name=names[id_], facets={of: None for of, body in change.facets.items() if body is None})
            for change in gone
            for id_ in held.get(keys[change.name], ())
            if names[id_] != change.name
        ]

    def _event(self, change: DatasetChange, now: int) -> IncomingEvent:
        facets = {
            name: custom_facet("DatasetFacet", {"_deleted": True} if body is None else body)
            for name, body in change.facets.items()
        }
        contract = change.facets.get(CONTRACT)
        if contract and change.unseen:
            columns = [{key: one[key] for key in ("name", "type") if key in one} for one in contract["columns"]]
            facets["schema"] = standard_facet("schema", {"fields": columns})
        dataset = {"namespace": change.name[0], "name": change.name[1], "facets": facets}
        event = self._reader.read(
            build_event("DatasetEvent", format_timestamp(now), None, {"dataset": dataset}), _SOURCE
        )
        assert isinstance(event, IncomingEvent)  # noqa: S101 - it was written just now
        return event
