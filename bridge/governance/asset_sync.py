"""Plans and pushes asset files to the store and OpenMetadata."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from bridge.governance.applier import ApplyResult, AssetApplier
from bridge.governance.loaded_asset import LoadedAsset
from bridge.governance.matcher import QualifiedName
from bridge.store.governance_facets import GOVERNANCE
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.governance_plan import GovernanceDiff, describe_conflict
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.reconciler import Reconciler
from bridge.sync.sync_item import Outcome, SyncItem, new_item
from mappers.governance.facet import asset_content, facet_fields
from mappers.governance.merge import FieldPath, FieldValue, MergePolicy, changed_fields

_KINDS = ("dataset", "governance", "access")
_PATIENCE_SECONDS, _LOOK_SECONDS = 60.0, 0.25
#: It is looked whether all is done once in so many rounds, and when there is nothing to do.
_ROUNDS = 20


class OpenMetadataSync(NamedTuple):
    """OpenMetadata, where it is enabled: what looks at it, and what keeps it."""

    target: OpenMetadataTarget
    reconciler: Reconciler
    items: SyncItemStore


class DatasetPlan(NamedTuple):
    """A dataset that assets are about: what would be new in the store, and how it was found in OpenMetadata."""

    name: QualifiedName
    loaded: list[LoadedAsset]
    #: What the store would say, field by field.
    new: dict[FieldPath, FieldValue]
    #: The other facets that would be new: contract, checks, promises.
    facets: tuple[str, ...]
    look: GovernanceDiff | None
    #: All that the store would say of what governs it.
    facet: dict[str, Any]

    @property
    def kept(self) -> dict[FieldPath, FieldValue]:
        """Give what was taken over from OpenMetadata, and is in no file yet."""
        return changed_fields(facet_fields(asset_content(self.facet)), facet_fields(self.facet))

    @property
    def has_differences(self) -> bool:
        """Tell whether the files, the store and OpenMetadata do not all say the same."""
        look = self.look
        there = look and (look.changes or look.remote.fields or look.remote.conflicts or look.problems)
        return bool(self.new or self.facets or there or self.kept)


class PushResult(NamedTuple):
    """What became of a dataset in OpenMetadata."""

    name: QualifiedName
    outcome: str
    reason: str | None
    changed: bool


class AssetSync:
    """Brings asset files, the store and OpenMetadata together. Not for several threads at once."""

    def __init__(self, stewardship: AssetApplier, server: OpenMetadataSync | None) -> None:
        self._stewardship = stewardship
        self._server = server

    def plan(self, loaded: Sequence[LoadedAsset], *, prune: bool = False) -> tuple[ApplyResult, list[DatasetPlan]]:
        """Say what would be changed, and what was changed over there; changes nothing."""
        applied = self._stewardship.preview(loaded, prune=prune)
        new = {change.name: change for change in applied.changes}
        names = _affected_datasets(applied, loaded)
        facets = {
            name: change.facets[GOVERNANCE] or {} for name, change in new.items() if GOVERNANCE in change.facets
        }
        looks = self._remote_diffs(names, facets)
        known = self._stewardship.governance_facets(names)
        seen = []
        for name in sorted(names):
            change = new.get(name)
            fields = (
                changed_fields(facet_fields(known.get(name, {})), facet_fields(facets[name]))
                if name in facets
                else {}
            )
            others = tuple(sorted(set(change.facets) - {GOVERNANCE})) if change else ()
            facet = facets.get(name, known.get(name, {}))
            seen.append(DatasetPlan(name, applied.datasets.get(name, []), fields, others, looks.get(name), facet))
        return applied, seen

    def resolve_conflicts(
        self, loaded: Sequence[LoadedAsset], ask: Callable[[str], MergePolicy | None]
    ) -> dict[tuple[bytes, FieldPath], MergePolicy]:
        """Ask who wins of all that both sides changed."""
        decisions: dict[tuple[bytes, FieldPath], MergePolicy] = {}
        for look in (seen.look for seen in self.plan(loaded)[1] if seen.look):
            for conflict in look.remote.conflicts:
                if answer := ask(f"{look.name}: {describe_conflict(conflict)}"):
                    decisions[look.key, conflict.path] = answer
        return decisions

    def push(
        self,
        loaded: Sequence[LoadedAsset],
        decisions: Mapping[tuple[bytes, FieldPath], MergePolicy],
        *,
        prune: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> tuple[ApplyResult, list[PushResult]]:
        """Let the store say what the files say, and OpenMetadata what the store says, as it was decided."""
        if self._server is not None:
            self._server.reconciler.enable()  # marks are made from now on
        applied = self._stewardship.apply(loaded, prune=prune)
        names = _affected_datasets(applied, loaded)
        new = {change.name for change in applied.changes}
        if self._server is None:
            return applied, [PushResult(name, "stored", None, name in new) for name in sorted(names)]
        keys = self._stewardship.group_ids(names)
        self._push_until_complete(set(keys.values()), sleep)
        if decisions:
            self._server.target.governance.overrides.update(decisions)
            self._server.reconciler.push_now("governance", {key for key, _ in decisions})
        items = self._server.items.get("governance", list(keys.values()))
        away = self._server.reconciler.breaker.pause_reason
        pending = {item.key for item in self._server.items.pending("governance")}
        return applied, [
            _push_result(name, items.get(keys[name]), away, new=name in new, pending=keys[name] in pending)
            for name in sorted(names)
        ]

    def _push_until_complete(self, keys: set[bytes], sleep: Callable[[float], None]) -> None:
        """Push until these are settled, or it is waited too long for what failed."""
        assert self._server is not None  # noqa: S101 - looked at by the caller
        patience = _PATIENCE_SECONDS
        for rounds in count(1):
            done = self._server.reconciler.step(only=_KINDS)
            if self._server.reconciler.breaker.open or patience <= 0:
                return
            if not done.idle and rounds % _ROUNDS:
                continue  # to list all that waits takes long where that is much
            if not any(item.key in keys for item in self._server.items.pending("governance")):
                return
            if done.idle:
                sleep(_LOOK_SECONDS)
                patience -= _LOOK_SECONDS

    def _remote_diffs(
        self, names: Iterable[QualifiedName], facets: dict[QualifiedName, dict[str, Any]]
    ) -> dict[QualifiedName, GovernanceDiff]:
        if self._server is None:
            return {}
        keys = self._stewardship.group_ids(names)
        items = self._server.items.get("governance", list(keys.values()))
        asked = [items.get(key) or new_item("governance", key) for key in sorted(set(keys.values()))]
        said = {keys[name]: facet for name, facet in facets.items()}
        found = {look.key: look for look in self._server.target.governance.diff(asked, said)}
        return {name: found[key] for name, key in keys.items() if key in found}


def _affected_datasets(applied: ApplyResult, loaded: Iterable[LoadedAsset]) -> set[QualifiedName]:
    """Find the datasets that some assets are about, and those of which anything changes."""
    asked = {(one.asset.namespace, one.asset.name) for one in loaded}
    named = {
        name
        for name, of in applied.datasets.items()
        if any((one.asset.namespace, one.asset.name) in asked for one in of)
    }
    return named | {change.name for change in applied.changes}


def _push_result(
    name: QualifiedName, item: SyncItem | None, away: str | None, *, new: bool, pending: bool
) -> PushResult:
    if item is None:
        return PushResult(name, "pending" if away else Outcome.WAITING, away or "its dataset is not there", new)
    if pending:
        return PushResult(name, "pending", away or item.reason, new)
    return PushResult(name, item.outcome or "pending", item.reason, new)
