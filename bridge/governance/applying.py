"""Takes assets into the store: what they say of datasets enters as events, like all else that anybody says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bridge.governance.asset import Asset
from bridge.governance.combined import facets_of
from bridge.governance.matching import Matching, Name
from bridge.governance.remembered import Loaded, content_of, loaded_of, stored_of, under_one_name
from bridge.governance.saying import FACETS, can_be_said, new_facets
from bridge.intake.reading import Reader
from bridge.store.assets import StoredAsset, StoredAssets
from bridge.store.database import Database
from bridge.store.said import CONTRACT, GOVERNANCE, held_by, said_at, said_of
from bridge.store.writer import Incoming, Writer
from bridge.sync.items import Items
from mappers.openlineage.documents import own_facet, spec_facet, write_event
from mappers.openlineage.statements import name_dataset
from mappers.when import iso

_GROUP = 200
_SOURCE = "assets"


class Change(NamedTuple):
    """What is new of a dataset: its facets, None where one is taken back."""

    name: Name
    facets: dict[str, dict[str, Any] | None]
    #: The files that say it.
    sources: tuple[str, ...]
    #: Whether no run has read or written it: what the contract promises is all that is known of its columns.
    unseen: bool


class Applied(NamedTuple):
    """What became of assets: what changed, which datasets they are about, what they wait for, and which are gone."""

    changes: list[Change]
    datasets: dict[Name, list[Loaded]]
    waiting: dict[Name, str]
    #: Assets that were taken before, and stand in no file any more.
    left: list[StoredAsset]


class Stewardship:
    """Brings asset files and the store together. Not for several threads at once."""

    def __init__(
        self, db: Database, org: str, items: Items, reader: Reader, writer: Writer, clock: Callable[[], int]
    ) -> None:
        self._db = db
        self._org = org
        self._stored = StoredAssets(db, org)
        self._matching = Matching(self._stored, items)
        self._reader = reader
        self._writer = writer
        self._clock = clock

    def classes(self, names: Iterable[Name]) -> dict[Name, bytes]:
        """Give the keys of datasets, whichever of their names they are called by."""
        ids = {name: name_dataset(self._org, *name).id for name in names}
        classes = self._stored.classes(set(ids.values()))
        return {name: classes.get(id_, id_) for name, id_ in ids.items()}

    def said(self, names: Iterable[Name]) -> dict[Name, dict[str, Any]]:
        """Give what the store says of the governance of datasets."""
        classes = self.classes(names)
        found = said_of(self._db, self._org, set(classes.values()), GOVERNANCE)
        return {name: found[key] for name, key in classes.items() if key in found}

    def names(self, keys: Iterable[bytes]) -> dict[bytes, Name]:
        """Name datasets by their keys."""
        return self._stored.named(list(keys))

    def own(self, key: bytes, table: str) -> Loaded | None:
        """Give the asset that is about a dataset alone, by any of its names or that of its table, if there is one."""
        namespace, _, name = table.rpartition(".")
        names = [*self._stored.members(key), (namespace, name)]
        return next(iter(loaded_of(one for known in names for one in self._stored.of(*known))), None)

    def adopt(self, name: Name, facet: dict[str, Any]) -> None:
        """Let the store say what was changed elsewhere."""
        self._write([Change(name, {GOVERNANCE: facet}, (), unseen=False)], self._clock())

    def preview(self, loaded: Sequence[Loaded], *, prune: bool = False) -> Applied:
        """Say what taking assets would change; those that were taken before count as well, unless they are pruned."""
        new = {(one.asset.namespace, one.asset.name): one for one in loaded}
        before = self._stored.all()
        left = [one for one in before if (one.namespace, one.name) not in new]
        kept = [] if prune else loaded_of(left)
        everything = [*new.values(), *kept]
        source = {id(one.asset): one for one in everything}
        matched = self._matching.match([one.asset for one in everything])
        datasets = {name: [source[id(asset)] for asset in assets] for name, assets in matched.datasets.items()}
        former = self._former(before, new, prune=prune)
        all_of = {name: datasets.get(name, []) for name in {*datasets, *(former if prune else ())}}
        united = under_one_name(all_of, self.classes(all_of))
        changes = self._changes(united, former)
        return Applied(changes, {name: of for name, of in united.items() if of}, matched.waiting, left)

    def apply(self, loaded: Sequence[Loaded], *, prune: bool = False) -> Applied:
        """Take assets: what they say enters the store, and they are remembered for datasets that come later."""
        applied = self.preview(loaded, prune=prune)
        now = self._clock()
        waiting = applied.waiting
        taken = {stored_of(one, waiting.get((one.asset.namespace, one.asset.name))) for one in loaded}
        self._stored.put(taken - {*self._stored.all()}, now)  # first: rights are given by what was taken from files
        self._write(applied.changes, now)
        if prune:
            self._stored.drop(applied.left)
        return applied

    def _former(
        self, before: Iterable[StoredAsset], new: Mapping[Name, Loaded], *, prune: bool
    ) -> dict[Name, list[Asset]]:
        """Find what assets said that say otherwise now or are gone: that may be taken back, what others say never."""
        former = []
        for one in before:
            now = new.get((one.namespace, one.name))
            if prune if now is None else content_of(now.asset) != one.content:
                former.append(one)
        return self._matching.match([one.asset for one in loaded_of(former)]).datasets

    def _changes(self, datasets: Mapping[Name, list[Loaded]], former: Mapping[Name, list[Asset]]) -> list[Change]:
        classes = self.classes({*datasets, *former})
        said_before: dict[bytes, set[str]] = {}
        for name, gone in former.items():
            said_before.setdefault(classes[name], set()).update(facets_of(gone))
        known = {facet: said_of(self._db, self._org, set(classes.values()), facet) for facet in FACETS}
        touched = self._stored.touched(set(classes.values()))
        changes = []
        for name, assets in sorted(datasets.items()):
            of = classes[name]
            before = {facet: known[facet][of] for facet in FACETS if of in known[facet]}
            new = new_facets(facets_of(one.asset for one in assets), before, said_before.get(of, set()))
            if new:
                changes.append(Change(name, new, tuple(sorted({one.source for one in assets})), of not in touched))
        last = said_at(self._db, self._org, {classes[one.name] for one in changes}, FACETS)
        return [one for one in changes if can_be_said(one.name, last.get(classes[one.name], 0))]

    def _write(self, changes: Sequence[Change], now: int) -> None:
        """Write events of this time, or of a moment after the last one where the clock was put back since."""
        changes = [*changes, *self._under_other_names(changes)]
        keys = self.classes(change.name for change in changes)
        last = said_at(self._db, self._org, set(keys.values()), FACETS)
        for i in range(0, len(changes), _GROUP):
            some = changes[i : i + _GROUP]
            self._writer.write([self._event(one, max(now, last.get(keys[one.name], 0) + 1)) for one in some])

    def _under_other_names(self, changes: Iterable[Change]) -> list[Change]:
        """Take back what was written of a dataset under another of its names, before they were known to be of one."""
        gone = [change for change in changes if None in change.facets.values()]
        keys = self.classes(change.name for change in gone)
        held = held_by(self._db, self._org, set(keys.values()), GOVERNANCE)
        names = self._stored.named([id_ for ids in held.values() for id_ in ids])
        return [
            change._replace(name=names[id_], facets={of: None for of, body in change.facets.items() if body is None})
            for change in gone
            for id_ in held.get(keys[change.name], ())
            if names[id_] != change.name
        ]

    def _event(self, change: Change, now: int) -> Incoming:
        facets = {
            name: own_facet("DatasetFacet", {"_deleted": True} if body is None else body)
            for name, body in change.facets.items()
        }
        contract = change.facets.get(CONTRACT)
        if contract and change.unseen:
            columns = [{key: one[key] for key in ("name", "type") if key in one} for one in contract["columns"]]
            facets["schema"] = spec_facet("schema", {"fields": columns})
        dataset = {"namespace": change.name[0], "name": change.name[1], "facets": facets}
        event = self._reader.read(write_event("DatasetEvent", iso(now), None, {"dataset": dataset}), _SOURCE)
        assert isinstance(event, Incoming)  # noqa: S101 - it was written just now
        return event
