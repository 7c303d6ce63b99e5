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

_ITEM_KINDS = ("dataset", "governance", "contract", "access")
_TIMEOUT_SECONDS, _POLL_SECONDS = 60.0, 0.25
#: Completion is checked after this many steps, and after every idle step.
_STEPS_PER_CHECK = 20


class OpenMetadataSync(NamedTuple):
    """Target, reconciler and items of OpenMetadata."""

    target: OpenMetadataTarget
    reconciler: Reconciler
    items: SyncItemStore


class DatasetPlan(NamedTuple):
    """Changes of a dataset in the store and in OpenMetadata."""

    name: QualifiedName
    loaded: list[LoadedAsset]
    #: Changed governance fields in the store.
    store_changes: dict[FieldPath, FieldValue]
    #: Other changed facets: contract, checks, SLA.
    changed_facets: tuple[str, ...]
    remote_diff: GovernanceDiff | None
    #: The governance facet after the change.
    facet: dict[str, Any]

    @property
    def imported_fields(self) -> dict[FieldPath, FieldValue]:
        """Fields that were imported from OpenMetadata but are not in any file yet."""
        return changed_fields(facet_fields(asset_content(self.facet)), facet_fields(self.facet))

    @property
    def has_differences(self) -> bool:
        """True if files, store and OpenMetadata differ."""
        diff = self.remote_diff
        openmetadata_differs = diff and (diff.changes or diff.remote.fields or diff.remote.conflicts or diff.problems)
        return bool(self.store_changes or self.changed_facets or openmetadata_differs or self.imported_fields)


class PushResult(NamedTuple):
    """Result of a push for one dataset."""

    name: QualifiedName
    outcome: str
    reason: str | None
    has_changed: bool


class AssetSync:
    """Applies asset files to the store and OpenMetadata. Not thread-safe."""

    def __init__(self, applier: AssetApplier, openmetadata: OpenMetadataSync | None) -> None:
        self._applier = applier
        self._openmetadata = openmetadata

    def plan(
        self, loaded_assets: Sequence[LoadedAsset], *, prune: bool = False
    ) -> tuple[ApplyResult, list[DatasetPlan]]:
        """List the changes of a push and the changes made in OpenMetadata, without applying them."""
        result = self._applier.preview(loaded_assets, prune=prune)
        changes = {change.name: change for change in result.changes}
        names = _affected_datasets(result, loaded_assets)
        changed_governance = {
            name: change.facets[GOVERNANCE] or {} for name, change in changes.items() if GOVERNANCE in change.facets
        }
        diffs = self._compare_with_remote(names, changed_governance)
        stored_governance = self._applier.governance_facets(names)
        plans = []
        for name in sorted(names):
            stored_facet = stored_governance.get(name, {})
            facet = changed_governance.get(name, stored_facet)
            store_changes = changed_fields(facet_fields(stored_facet), facet_fields(facet))
            other_facets = tuple(sorted(changes[name].facets.keys() - {GOVERNANCE})) if name in changes else ()
            assets = result.datasets.get(name, [])
            plans.append(DatasetPlan(name, assets, store_changes, other_facets, diffs.get(name), facet))
        return result, plans

    def resolve_conflicts(
        self, loaded_assets: Sequence[LoadedAsset], ask: Callable[[str], MergePolicy | None]
    ) -> dict[tuple[bytes, FieldPath], MergePolicy]:
        """Ask which side wins each conflict. Conflicts without an answer are left out."""
        decisions: dict[tuple[bytes, FieldPath], MergePolicy] = {}
        _, plans = self.plan(loaded_assets)
        for diff in (plan.remote_diff for plan in plans if plan.remote_diff):
            for conflict in diff.remote.conflicts:
                if policy := ask(f"{diff.name}: {describe_conflict(conflict)}"):
                    decisions[diff.key, conflict.path] = policy
        return decisions

    def push(
        self,
        loaded_assets: Sequence[LoadedAsset],
        decisions: Mapping[tuple[bytes, FieldPath], MergePolicy],
        *,
        prune: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> tuple[ApplyResult, list[PushResult]]:
        """Apply assets to the store, then push the result to OpenMetadata. `decisions` resolves conflicts."""
        if self._openmetadata is not None:
            self._openmetadata.reconciler.enable()  # dirty marks are written from now on
        result = self._applier.apply(loaded_assets, prune=prune)
        names = _affected_datasets(result, loaded_assets)
        changed_names = {change.name for change in result.changes}
        if self._openmetadata is None:
            return result, [PushResult(name, "stored", None, name in changed_names) for name in sorted(names)]
        keys = self._applier.group_ids(names)
        self._push_until_complete(set(keys.values()), sleep)
        if decisions:
            self._openmetadata.target.governance.overrides.update(decisions)
            self._openmetadata.reconciler.push_now("governance", {key for key, _ in decisions})
        items = self._openmetadata.items.get("governance", list(keys.values()))
        pause_reason = self._openmetadata.reconciler.pause_reason
        pending_keys = {item.key for item in self._openmetadata.items.pending("governance")}
        return result, [
            _push_result(
                name,
                items.get(keys[name]),
                pause_reason,
                has_changed=name in changed_names,
                is_pending=keys[name] in pending_keys,
            )
            for name in sorted(names)
        ]

    def _push_until_complete(self, keys: set[bytes], sleep: Callable[[float], None]) -> None:
        """Run steps of the reconciler until the items with these keys are complete or the timeout expires."""
        assert self._openmetadata is not None  # noqa: S101 - checked by the caller
        remaining_seconds = _TIMEOUT_SECONDS
        for step_count in count(1):
            result = self._openmetadata.reconciler.step(only=_ITEM_KINDS)
            if self._openmetadata.reconciler.breaker.open or remaining_seconds <= 0:
                return
            if not result.idle and step_count % _STEPS_PER_CHECK:
                continue  # listing the pending items after every step would be slow
            if not any(item.key in keys for item in self._openmetadata.items.pending("governance")):
                return
            if result.idle:
                sleep(_POLL_SECONDS)
                remaining_seconds -= _POLL_SECONDS

    def _compare_with_remote(
        self, names: Iterable[QualifiedName], facets: dict[QualifiedName, dict[str, Any]]
    ) -> dict[QualifiedName, GovernanceDiff]:
        """Compare datasets with OpenMetadata, as if the given facets were stored."""
        if self._openmetadata is None:
            return {}
        keys = self._applier.group_ids(names)
        items = self._openmetadata.items.get("governance", list(keys.values()))
        asset_items = [items.get(key) or new_item("governance", key) for key in sorted(set(keys.values()))]
        facets_by_key = {keys[name]: facet for name, facet in facets.items()}
        diffs = {diff.key: diff for diff in self._openmetadata.target.governance.diff(asset_items, facets_by_key)}
        return {name: diffs[key] for name, key in keys.items() if key in diffs}


def _affected_datasets(result: ApplyResult, loaded_assets: Iterable[LoadedAsset]) -> set[QualifiedName]:
    """Return the datasets that the given assets match, and all other datasets that change."""
    asset_names = {entry.asset.qualified_name for entry in loaded_assets}
    affected_names = {change.name for change in result.changes}
    for dataset, assets in result.datasets.items():
        if any(entry.asset.qualified_name in asset_names for entry in assets):
            affected_names.add(dataset)
    return affected_names


def _push_result(
    name: QualifiedName, item: SyncItem | None, pause_reason: str | None, *, has_changed: bool, is_pending: bool
) -> PushResult:
    """Describe the outcome of a push from the dataset's sync item, if there is one."""
    if item is None and pause_reason is None:
        return PushResult(name, Outcome.WAITING, "its dataset is not in OpenMetadata yet", has_changed)
    if item is None:
        return PushResult(name, "pending", pause_reason, has_changed)
    if is_pending:
        return PushResult(name, "pending", pause_reason or item.reason, has_changed)
    return PushResult(name, item.outcome or "pending", item.reason, has_changed)
